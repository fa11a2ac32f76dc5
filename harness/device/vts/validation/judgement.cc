// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/validation/judgement.h"

#include <algorithm>
#include <array>
#include <future>
#include <memory>
#include <utility>
#include <vector>

namespace halyard::vts {
namespace {

using driver::ExecutionResult;
using driver::HalVersion;
using driver::IPreparedModel;
using driver::Request;

struct Preparing {
    Status launch;
    Status status;
};

// Waits for the callback; a second call of it would end the process.
Preparing prepare(driver::IDevice& device, const Mutant& mutant) {
    const auto done = std::make_shared<std::promise<Status>>();
    std::future<Status> status = done->get_future();
    Status launch = device.prepareAsync(
            mutant.model,
            {.preference = mutant.preference, .priority = mutant.priority, .deadline = {}},
            [done](const Status& answer, const std::shared_ptr<IPreparedModel>& model) {
                done->set_value(answer.ok() == (model == nullptr)
                                        ? internalError("a model beside a failure, or none")
                                        : answer);
            });
    return {.launch = std::move(launch), .status = status.get()};
}

bool isInvalid(const Status& status) {
    return status.code() == StatusCode::INVALID_ARGUMENT;
}

std::string answer(std::string_view call, const Status& status) {
    return std::string(call) + " says " + (status.ok() ? "OK" : status.toString());
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

std::optional<std::string> complaintAbout(const Preparing& prepared) {
    if (!isInvalid(prepared.launch)) {
        return answer("prepareModel returns and", prepared.launch) + "; " +
               answer("its callback", prepared.status);
    }
    if (!isInvalid(prepared.status)) {
        return answer("prepareModel's callback", prepared.status);
    }
    return std::nullopt;
}

std::optional<std::string> complaintAbout(const ExecutionResult& result) {
    if (!isInvalid(result.status)) {
        return answer("it", result.status);
    }
    if (!result.outputShapes.empty()) {
        return "it tells shapes beside a failure";
    }
    if (result.timing != driver::Timing()) {
        return "it tells times beside a failure";
    }
    return std::nullopt;
}

std::optional<std::string> executeSynchronously(IPreparedModel& model, const Request& request,
                                                bool measureTiming) {
    return complaintAbout(model.execute(request, {.measureTiming = measureTiming, .deadline = {}}));
}

std::optional<std::string> execute(IPreparedModel& model, const Request& request,
                                   bool measureTiming) {
    std::promise<ExecutionResult> done;
    const Status launch = model.executeAsync(
            request, {.measureTiming = measureTiming, .deadline = {}},
            [&done](const ExecutionResult& answered) { done.set_value(answered); });
    const ExecutionResult called = done.get_future().get();
    if (!isInvalid(launch)) {
        return answer("it returns and", launch) + "; " + answer("its callback", called.status);
    }
    return complaintAbout(called);
}

std::optional<std::string> executeInBurst(IPreparedModel& model, const Request& request,
                                          bool measureTiming) {
    const Result<std::shared_ptr<driver::IBurst>> burst = model.makeBurst();
    if (!burst.ok()) {
        return answer("configureExecutionBurst", burst.status());
    }
    // Identifiers that a burst of HIDL may ask for again.
    std::vector<int64_t> identifiers(request.pools.size());
    for (size_t i = 0; i < identifiers.size(); ++i) {
        identifiers[i] = static_cast<int64_t>(i);
    }
    std::optional<std::string> wrong = complaintAbout((*burst)->execute(
            request, identifiers, {.measureTiming = measureTiming, .deadline = {}}));
    // Released once, and once more when it is no longer known: whatever the service answers, it has
    // to survive both.
    static_cast<void>((*burst)->releaseMemory(0));
    static_cast<void>((*burst)->releaseMemory(0));
    return wrong;
}

std::optional<std::string> executeFenced(IPreparedModel& model, const Request& request,
                                         bool /*measureTiming*/) {
    const Status fenced = model.executeFenced(request, {}).status();
    return isInvalid(fenced) ? std::nullopt : std::optional(answer("it", fenced));
}

std::optional<std::string> executeReusably(IPreparedModel& model, const Request& request,
                                           bool measureTiming) {
    const Result<std::shared_ptr<driver::IExecution>> execution =
            model.makeExecution(request, {.measureTiming = measureTiming, .deadline = {}});
    if (!execution.ok()) {
        return isInvalid(execution.status()) ? std::nullopt
                                             : std::optional(answer("it", execution.status()));
    }
    // It may be found out later.
    if (std::optional<std::string> wrong = complaintAbout((*execution)->execute({}))) {
        return wrong;
    }
    const Status fenced = (*execution)->executeFenced({}, {}, {}).status();
    return isInvalid(fenced) ? std::nullopt : std::optional(answer("executeFenced", fenced));
}

constexpr RequestExecutor kSynchronous = {"executeSynchronously", executeSynchronously};
constexpr RequestExecutor kAsynchronous = {"execute", execute};
constexpr RequestExecutor kBurst = {"burst", executeInBurst};
constexpr RequestExecutor kFenced = {"executeFenced", executeFenced};
constexpr RequestExecutor kReusable = {"createReusableExecution", executeReusably};

constexpr std::array kHidlDoors = {kAsynchronous, kSynchronous, kBurst, kFenced};
constexpr std::array kAidlDoors = {kSynchronous, kBurst, kFenced, kReusable};

}  // namespace

std::optional<std::string> complaint(driver::IDevice& device, const Mutant& mutant) {
    const Preparing prepared = prepare(device, mutant);
    const bool isOfModel = mutant.mutation != Mutation::EXECUTION_PREFERENCE &&
                           mutant.mutation != Mutation::EXECUTION_PRIORITY;
    if (isOfModel) {
        const Result<std::vector<bool>> supported = device.supportedOperations(mutant.model);
        if (mutant.exempt) {
            return disagreement(supported, prepared);
        }
        if (!isInvalid(supported.status())) {
            return answer("getSupportedOperations", supported.status());
        }
    }
    return complaintAbout(prepared);
}

std::optional<std::string> complaintAboutPrepare(driver::IDevice& device, const Mutant& mutant) {
    return complaintAbout(prepare(device, mutant));
}

std::span<const RequestExecutor> requestExecutors(HalVersion version) {
    if (version >= HalVersion::AIDL_V1) {
        return std::span(kAidlDoors).first(version >= HalVersion::AIDL_V4 ? 4 : 3);
    }
    return std::span(kHidlDoors)
            .first(version < HalVersion::V1_2   ? 1
                   : version < HalVersion::V1_3 ? 3
                                                : 4);
}

const RequestExecutor& reusableExecutor() {
    return kReusable;
}

std::optional<std::string> complaint(IPreparedModel& model, HalVersion version,
                                     const Request& request, bool measureTiming) {
    for (const RequestExecutor& executor : requestExecutors(version)) {
        if (const auto wrong = executor.complaint(model, request, measureTiming)) {
            return std::string(executor.name) + ": " + *wrong;
        }
    }
    return std::nullopt;
}

}  // namespace halyard::vts
