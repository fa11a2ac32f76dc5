// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/fenced_compute_test.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "harness/device/vts/fixture/context.h"
#include "harness/device/vts/fixture/executor.h"

namespace halyard::vts {
namespace {

using driver::ErrorStatus;

Verdict run(Context& context, bool measured, const Executor& executor) {
    const Preparation& prepared = context.prepared(executor.methods);
    if (prepared.model == nullptr) {
        return prepared.verdict;
    }
    const Result<driver::Request> request = context.generatedRequest();
    if (!request.ok()) {
        return failed(request.status().toString());
    }
    driver::ExecuteOptions options;
    options.measureTiming = measured;
    const driver::ExecutionResult result = executor.execute(*prepared.model, *request, options);
    if (context.hasOpenOutput()) {
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
        for (const Executor& executor : fencedExecutors()) {
            // "", "CONFIG" or "REUSABLE": that it is fenced is said.
            constexpr std::string_view kSaid = "FENCED_";
            std::string variant(executor.name.substr(std::min(executor.name.size(), kSaid.size())));
            if (measured) {
                variant += variant.empty() ? "TIMING" : "_TIMING";
            }
            checks.push_back({.suite = "FencedComputeTest",
                              .name = "Test",
                              .variant = std::move(variant),
                              .scope = Scope::EACH_CASE,
                              .since = executor.since,
                              .until = executor.until,
                              .run = [measured, &executor](Context& context) {
                                  return run(context, measured, executor);
                              }});
        }
    }
    return checks;
}

}  // namespace halyard::vts
