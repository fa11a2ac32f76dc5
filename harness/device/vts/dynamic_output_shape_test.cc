// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/dynamic_output_shape_test.h"

#include <algorithm>
#include <string>
#include <utility>

#include "driver/model/error_status.h"
#include "harness/device/vts/fixture/context.h"
#include "harness/device/vts/fixture/executor.h"
#include "harness/device/vts/fixture/request_layout.h"

namespace halyard::vts {
namespace {

using driver::ErrorStatus;
using driver::HalVersion;

// The output that gets a byte too little.
constexpr size_t kShort = 0;

void openOutputs(driver::Model& model) {
    for (const uint32_t index : model.main.outputIndexes) {
        if (index < model.main.operands.size()) {
            std::ranges::fill(model.main.operands[index].dimensions, 0U);
        }
    }
}

const Preparation& prepared(Context& context, const Executor& executor) {
    return context.preparedAs("open outputs", executor.methods, openOutputs);
}

// Skipped where VTS does not go on with the result; passed: it does.
Verdict skippedIfRefused(Context& context, const driver::ExecutionResult& result) {
    return toErrorStatus(result.status, context.version()) == ErrorStatus::GENERAL_FAILURE
                   ? skipped("the execution gives GENERAL_FAILURE, as it may where a model leaves "
                             "its outputs' dimensions open: " +
                             result.status.toString())
                   : passed();
}

Verdict checkShapeCount(const driver::ExecutionResult& result, size_t outputs) {
    return result.outputShapes.size() == outputs
                   ? passed()
                   : failed(std::to_string(result.outputShapes.size()) +
                            " output shapes are told of " + std::to_string(outputs) + " outputs");
}

driver::ExecutionResult execute(Context& context, const Executor& executor,
                                const driver::Request& request, bool measured) {
    driver::ExecuteOptions options;
    options.measureTiming = measured;
    return executor.execute(*prepared(context, executor).model, request, options);
}

Verdict executeOpen(Context& context, const Executor& executor, const driver::Request& request,
                    bool measured) {
    const driver::ExecutionResult result = execute(context, executor, request, measured);
    for (const Verdict& verdict :
         {skippedIfRefused(context, result),
          expectStatus(result.status, context.version(), {ErrorStatus::NONE},
                       "an execution whose output dimensions are open"),
          checkTiming(result.timing, measured), checkShapeCount(result, request.outputs.size())}) {
        if (!verdict.hasPassed()) {
            return verdict;
        }
    }
    return context.handOver(request, result);
}

// Of an output that is told with the model's rank, and the extents that the case says.
Verdict checkShape(Context& context, size_t output, const driver::OutputShape& shape) {
    const std::string what = "output " + std::to_string(output);
    if (shape.isSufficient == (output == kShort)) {
        return failed("isSufficient is wrong of " + what);
    }
    const pb::Subgraph& main = context.testCase().model().main();
    const auto& said =
            main.operands(static_cast<int>(main.output_indexes(static_cast<int>(output))))
                    .dimensions();
    bool fits = shape.dimensions.size() == static_cast<size_t>(said.size());
    for (size_t i = 0; fits && i < shape.dimensions.size(); ++i) {
        const uint32_t told = shape.dimensions[i];
        const uint32_t expected = said[static_cast<int>(i)];
        // 0 is unknown, on either side.
        fits = told == 0 || expected == 0 || told == expected;
    }
    return fits ? passed() : failed("the dimensions that are told of " + what + " are wrong");
}

Verdict executeShort(Context& context, const Executor& executor, const driver::Request& request,
                     bool measured) {
    const driver::ExecutionResult result = execute(context, executor, request, measured);
    for (const Verdict& verdict :
         {skippedIfRefused(context, result),
          expectStatus(result.status, context.version(), {ErrorStatus::OUTPUT_INSUFFICIENT_SIZE},
                       "an execution with a byte too little for output 0"),
          checkTiming(result.timing, measured), checkShapeCount(result, request.outputs.size())}) {
        if (!verdict.hasPassed()) {
            return verdict;
        }
    }
    for (size_t i = 0; i < result.outputShapes.size(); ++i) {
        if (const Verdict verdict = checkShape(context, i, result.outputShapes[i]);
            !verdict.hasPassed()) {
            return verdict;
        }
    }
    return passed();
}

// A client is told no shape behind a fence, so all of them have to be known before.
Verdict executeFenced(Context& context, const Executor& executor, const driver::Request& request,
                      bool measured) {
    const driver::ExecutionResult result = execute(context, executor, request, measured);
    for (const Verdict& verdict :
         {skippedIfRefused(context, result),
          expectStatus(result.status, context.version(), {ErrorStatus::INVALID_ARGUMENT},
                       "executeFenced with output dimensions that are open"),
          checkTiming(result.timing, measured)}) {
        if (!verdict.hasPassed()) {
            return verdict;
        }
    }
    return passed();
}

using Expect = Verdict (*)(Context& context, const Executor& executor,
                           const driver::Request& request, bool measured);

// With timing and without.
Verdict run(Context& context, const Executor& executor, bool isShort, Expect expect) {
    if (prepared(context, executor).model == nullptr) {
        return prepared(context, executor).verdict;
    }
    for (const bool measured : {false, true}) {
        Result<driver::Request> request = context.generatedRequest();
        if (!request.ok()) {
            return failed(request.status().toString());
        }
        if (isShort) {
            if (request->outputs.empty() || request->outputs[kShort].location.length <= 1) {
                return skipped("VTS takes a byte of output 0, which has no more than one");
            }
            makeShort(request->outputs[kShort], context.version());
        }
        if (Verdict verdict = expect(context, executor, *request, measured); !verdict.hasPassed()) {
            return verdict;
        }
    }
    return passed();
}

}  // namespace

Checks dynamicOutputShapeTest() {
    Checks checks;
    const auto add = [&checks](const Executor& executor, bool isShort, Expect expect) {
        checks.push_back({.suite = "DynamicOutputShapeTest",
                          .name = "Test",
                          .variant = (isShort ? "INSUFFICIENT_" : "UNSPECIFIED_") +
                                     std::string(executor.name),
                          .scope = Scope::SHAPED_CASE,
                          .since = std::max(executor.since, HalVersion::V1_2),
                          .until = executor.until,
                          .run = [&executor, isShort, expect](Context& context) {
                              return run(context, executor, isShort, expect);
                          }});
    };
    for (const Executor& executor : executors()) {
        add(executor, false, executeOpen);
        add(executor, true, executeShort);
    }
    for (const Executor& executor : fencedExecutors()) {
        add(executor, false, executeFenced);
        add(executor, true, executeFenced);
    }
    return checks;
}

}  // namespace halyard::vts
