// SPDX-License-Identifier: Apache-2.0
//
// RELU, RELU1, RELU6, LOGISTIC, TANH, HARD_SWISH, ELU: one tensor in, one of the same type and
// shape out.

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

std::vector<Form> formsSince(HalVersion since) {
    return {{since, {tensor("input", kTensor)}, {tensor("output", kTensor)}}};
}

Status validateRelu(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRankAtMost(view.input("input"), 4));
    return requireSameQuantization(view.input("input"), view.output("output"));
}

Status validateLogistic(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRankAtMost(view.input("input"), 4));
    return requireProbabilityQuantization(view.output("output"));
}

// From -1 to 127 / 128.
Status validateTanh(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRankAtMost(view.input("input"), 4));
    const OperandView& output = view.output("output");
    if (!isAsymmetric8Bit(output.operand->type)) {
        return {};
    }
    const bool isSigned = output.operand->type == OperandType::TENSOR_QUANT8_ASYMM_SIGNED;
    return requireQuantization(output, 1.0F / 128.0F, isSigned ? 0 : 128);
}

Status lowerElu(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const float alpha, lowering.real("alpha"));
    return lowering.addNodeOf(
            engine::Activate{.function = engine::Activate::Function::ELU, .alpha = alpha},
            {"input"});
}

template <engine::Activate::Function function>
Status lower(Lowering& lowering) {
    return lowering.addNodeOf(engine::Activate{.function = function}, {"input"});
}

}  // namespace

std::vector<OperationDefinition> activationOperations() {
    using Function = engine::Activate::Function;
    return {
            {.type = OperationType::RELU,
             .forms = formsSince(HalVersion::V1_0),
             .rows = elementTypes(),
             .validate = validateRelu,
             .lower = lower<Function::RELU>},
            {.type = OperationType::RELU1,
             .forms = formsSince(HalVersion::V1_0),
             .rows = elementTypes(),
             .validate = validateRelu,
             .lower = lower<Function::RELU1>},
            {.type = OperationType::RELU6,
             .forms = formsSince(HalVersion::V1_0),
             .rows = elementTypes(),
             .validate = validateRelu,
             .lower = lower<Function::RELU6>},
            {.type = OperationType::LOGISTIC,
             .forms = formsSince(HalVersion::V1_0),
             .rows = elementTypes(),
             .validate = validateLogistic,
             .lower = lower<Function::LOGISTIC>},
            {.type = OperationType::TANH,
             .forms = formsSince(HalVersion::V1_0),
             .rows = {{HalVersion::V1_0, {OperandType::TENSOR_FLOAT32}},
                      {HalVersion::V1_2, {OperandType::TENSOR_FLOAT16}},
                      {HalVersion::V1_2, {OperandType::TENSOR_QUANT8_ASYMM}},
                      {HalVersion::V1_3, {OperandType::TENSOR_QUANT8_ASYMM_SIGNED}}},
             .validate = validateTanh,
             .lower = lower<Function::TANH>},
            {.type = OperationType::ELU,
             .forms = {{HalVersion::V1_3,
                        {tensor("input", kTensor), real("alpha", kScalar)},
                        {tensor("output", kTensor)}}},
             .rows = {{HalVersion::V1_3, {OperandType::TENSOR_FLOAT32, OperandType::FLOAT32}},
                      {HalVersion::V1_3, {OperandType::TENSOR_FLOAT16, OperandType::FLOAT16}}},
             .lower = lowerElu},
            {.type = OperationType::HARD_SWISH,
             .forms = formsSince(HalVersion::V1_3),
             .rows = elementTypes(),
             .lower = lower<Function::HARD_SWISH>},
    };
}

}  // namespace halyard::driver
