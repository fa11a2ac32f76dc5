// SPDX-License-Identifier: Apache-2.0
//
// RESHAPE, CONCATENATION, PAD: elements move, values stay.

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

constexpr size_t kInput = 0;
constexpr size_t kOutput = 0;

// ---- RESHAPE and PAD: a tensor, and an INT32 tensor that says where its elements go
// --------------

constexpr size_t kControl = 1;  // the shape, the paddings

Status validateReshape(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRankAtMost(view.inputs[kInput], 4));
    HALYARD_RETURN_IF_ERROR(requireRank(view.inputs[kControl], 1));
    return requireSameQuantization(view.inputs[kInput], view.outputs[kOutput]);
}

Status validatePad(const OperationView& view) {
    const OperandView& input = view.inputs[kInput];
    HALYARD_RETURN_IF_ERROR(requireRankAtMost(input, 4));
    HALYARD_RETURN_IF_ERROR(requireRank(view.inputs[kControl], 2));
    // What such an operation pads with was left open before 1.2, unless it was 0 either way.
    if (view.version < HalVersion::V1_2 && input.operand->zeroPoint != 0) {
        return invalidArgument("before HAL 1.2 " + input.name() + " has zero point 0");
    }
    return requireSameQuantization(input, view.outputs[kOutput]);
}

template <typename Descriptor>
Status lowerControlled(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId input, lowering.inputTensor(kInput));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId control, lowering.inputTensor(kControl));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId output, lowering.outputTensor(kOutput));
    lowering.addNode(Descriptor{}, {input, control}, output);
    return {};
}

// ---- CONCATENATION: tensors, and the axis last --------------------------------------------------

std::vector<Signature> concatenationSignatures() {
    std::vector<Signature> signatures =
            elementTypeSignatures(HalVersion::V1_0, {OperandType::INT32});
    for (Signature& signature : signatures) {
        signature.firstRepeats = true;
    }
    return signatures;
}

Status validateConcatenation(const OperationView& view) {
    for (size_t i = 0; i + 1 < view.inputs.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(requireRankAtMost(view.inputs[i], 4));
        if (view.version < HalVersion::V1_2) {
            HALYARD_RETURN_IF_ERROR(requireSameQuantization(view.outputs[kOutput], view.inputs[i]));
        }
    }
    return {};
}

Status lowerConcatenation(Lowering& lowering) {
    const size_t count = lowering.inputCount() - 1;
    HALYARD_ASSIGN_OR_RETURN(const int32_t axis, lowering.int32AtLeast(count, "axis", 0));
    std::vector<engine::TensorId> inputs;
    for (size_t i = 0; i < count; ++i) {
        HALYARD_ASSIGN_OR_RETURN(const engine::TensorId input, lowering.inputTensor(i));
        inputs.push_back(input);
    }
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId output, lowering.outputTensor(kOutput));
    lowering.addNode(engine::Concat{.axis = axis}, std::move(inputs), output);
    return {};
}

}  // namespace

std::vector<OperationDefinition> reshapingOperations() {
    return {
            {.type = OperationType::RESHAPE,
             .signatures = elementTypeSignatures(HalVersion::V1_0, {OperandType::TENSOR_INT32}),
             .validate = validateReshape,
             .lower = lowerControlled<engine::Reshape>},
            {.type = OperationType::PAD,
             .signatures = elementTypeSignatures(HalVersion::V1_1, {OperandType::TENSOR_INT32}),
             .validate = validatePad,
             .lower = lowerControlled<engine::Pad>},
            {.type = OperationType::CONCATENATION,
             .signatures = concatenationSignatures(),
             .validate = validateConcatenation,
             .lower = lowerConcatenation},
    };
}

}  // namespace halyard::driver
