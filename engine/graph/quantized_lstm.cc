// SPDX-License-Identifier: Apache-2.0
//
// The LSTMs whose fixed-point arithmetic NNAPI prescribes. Their kernels rely on the scales that
// are checked here.

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "engine/graph/node_rules.h"
#include "engine/graph/recurrence.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine {
namespace {

constexpr TypeSet kSignedByte = {"QUANT8_ASYMM_SIGNED", {DataType::QUANT8_ASYMM_SIGNED}};
constexpr TypeSet kByte = {"QUANT8_ASYMM", {DataType::QUANT8_ASYMM}};
constexpr TypeSet kWeight = {"QUANT8_SYMM", {DataType::QUANT8_SYMM}};
constexpr TypeSet kFixedPoint = {"QUANT16_SYMM", {DataType::QUANT16_SYMM}};

const TypeSet& legalFor(size_t input) {
    switch (input) {
        case lstm::kX:
        case lstm::kOutputState:
            return kSignedByte;
        case lstm::kInputGateBias:
        case lstm::kForgetGateBias:
        case lstm::kCellGateBias:
        case lstm::kOutputGateBias:
        case lstm::kProjectionBias:
            return kInt32;
        case lstm::kCellToInputWeights:
        case lstm::kCellToForgetWeights:
        case lstm::kCellToOutputWeights:
        case lstm::kCellState:
        case lstm::kInputLayerNormWeights:
        case lstm::kForgetLayerNormWeights:
        case lstm::kCellLayerNormWeights:
        case lstm::kOutputLayerNormWeights:
            return kFixedPoint;
        default:
            return kWeight;
    }
}

std::string roleOf(std::span<const InputSpec> specs, size_t input) {
    return "the " + std::string(specs[input].name);
}

Status checkScales(const QuantizedLstm& node, std::span<const KnownInput> inputs) {
    HALYARD_RETURN_IF_ERROR(
            lstm::cellScaleLog2(inputs[lstm::kCellState].type->quantization.scale).status());
    HALYARD_RETURN_IF_ERROR(checkPositive(node.hiddenScale, "the scale of the hidden state"));
    if (node.hiddenZeroPoint < std::numeric_limits<int8_t>::min() ||
        node.hiddenZeroPoint > std::numeric_limits<int8_t>::max()) {
        return invalidArgument("the zero point of the hidden state (" +
                               std::to_string(node.hiddenZeroPoint) + ") must be in [-128, 127]");
    }
    if (!inputs[lstm::kForgetLayerNormWeights].present()) {
        return {};  // the gates go from their sums straight to their functions
    }
    if (inputs[lstm::kInputToInputWeights].present()) {
        HALYARD_RETURN_IF_ERROR(
                checkPositive(node.inputIntermediateScale, "inputIntermediateScale"));
    }
    HALYARD_RETURN_IF_ERROR(checkPositive(node.forgetIntermediateScale, "forgetIntermediateScale"));
    HALYARD_RETURN_IF_ERROR(checkPositive(node.cellIntermediateScale, "cellIntermediateScale"));
    return checkPositive(node.outputIntermediateScale, "outputIntermediateScale");
}

Status checkQuantization(const TensorType& type, std::string_view role, float scale,
                         int32_t zeroPoint) {
    if (type.quantization.scale != scale || type.quantization.zeroPoint != zeroPoint) {
        return invalidArgument(std::string(role) + " (" + type.toString() +
                               ") must have the scale " + std::to_string(scale) +
                               " and the zero point " + std::to_string(zeroPoint));
    }
    return {};
}

}  // namespace

Result<int> lstm::cellScaleLog2(float scale) {
    const float log2 = std::log2(scale);
    const float rounded = std::round(log2);
    if (!(std::abs(log2 - rounded) < 1e-3F && rounded >= -15.0F && rounded <= -9.0F)) {
        return invalidArgument("the scale of the cell state (" + std::to_string(scale) +
                               ") must be a power of two from 2^-15 to 2^-9");
    }
    return static_cast<int>(rounded);
}

Status inferShapes(const QuantizedLstm& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].present()) {
            HALYARD_RETURN_IF_ERROR(
                    checkType(*inputs[i].type, roleOf(QuantizedLstm::kInputs, i), legalFor(i)));
        }
    }
    const TensorType& state = *inputs[lstm::kOutputState].type;
    HALYARD_RETURN_IF_ERROR(
            checkSameElements(state, "the output state", outputs[0], "the new output state"));
    HALYARD_RETURN_IF_ERROR(checkSameElements(*inputs[lstm::kCellState].type, "the cell state",
                                              outputs[1], "the new cell state"));
    HALYARD_RETURN_IF_ERROR(checkSameElements(state, "the output state", outputs[2], "the output"));
    HALYARD_RETURN_IF_ERROR(lstm::checkParts(inputs));
    HALYARD_RETURN_IF_ERROR(checkScales(node, inputs));
    HALYARD_RETURN_IF_ERROR(lstm::checkClips(node.cellClip, node.projectionClip));
    lstm::Extents extents;
    HALYARD_RETURN_IF_ERROR(
            agree(inputs[lstm::kX].shape(), "the input", {&extents.batch, &extents.input}));
    HALYARD_RETURN_IF_ERROR(lstm::checkShapes(inputs, extents));
    outputs[0].shape = {extents.batch, extents.output};
    outputs[1].shape = {extents.batch, extents.units};
    outputs[2].shape = {extents.batch, extents.output};
    return {};
}

Status inferShapes(const Quantized16BitLstm& /*node*/, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    constexpr size_t kFirstRecurrent = 5;
    constexpr size_t kFirstBias = 9;
    constexpr size_t kCellState = 13;
    constexpr size_t kOutputState = 14;
    constexpr float kCellScale = 1.0F / 2048;
    constexpr float kOutputScale = 1.0F / 128;
    for (size_t i = 0; i < inputs.size(); ++i) {
        const std::string role = roleOf(Quantized16BitLstm::kInputs, i);
        const TypeSet& legal = i == kCellState                     ? kFixedPoint
                               : i >= kFirstBias && i < kCellState ? kInt32
                                                                   : kByte;
        HALYARD_RETURN_IF_ERROR(checkType(*inputs[i].type, role, legal));
        if (i > 1 && i < kFirstBias) {  // all gates share one multiplier
            HALYARD_RETURN_IF_ERROR(checkSameElements(*inputs[1].type,
                                                      roleOf(Quantized16BitLstm::kInputs, 1),
                                                      *inputs[i].type, role));
        }
    }
    HALYARD_RETURN_IF_ERROR(checkQuantization(*inputs[0].type, "the input", kOutputScale, 128));
    HALYARD_RETURN_IF_ERROR(
            checkQuantization(*inputs[kOutputState].type, "the output state", kOutputScale, 128));
    HALYARD_RETURN_IF_ERROR(
            checkQuantization(*inputs[kCellState].type, "the cell state", kCellScale, 0));
    HALYARD_RETURN_IF_ERROR(checkSameElements(*inputs[kCellState].type, "the cell state",
                                              outputs[0], "the new cell state"));
    HALYARD_RETURN_IF_ERROR(checkSameElements(*inputs[kOutputState].type, "the output state",
                                              outputs[1], "the output"));
    int32_t batch = kUnknownDimension;
    int32_t size = kUnknownDimension;
    int32_t units = kUnknownDimension;
    HALYARD_RETURN_IF_ERROR(agree(inputs[0].shape(), "the input", {&batch, &size}));
    for (const size_t i : {kCellState, kOutputState}) {
        HALYARD_RETURN_IF_ERROR(
                agree(inputs[i].shape(), roleOf(Quantized16BitLstm::kInputs, i), {&batch, &units}));
    }
    for (size_t i = 1; i < kCellState; ++i) {
        const std::string role = roleOf(Quantized16BitLstm::kInputs, i);
        HALYARD_RETURN_IF_ERROR(i >= kFirstBias
                                        ? agree(inputs[i].shape(), role, {&units})
                                        : agree(inputs[i].shape(), role,
                                                {&units, i >= kFirstRecurrent ? &units : &size}));
    }
    outputs[0].shape = {batch, units};
    outputs[1].shape = {batch, units};
    return {};
}

}  // namespace halyard::engine
