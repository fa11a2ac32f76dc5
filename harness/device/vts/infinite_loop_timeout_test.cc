// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/infinite_loop_timeout_test.h"

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "harness/device/vts/context.h"
#include "harness/device/vts/executor.h"

namespace halyard::vts {
namespace {

using driver::ErrorStatus;
using driver::HalVersion;

Verdict run(Context& context, Execute execute) {
    const Preparation& prepared = context.prepared();
    if (prepared.model == nullptr) {
        return prepared.verdict;
    }
    for (const bool measured : {false, true}) {
        const Result<driver::Request> request = context.request();
        if (!request.ok()) {
            return failed(request.status().toString());
        }
        driver::ExecuteOptions options;
        options.measureTiming = measured;
        options.loopTimeout = std::chrono::milliseconds(1);
        const driver::ExecutionResult result = execute(*prepared.model, *request, options);
        for (const Verdict& verdict :
             {expectStatus(result.status, context.version(),
                           {ErrorStatus::MISSED_DEADLINE_TRANSIENT,
                            ErrorStatus::MISSED_DEADLINE_PERSISTENT},
                           "an execution with a loop that has no end, of which each may take 1 ms"),
              checkTiming(result.timing, false)}) {
            if (!verdict.hasPassed()) {
                return verdict;
            }
        }
    }
    return passed();
}

}  // namespace

Checks infiniteLoopTimeoutTest() {
    Checks checks;
    const auto add = [&checks](std::string_view variant, HalVersion since, HalVersion until,
                               Execute execute) {
        Check check = {.suite = "InfiniteLoopTimeoutTest",
                       .name = "Test",
                       .variant = std::string(variant),
                       .subject = Subject::INFINITE_LOOP_CASE,
                       .since = since,
                       .until = until,
                       .run = [execute](Context& context) { return run(context, execute); }};
        checks.push_back(std::move(check));
    };
    for (const Executor& executor : executors()) {
        add(executor.name, executor.limitedSince, executor.until, executor.execute);
    }
    add("FENCED", HalVersion::V1_3, driver::kNewestVersion, executeFenced);
    return checks;
}

}  // namespace halyard::vts
