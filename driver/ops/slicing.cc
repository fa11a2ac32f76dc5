// SPDX-License-Identifier: Apache-2.0
//
// SLICE, STRIDED_SLICE, TILE, PAD, PAD_V2, MIRROR_PAD, REVERSE: parts of a tensor, and tensors
// repeated, turned round or with something around them.

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

// Around real zeros where there is no value.
Status addPad(Lowering& lowering, engine::Pad::Mode mode, engine::TensorId value) {
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId input, lowering.input("input"));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId paddings, lowering.input("paddings"));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId output, lowering.output("output"));
    lowering.addNode(engine::Pad{.mode = mode}, {input, paddings, value}, output);
    return {};
}

Status lowerPad(Lowering& lowering) {
    return addPad(lowering, engine::Pad::Mode::CONSTANT, engine::kNoTensor);
}

// Beside quantised tensors the value is an element of theirs. One that an execution brings is
// checked then.
Status checkPaddingValue(const Lowering& lowering) {
    const OperandType type = lowering.operand("input").type;
    if (!isAsymmetric8Bit(type) || !lowering.isConstant("padding_value")) {
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(const int32_t value, lowering.int32("padding_value"));
    const int32_t lowest = type == TENSOR_QUANT8_ASYMM ? 0 : -128;
    if (value < lowest || value > lowest + 255) {
        return invalidArgument(lowering.view().input("padding_value").name() + " is " +
                               std::to_string(value) + ", not " + std::to_string(lowest) + ".." +
                               std::to_string(lowest + 255));
    }
    return {};
}

Status lowerPadV2(Lowering& lowering) {
    HALYARD_RETURN_IF_ERROR(checkPaddingValue(lowering));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId value, lowering.input("padding_value"));
    return addPad(lowering, engine::Pad::Mode::CONSTANT, value);
}

Status validateMirrorPad(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("paddings"), 2));
    return requireSameQuantization(view.input("input"), view.output("output"));
}

Status lowerMirrorPad(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t mode, lowering.int32("mode"));
    if (mode != 0 && mode != 1) {
        return invalidArgument(lowering.view().input("mode").name() + " is " +
                               std::to_string(mode) + ", not 0 (REFLECT) or 1 (SYMMETRIC)");
    }
    return addPad(lowering, mode == 0 ? engine::Pad::Mode::REFLECT : engine::Pad::Mode::SYMMETRIC,
                  engine::kNoTensor);
}

Status validateReverse(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("axis"), 1));
    return requireSameQuantization(view.input("input"), view.output("output"));
}

Status lowerReverse(Lowering& lowering) {
    return lowering.addNodeOf(engine::Reverse{}, {"input", "axis"});
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
            {.type = OperationType::MIRROR_PAD,
             .forms = {{AIDL_V3,
                        {tensor("input", kTensor), int32Tensor("paddings"), int32("mode")},
                        {tensor("output", kTensor)}}},
             .rows = numberTypes(),
             .validate = validateMirrorPad,
             .lower = lowerMirrorPad},
            {.type = OperationType::REVERSE,
             .forms = {{AIDL_V3,
                        {tensor("input", kTensor), int32Tensor("axis")},
                        {tensor("output", kTensor)}}},
             .rows = numberTypes(),
             .validate = validateReverse,
             .lower = lowerReverse},
    };
}

}  // namespace halyard::driver
