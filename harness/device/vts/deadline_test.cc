// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/deadline_test.h"

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driver/model/error_status.h"
#include "harness/device/vts/fixture/context.h"
#include "harness/device/vts/fixture/executor.h"

namespace halyard::vts {
namespace {

using driver::ErrorStatus;
using driver::HalVersion;

struct Bound {
    std::string_view name;
    std::optional<std::chrono::milliseconds> left;  // nothing: there is always time

    // Where there is always time it is the latest that a wire has words for.
    Deadline deadline() const {
        using Clock = std::chrono::steady_clock;
        return left.has_value() ? Clock::now() + *left : Clock::time_point::max();
    }
    std::vector<ErrorStatus> allowed() const {
        return left.has_value()
                       ? std::vector{ErrorStatus::NONE, ErrorStatus::MISSED_DEADLINE_TRANSIENT,
                                     ErrorStatus::MISSED_DEADLINE_PERSISTENT}
                       : std::vector{ErrorStatus::NONE};
    }
};

constexpr Bound kUnlimited = {"UNLIMITED", std::nullopt};
constexpr Bound kBounds[] = {
        {"NOW", std::chrono::milliseconds(0)}, kUnlimited, {"SHORT", std::chrono::milliseconds(5)}};

Verdict prepare(Context& context, Methods methods, const driver::PrepareOptions& options,
                const Bound& bound, const std::string& call) {
    // The result without a deadline is known, and with it whether the model may be refused.
    const Preparation& known = context.prepared(methods);
    if (known.model == nullptr) {
        return known.verdict;
    }
    auto told = std::make_shared<std::promise<std::pair<Status, bool>>>();
    std::future<std::pair<Status, bool>> answer = told->get_future();
    const Status launched = context.device(methods).prepareAsync(
            *context.model(), options, [told](const Status& status, auto model) {
                told->set_value({status, model != nullptr});
            });
    const auto [status, hasModel] = answer.get();
    for (const Verdict& verdict :
         {expectStatus(launched, context.version(), {ErrorStatus::NONE}, "the launch of " + call),
          expectStatus(status, context.version(), bound.allowed(), call)}) {
        if (!verdict.hasPassed()) {
            return verdict;
        }
    }
    return hasModel == status.ok() ? passed()
                                   : failed(call + (hasModel ? " gives a model with an error"
                                                             : " gives no model and no error"));
}

Verdict prepareWithPriorities(Context& context, Methods methods) {
    for (const driver::Priority priority :
         {driver::Priority::LOW, driver::Priority::MEDIUM, driver::Priority::HIGH}) {
        const Verdict verdict =
                prepare(context, methods, {.priority = priority, .deadline = {}}, kUnlimited,
                        "prepareModel with priority " + std::string(nameOf(priority)));
        if (!verdict.hasPassed()) {
            return verdict;
        }
    }
    return passed();
}

Verdict prepareWithDeadlines(Context& context, Methods methods) {
    for (const Bound& bound : kBounds) {
        const Verdict verdict =
                prepare(context, methods, {.deadline = bound.deadline()}, bound,
                        "prepareModel with the deadline " + std::string(bound.name));
        if (!verdict.hasPassed()) {
            return verdict;
        }
    }
    return passed();
}

Verdict execute(Context& context, const Executor& executor) {
    const Preparation& prepared = context.prepared(executor.methods);
    if (prepared.model == nullptr) {
        return prepared.verdict;
    }
    for (const Bound& bound : kBounds) {
        const Result<driver::Request> request = context.request();
        if (!request.ok()) {
            return failed(request.status().toString());
        }
        driver::ExecuteOptions options;
        options.deadline = bound.deadline();
        const driver::ExecutionResult result = executor.execute(*prepared.model, *request, options);
        Verdict verdict = expectStatus(result.status, context.version(), bound.allowed(),
                                       "an execution with the deadline " + std::string(bound.name));
        if (verdict.hasPassed() && result.status.ok()) {
            verdict = context.handOver(*request, result);
        } else if (verdict.hasPassed() && !result.outputShapes.empty()) {
            verdict = failed("an execution that missed its deadline tells output shapes");
        }
        if (!verdict.hasPassed()) {
            return verdict;
        }
    }
    return passed();
}

}  // namespace

Checks deadlineTest() {
    Checks checks;
    const auto add = [&checks](std::string variant, HalVersion since, HalVersion until,
                               std::function<Verdict(Context&)> run) {
        Check check = {.suite = "DeadlineTest",
                       .name = "Test",
                       .variant = std::move(variant),
                       .scope = Scope::EACH_CASE,
                       .since = since,
                       .until = until,
                       .run = std::move(run)};
        checks.push_back(std::move(check));
    };
    add("PREPARE_PRIORITY", HalVersion::V1_3, driver::kNewestVersion, [](Context& context) {
        return byAllMethods(
                context, [&](Methods methods) { return prepareWithPriorities(context, methods); });
    });
    add("PREPARE_DEADLINE", HalVersion::V1_3, driver::kNewestVersion, [](Context& context) {
        return byAllMethods(
                context, [&](Methods methods) { return prepareWithDeadlines(context, methods); });
    });
    for (const Executor& executor : executors()) {
        add(std::string(executor.name), executor.limitedSince, executor.until,
            [&executor](Context& context) { return execute(context, executor); });
    }
    return checks;
}

}  // namespace halyard::vts
