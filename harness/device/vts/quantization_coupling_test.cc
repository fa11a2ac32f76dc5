// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/quantization_coupling_test.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "driver/model/error_status.h"
#include "harness/device/cases/canonical_model.h"
#include "harness/device/vts/fixture/context.h"
#include "harness/device/vts/fixture/executor.h"
#include "harness/device/vts/fixture/request_layout.h"

namespace halyard::vts {
namespace {

using driver::ErrorStatus;
using driver::HalVersion;

constexpr int32_t kOffset = 128;

// Takes kOffset from unsigned bytes, which is one bit.
void lower(std::string& bytes, uint64_t offset, uint64_t length) {
    for (uint64_t i = offset; i < std::min<uint64_t>(bytes.size(), offset + length); ++i) {
        bytes[i] = static_cast<char>(static_cast<uint8_t>(bytes[i]) ^ kOffset);
    }
}

// One subgraph of the model, with the values of its constants.
void makeSigned(pb::Model& model, pb::Subgraph& subgraph) {
    for (pb::Operand& operand : *subgraph.mutable_operands()) {
        if (operand.type() != pb::OPERAND_TYPE_TENSOR_QUANT8_ASYMM) {
            continue;
        }
        operand.set_type(pb::OPERAND_TYPE_TENSOR_QUANT8_ASYMM_SIGNED);
        operand.set_zero_point(operand.zero_point() - kOffset);
        const pb::DataLocation& place = operand.location();
        if (operand.lifetime() == pb::OPERAND_LIFE_TIME_CONSTANT_COPY) {
            lower(*model.mutable_operand_values(), place.offset(), place.length());
        } else if (operand.lifetime() == pb::OPERAND_LIFE_TIME_CONSTANT_REFERENCE) {
            lower(*model.mutable_pools(static_cast<int>(place.pool_index())), place.offset(),
                  place.length());
        }
    }
}

// The case with QUANT8_ASYMM_SIGNED in place of QUANT8_ASYMM, all of it kOffset steps lower.
pb::TestCase signedTwin(const pb::TestCase& original) {
    pb::TestCase twin = original;
    pb::Model& model = *twin.mutable_model();
    makeSigned(model, *model.mutable_main());
    for (pb::Subgraph& subgraph : *model.mutable_referenced()) {
        makeSigned(model, subgraph);
    }
    for (pb::Example& example : *twin.mutable_examples()) {
        for (int i = 0; i < example.inputs_size(); ++i) {
            const uint32_t index = model.main().input_indexes(i);
            if (original.model().main().operands(static_cast<int>(index)).type() ==
                pb::OPERAND_TYPE_TENSOR_QUANT8_ASYMM) {
                std::string& data = *example.mutable_inputs(i)->mutable_data();
                lower(data, 0, data.size());
            }
        }
    }
    return twin;
}

// Of the twin, as the original has them.
void raiseOutputs(const pb::Model& original, pb::ExampleResult& outputs) {
    for (int i = 0; i < outputs.outputs_size(); ++i) {
        const uint32_t index = original.main().output_indexes(i);
        if (original.main().operands(static_cast<int>(index)).type() ==
            pb::OPERAND_TYPE_TENSOR_QUANT8_ASYMM) {
            std::string& data = *outputs.mutable_outputs(i)->mutable_data();
            lower(data, 0, data.size());
        }
    }
}

// A model and its twin, prepared, and what either is given.
struct Twin {
    driver::IPreparedModel& model;
    const pb::TestCase& testCase;
    bool isSigned;
};

Verdict execute(Context& context, const Twin& twin, const Executor& executor, bool measured) {
    const Result<driver::Request> request =
            generatedRequest(twin.testCase.examples(0), context.version());
    if (!request.ok()) {
        return failed(request.status().toString());
    }
    driver::ExecuteOptions options;
    options.measureTiming = measured;
    const driver::ExecutionResult result = executor.execute(twin.model, *request, options);
    const bool isRefused = executor.isFenced && context.hasOpenOutput();
    const std::string what =
            std::string(executor.name) +
            (twin.isSigned ? ", an execution of the signed twin" : ", an execution");
    for (const Verdict& verdict :
         {expectStatus(result.status, context.version(),
                       {isRefused ? ErrorStatus::INVALID_ARGUMENT : ErrorStatus::NONE}, what),
          checkTiming(result.timing, measured)}) {
        if (!verdict.hasPassed()) {
            return verdict;
        }
    }
    if (isRefused) {
        return passed();
    }
    return context.handOver(*request, result, twin.testCase.examples(0),
                            [&](pb::ExampleResult& outputs) {
                                if (twin.isSigned) {
                                    raiseOutputs(context.testCase().model(), outputs);
                                }
                            });
}

// In all ways that go by these methods, with timing and without.
Verdict executeTwins(Context& context, Methods methods, const std::array<Twin, 2>& twins) {
    for (const std::span<const Executor> all : {executors(), fencedExecutors()}) {
        for (const Executor& executor : all) {
            if (!executor.isOf(context.version()) || executor.methods != methods) {
                continue;
            }
            for (const bool measured : {false, true}) {
                for (const Twin& twin : twins) {
                    Verdict verdict = execute(context, twin, executor, measured);
                    if (!verdict.hasPassed()) {
                        return verdict;
                    }
                }
            }
        }
    }
    return passed();
}

Verdict runBy(Context& context, Methods methods, const pb::TestCase& twin) {
    const Result<driver::Model> twinModel = runner::toCanonical(twin.model());
    if (!twinModel.ok()) {
        return failed(twinModel.status().toString());
    }
    const Preparation& prepared = context.prepared(methods);
    const Preparation coupled = context.prepare(*twinModel, methods);
    for (const Verdict& verdict : {prepared.verdict, coupled.verdict}) {
        if (verdict.outcome == Verdict::Outcome::FAILED) {
            return verdict;
        }
    }
    if (prepared.model == nullptr && coupled.model == nullptr) {
        return prepared.verdict;
    }
    if (prepared.model == nullptr || coupled.model == nullptr) {
        return failed(prepared.model == nullptr
                              ? "the signed twin is supported, and the model is not: " +
                                        prepared.verdict.reason
                              : "the model is supported, and its signed twin is not: " +
                                        coupled.verdict.reason);
    }
    return executeTwins(
            context, methods,
            {Twin{.model = *prepared.model, .testCase = context.testCase(), .isSigned = false},
             Twin{.model = *coupled.model, .testCase = twin, .isSigned = true}});
}

Verdict runCoupled(Context& context) {
    const pb::TestCase twin = signedTwin(context.testCase());
    return byAllMethods(context, [&](Methods methods) { return runBy(context, methods, twin); });
}

}  // namespace

Checks quantizationCouplingTest() {
    return {{.suite = "QuantizationCouplingTest",
             .name = "Test",
             .variant = {},
             .scope = Scope::COUPLED_CASE,
             .since = HalVersion::V1_3,
             .run = runCoupled}};
}

}  // namespace halyard::vts
