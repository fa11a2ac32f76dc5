// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/fenced_compute_test.h"

#include <algorithm>
#include <string>
#include <utility>

#include "harness/device/vts/context.h"
#include "harness/device/vts/executor.h"

namespace halyard::vts {
namespace {

using driver::ErrorStatus;
using driver::HalVersion;

// Of an output that may turn out to be of size 0, the model can't say the dimensions.
bool hasOpenOutput(const pb::Subgraph& main) {
    return std::ranges::any_of(main.output_indexes(), [&](uint32_t index) {
        const auto& dimensions = main.operands(static_cast<int>(index)).dimensions();
        return std::ranges::find(dimensions, 0U) != dimensions.end();
    });
}

Verdict run(Context& context, bool measured, Execute execute) {
    const Preparation& prepared = context.prepared();
    if (prepared.model == nullptr) {
        return prepared.verdict;
    }
    const Result<driver::Request> request = context.request();
    if (!request.ok()) {
        return failed(request.status().toString());
    }
    driver::ExecuteOptions options;
    options.measureTiming = measured;
    const driver::ExecutionResult result = execute(*prepared.model, *request, options);
    if (hasOpenOutput(context.testCase().model().main())) {
        return expectStatus(result.status, context.version(), {ErrorStatus::INVALID_ARGUMENT},
                            "executeFenced with an output of dimensions that are not known");
    }
    for (const Verdict& verdict :
         {expectStatus(result.status, context.version(), {ErrorStatus::NONE}, "executeFenced"),
          checkTiming(result.timing, measured), checkTiming(result.timingFenced, measured)}) {
        if (!verdict.hasPassed()) {
            return verdict;
        }
    }
    return context.handOver(*request, result);
}

}  // namespace

Checks fencedComputeTest() {
    Checks checks;
    for (const bool measured : {false, true}) {
        for (const bool again : {false, true}) {
            Check check = {.suite = "FencedComputeTest",
                           .name = "Test",
                           .variant = again ? "REUSABLE" : "",
                           .subject = Subject::EACH_CASE,
                           .since = again ? HalVersion::AIDL_V4 : HalVersion::V1_3,
                           .until = driver::kNewestVersion,
                           .run = [measured, again](Context& context) {
                               return run(context, measured,
                                          again ? executeFencedReusably : executeFenced);
                           }};
            if (measured) {
                check.variant += again ? "_TIMING" : "TIMING";
            }
            checks.push_back(std::move(check));
        }
    }
    return checks;
}

}  // namespace halyard::vts
