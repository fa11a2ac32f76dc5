// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/generated_test.h"

#include <algorithm>
#include <string>
#include <utility>

#include "harness/device/vts/fixture/context.h"
#include "harness/device/vts/fixture/executor.h"

namespace halyard::vts {
namespace {

using driver::HalVersion;

Verdict run(Context& context, const Executor& executor, bool measureTiming) {
    const Preparation& prepared = context.prepared(executor.methods);
    if (prepared.model == nullptr) {
        return prepared.verdict;
    }
    const Result<driver::Request> request = context.generatedRequest();
    if (!request.ok()) {
        return failed(request.status().toString());
    }
    driver::ExecuteOptions options;
    options.measureTiming = measureTiming;
    const driver::ExecutionResult result = executor.execute(*prepared.model, *request, options);
    const Verdict status = expectStatus(result.status, context.version(),
                                        {driver::ErrorStatus::NONE}, "the execution");
    if (!status.hasPassed()) {
        return status;
    }
    if (const Verdict timing = checkTiming(result.timing, measureTiming); !timing.hasPassed()) {
        return timing;
    }
    if (!result.outputShapes.empty() && result.outputShapes.size() != request->outputs.size()) {
        return failed(std::to_string(result.outputShapes.size()) + " output shapes are told of " +
                      std::to_string(request->outputs.size()) + " outputs");
    }
    return context.handOver(*request, result);
}

}  // namespace

Checks generatedTest() {
    Checks checks;
    for (const Executor& executor : executors()) {
        for (const bool measured : {false, true}) {
            Check check = {
                    .suite = "GeneratedTest",
                    .name = "Test",
                    .variant = std::string(executor.name) + (measured ? "_TIMING" : ""),
                    .scope = Scope::EACH_CASE,
                    // Timing came with 1.2.
                    .since = measured ? std::max(executor.since, HalVersion::V1_2) : executor.since,
                    .until = executor.until,
                    .run = [&executor, measured](Context& context) {
                        return run(context, executor, measured);
                    }};
            checks.push_back(std::move(check));
        }
    }
    return checks;
}

}  // namespace halyard::vts
