// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/quantization_coupling_test.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/device/runner/canonical_model.h"
#include "harness/device/vts/context.h"
#include "harness/device/vts/executor.h"

namespace halyard::vts {
namespace {

using driver::HalVersion;

constexpr int32_t kOffset = 128;

// Takes kOffset from unsigned bytes, which is one bit.
void lower(std::string& bytes, uint64_t offset, uint64_t length) {
    for (uint64_t i = offset; i < std::min<uint64_t>(bytes.size(), offset + length); ++i) {
        bytes[i] = static_cast<char>(static_cast<uint8_t>(bytes[i]) ^ kOffset);
    }
}

// The case with QUANT8_ASYMM_SIGNED in place of QUANT8_ASYMM, all of it kOffset steps lower.
pb::TestCase signedTwin(const pb::TestCase& original) {
    pb::TestCase twin = original;
    pb::Model& model = *twin.mutable_model();
    for (pb::Operand& operand : *model.mutable_main()->mutable_operands()) {
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

Verdict execute(Context& context, driver::IPreparedModel& model, const pb::TestCase& testCase,
                const Executor& executor, bool isTwin) {
    const Result<driver::Request> request = runner::toCanonical(testCase.examples(0));
    if (!request.ok()) {
        return failed(request.status().toString());
    }
    const driver::ExecutionResult result = executor.execute(model, *request, {});
    const Verdict verdict =
            expectStatus(result.status, context.version(), {driver::ErrorStatus::NONE},
                         isTwin ? "an execution of the signed twin" : "an execution");
    if (!verdict.hasPassed()) {
        return verdict;
    }
    return context.handOver(*request, result, [&](pb::ExampleResult& outputs) {
        if (isTwin) {
            raiseOutputs(context.testCase().model(), outputs);
        }
    });
}

Verdict runCoupled(Context& context) {
    const pb::TestCase twin = signedTwin(context.testCase());
    const Result<driver::Model> twinModel = runner::toCanonical(twin.model());
    if (!twinModel.ok()) {
        return failed(twinModel.status().toString());
    }
    const Preparation& prepared = context.prepared();
    const Preparation coupled = context.prepare(*twinModel);
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
    for (const Executor& executor : executors()) {
        if (context.version() < executor.since || context.version() > executor.until) {
            continue;
        }
        for (const bool isTwin : {false, true}) {
            const Verdict verdict = execute(context, isTwin ? *coupled.model : *prepared.model,
                                            isTwin ? twin : context.testCase(), executor, isTwin);
            if (!verdict.hasPassed()) {
                return verdict;
            }
        }
    }
    return passed();
}

}  // namespace

Checks quantizationCouplingTest() {
    return {{.suite = "QuantizationCouplingTest",
             .name = "Test",
             .variant = {},
             .subject = Subject::COUPLED_CASE,
             .since = HalVersion::V1_3,
             .run = runCoupled}};
}

}  // namespace halyard::vts
