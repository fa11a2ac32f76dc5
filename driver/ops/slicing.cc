// SPDX-License-Identifier: Apache-2.0
//
// SLICE, STRIDED_SLICE, TILE, PAD, PAD_V2: parts of a tensor, and tensors repeated or with
// something around them.

#include <string>

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

using enum HalVersion;
using enum OperandType;

Status validateSlice(const OperationView& view) {
    for (const std::string_view list : {"begin", "size"}) {
        HALYARD_RETURN_IF_ERROR(requireRank(view.input(list), 1));
    }
    return requireSameQuantization(view.input("input"), view.output("output"));
}

Status validateStridedSlice(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRankAtMost(view.input("input"), 4));
    for (const std::string_view list : {"begin", "end", "strides"}) {
        HALYARD_RETURN_IF_ERROR(requireRank(view.input(list), 1));
    }
    return requireSameQuantization(view.input("input"), view.output("output"));
}

Status validateTile(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("multiples"), 1));
    return requireSameQuantization(view.input("input"), view.output("output"));
}

Status validatePad(const OperationView& view) {
    const OperandView& input = view.input("input");
    HALYARD_RETURN_IF_ERROR(requireRankAtMost(input, 4));
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("paddings"), 2));
    HALYARD_RETURN_IF_ERROR(requireZeroPointZero(view, input));
    return requireSameQuantization(input, view.output("output"));
}

Status lowerSlice(Lowering& lowering) {
    return lowering.addNodeOf(engine::Slice{}, {"input", "begin", "size"});
}

Status lowerStridedSlice(Lowering& lowering) {
    engine::StridedSlice node;
    HALYARD_ASSIGN_OR_RETURN(node.beginMask, lowering.int32("begin_mask"));
    HALYARD_ASSIGN_OR_RETURN(node.endMask, lowering.int32("end_mask"));
    HALYARD_ASSIGN_OR_RETURN(node.shrinkMask, lowering.int32("shrink_axis_mask"));
    return lowering.addNodeOf(node, {"input", "begin", "end", "strides"});
}

Status lowerTile(Lowering& lowering) {
    return lowering.addNodeOf(engine::Tile{}, {"input", "multiples"});
}

Status lowerPad(Lowering& lowering) {
    return lowering.addNodeOf(engine::Pad{}, {"input", "paddings"});
}

// As a real number. Beside quantised tensors it is an element of theirs.
Result<float> readPadding(const Lowering& lowering) {
    const Operand& input = lowering.operand("input");
    if (!isAsymmetric8Bit(input.type)) {
        return lowering.real("padding_value");
    }
    HALYARD_ASSIGN_OR_RETURN(const int32_t value, lowering.int32("padding_value"));
    const int32_t lowest = input.type == TENSOR_QUANT8_ASYMM ? 0 : -128;
    if (value < lowest || value > lowest + 255) {
        return invalidArgument(lowering.view().input("padding_value").name() + " is " +
                               std::to_string(value) + ", not " + std::to_string(lowest) + ".." +
                               std::to_string(lowest + 255));
    }
    return input.scale * static_cast<float>(value - input.zeroPoint);
}

Status lowerPadV2(Lowering& lowering) {
    engine::Pad node;
    HALYARD_ASSIGN_OR_RETURN(node.value, readPadding(lowering));
    return lowering.addNodeOf(node, {"input", "paddings"});
}

}  // namespace

std::vector<OperationDefinition> slicingOperations() {
    return {
            {.type = OperationType::SLICE,
             .forms = {{V1_2,
                        {tensor("input", kTensor), int32Tensor("begin"), int32Tensor("size")},
                        {tensor("output", kTensor)}}},
             .rows = numberTypes(),
             .validate = validateSlice,
             .lower = lowerSlice},
            {.type = OperationType::STRIDED_SLICE,
             .forms = {{V1_1,
                        {tensor("input", kTensor), int32Tensor("begin"), int32Tensor("end"),
                         int32Tensor("strides"), int32("begin_mask"), int32("end_mask"),
                         int32("shrink_axis_mask")},
                        {tensor("output", kTensor)}}},
             .rows = elementTypes(),
             .validate = validateStridedSlice,
             .lower = lowerStridedSlice},
            {.type = OperationType::TILE,
             .forms = {{V1_2,
                        {tensor("input", kTensor), int32Tensor("multiples")},
                        {tensor("output", kTensor)}}},
             .rows = numberTypes(),
             .validate = validateTile,
             .lower = lowerTile},
            {.type = OperationType::PAD,
             .forms = {{V1_1,
                        {tensor("input", kTensor), int32Tensor("paddings")},
                        {tensor("output", kTensor)}}},
             .rows = elementTypes(),
             .validate = validatePad,
             .lower = lowerPad},
            {.type = OperationType::PAD_V2,
             .forms = {{V1_2,
                        {tensor("input", kTensor), int32Tensor("paddings"),
                         real("padding_value", kScalar)},
                        {tensor("output", kTensor)}}},
             .rows = {{V1_2, {TENSOR_FLOAT32, FLOAT32}},
                      {V1_2, {TENSOR_FLOAT16, FLOAT16}},
                      {V1_2, {TENSOR_QUANT8_ASYMM, INT32}},
                      {V1_3, {TENSOR_QUANT8_ASYMM_SIGNED, INT32}}},
             .validate = validatePad,
             .lower = lowerPadV2},
    };
}

}  // namespace halyard::driver
