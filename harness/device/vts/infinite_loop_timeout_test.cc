// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/infinite_loop_timeout_test.h"

#include <chrono>
#include <span>
#include <string>
#include <utility>

#include "harness/device/vts/fixture/context.h"
#include "harness/device/vts/fixture/executor.h"

namespace halyard::vts {
namespace {

using driver::ErrorStatus;

Verdict run(Context& context, const Executor& executor) {
    const Preparation& prepared = context.prepared(executor.methods);
    if (prepared.model == nullptr) {
        return prepared.verdict;
    }
    for (const bool measured : {false, true}) {
        const Result<driver::Request> request = context.generatedRequest();
        if (!request.ok()) {
            return failed(request.status().toString());
        }
        driver::ExecuteOptions options;
        options.measureTiming = measured;
        options.loopTimeout = std::chrono::milliseconds(1);
        const driver::ExecutionResult result = executor.execute(*prepared.model, *request, options);
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
    for (const std::span<const Executor> all : {executors(), fencedExecutors()}) {
        for (const Executor& executor : all) {
            checks.push_back(
                    {.suite = "InfiniteLoopTimeoutTest",
                     .name = "Test",
                     .variant = std::string(executor.name),
                     .scope = Scope::INFINITE_LOOP_CASE,
                     .since = executor.limitedSince,
                     .until = executor.until,
                     .run = [&executor](Context& context) { return run(context, executor); }});
        }
    }
    return checks;
}

}  // namespace halyard::vts
