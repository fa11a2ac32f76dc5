// SPDX-License-Identifier: Apache-2.0

#include "tests/validation/mutations/judgement.h"

#include <algorithm>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "driver/execute/prepared_model.h"

namespace halyard::validation {
namespace {

struct Preparing {
    Status launch;
    Status status;
};

// Waits for the callback; a second call of it would end the process.
Preparing prepare(const driver::Device& device, driver::HalVersion version, const Mutant& mutant) {
    const auto done = std::make_shared<std::promise<Status>>();
    std::future<Status> status = done->get_future();
    Status launch = device.prepareAsync(
            mutant.model, version,
            {.preference = mutant.preference, .priority = mutant.priority, .deadline = {}},
            [done](const Status& answer, const std::shared_ptr<driver::PreparedModel>& model) {
                done->set_value(answer.ok() && model == nullptr ? internalError("a null model")
                                                                : answer);
            });
    return {.launch = std::move(launch), .status = status.get()};
}

bool isInvalid(const Status& status) {
    return status.code() == StatusCode::INVALID_ARGUMENT;
}

std::string answer(std::string_view call, const Status& status) {
    return std::string(call) + " says " + status.toString();
}

// Valid or not, both have to say the same.
std::optional<std::string> disagreement(const Result<std::vector<bool>>& supported,
                                        const Preparing& prepared) {
    const bool promised = supported.ok() && std::ranges::count(*supported, false) == 0;
    if (promised != prepared.status.ok() ||
        isInvalid(supported.status()) != isInvalid(prepared.status)) {
        return answer("getSupportedOperations", supported.status()) + (promised ? " to all" : "") +
               ", " + answer("prepareModel", prepared.status);
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::string> complaint(const driver::Device& device, driver::HalVersion version,
                                     const Mutant& mutant) {
    const Preparing prepared = prepare(device, version, mutant);
    const bool isOfModel = mutant.mutation != Mutation::EXECUTION_PREFERENCE &&
                           mutant.mutation != Mutation::EXECUTION_PRIORITY;
    if (isOfModel) {
        const Result<std::vector<bool>> supported =
                device.supportedOperations(mutant.model, version);
        if (mutant.exempt) {
            return disagreement(supported, prepared);
        }
        if (!isInvalid(supported.status())) {
            return answer("getSupportedOperations", supported.status());
        }
    }
    if (!isInvalid(prepared.launch)) {
        return answer("prepareModel returns and", prepared.launch) + "; " +
               answer("its callback", prepared.status);
    }
    if (!isInvalid(prepared.status)) {
        return answer("prepareModel's callback", prepared.status);
    }
    return std::nullopt;
}

std::optional<std::string> complaint(const driver::PreparedModel& model, driver::HalVersion version,
                                     const driver::Request& request) {
    const driver::ExecutionResult result = model.execute(request, version, {});
    if (!isInvalid(result.status) || !result.outputShapes.empty()) {
        return answer("executeSynchronously", result.status);
    }
    std::promise<driver::ExecutionResult> done;
    const Status launch = model.executeAsync(
            request, version, {},
            [&done](const driver::ExecutionResult& answered) { done.set_value(answered); });
    const driver::ExecutionResult called = done.get_future().get();
    if (!isInvalid(launch) || !isInvalid(called.status) || !called.outputShapes.empty()) {
        return answer("execute returns and", launch) + "; " + answer("its callback", called.status);
    }
    if (const Status fenced = model.validateFenced(request, driver::HalVersion::V1_3);
        !isInvalid(fenced)) {
        return answer("executeFenced", fenced);
    }
    return std::nullopt;
}

}  // namespace halyard::validation
