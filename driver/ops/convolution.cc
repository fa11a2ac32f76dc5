// SPDX-License-Identifier: Apache-2.0
//
// CONV_2D and DEPTHWISE_CONV_2D. Their inputs are, in order:
//   input, filter, bias,
//   padding: left, right, top, bottom (explicit) or one scheme code (implicit),
//   stride width, stride height, [depth multiplier,] activation,
//   and from 1.2 on: layout (true: NCHW), then dilation width and height.

#include <algorithm>
#include <array>

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"
#include "driver/ops/window.h"

namespace halyard::driver {
namespace {

constexpr size_t kInput = 0;
constexpr size_t kFilter = 1;
constexpr size_t kBias = 2;
constexpr size_t kPadding = 3;
constexpr size_t kOutput = 0;

// Scalars after the bias and before the layout.
constexpr size_t kImplicitConv = 4;
constexpr size_t kExplicitConv = 7;
constexpr size_t kMultiplier = 1;  // the one that DEPTHWISE_CONV_2D has on top

struct TensorTypes {
    OperandType input;  // and output
    OperandType filter;
    OperandType bias;
    HalVersion since;
};

constexpr std::array kTensorTypes = {
        TensorTypes{OperandType::TENSOR_FLOAT32, OperandType::TENSOR_FLOAT32,
                    OperandType::TENSOR_FLOAT32, HalVersion::V1_0},
        TensorTypes{OperandType::TENSOR_FLOAT16, OperandType::TENSOR_FLOAT16,
                    OperandType::TENSOR_FLOAT16, HalVersion::V1_2},
        TensorTypes{OperandType::TENSOR_QUANT8_ASYMM, OperandType::TENSOR_QUANT8_ASYMM,
                    OperandType::TENSOR_INT32, HalVersion::V1_0},
        TensorTypes{OperandType::TENSOR_QUANT8_ASYMM, OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL,
                    OperandType::TENSOR_INT32, HalVersion::V1_2},
        TensorTypes{OperandType::TENSOR_QUANT8_ASYMM_SIGNED,
                    OperandType::TENSOR_QUANT8_ASYMM_SIGNED, OperandType::TENSOR_INT32,
                    HalVersion::V1_3},
        TensorTypes{OperandType::TENSOR_QUANT8_ASYMM_SIGNED,
                    OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL, OperandType::TENSOR_INT32,
                    HalVersion::V1_3},
};

std::vector<Signature> signatures(size_t extraScalars) {
    const std::vector<OperandType> layout = {OperandType::BOOL};
    const std::vector<OperandType> layoutAndDilation = {OperandType::BOOL, OperandType::INT32,
                                                        OperandType::INT32};
    std::vector<Signature> forms;
    for (const TensorTypes& types : kTensorTypes) {
        for (const size_t scalars : {kImplicitConv, kExplicitConv}) {
            Signature form = {.since = types.since,
                              .inputs = {types.input, types.filter, types.bias},
                              .outputs = {types.input}};
            form.inputs.insert(form.inputs.end(), scalars + extraScalars, OperandType::INT32);
            forms.push_back(form);
            for (const std::vector<OperandType>& tail : {layout, layoutAndDilation}) {
                Signature longer = form;
                longer.since = std::max(types.since, HalVersion::V1_2);
                longer.inputs.insert(longer.inputs.end(), tail.begin(), tail.end());
                forms.push_back(longer);
            }
        }
    }
    return forms;
}

template <uint32_t channelDim>
Status validate(const OperationView& view) {
    const OperandView& input = view.inputs[kInput];
    const OperandView& filter = view.inputs[kFilter];
    const OperandView& bias = view.inputs[kBias];
    HALYARD_RETURN_IF_ERROR(requireRank(input, 4));
    HALYARD_RETURN_IF_ERROR(requireRank(filter, 4));
    HALYARD_RETURN_IF_ERROR(requireRank(bias, 1));
    HALYARD_RETURN_IF_ERROR(requireChannelDim(filter, channelDim));
    HALYARD_RETURN_IF_ERROR(requireBiasScale(input, filter, bias));
    return requireCoarserOutput(view, input, filter, view.outputs[kOutput]);
}

// The scalars up to the first BOOL, the layout, tell the two paddings apart.
bool hasExplicitPadding(const Lowering& lowering, size_t extraScalars) {
    size_t end = kPadding;
    while (end < lowering.inputCount() && lowering.input(end).type == OperandType::INT32) {
        ++end;
    }
    return end - kPadding == kExplicitConv + extraScalars;
}

// What both operations have in common, read in the order of their inputs.
struct Attributes {
    engine::Window2d window;
    int32_t multiplier = 1;
    engine::Activation activation = engine::Activation::NONE;
    bool nchw = false;
};

Result<Attributes> readAttributes(const Lowering& lowering, size_t extraScalars) {
    Attributes attributes;
    size_t position = kPadding;
    HALYARD_ASSIGN_OR_RETURN(
            attributes.window,
            readWindow(lowering, hasExplicitPadding(lowering, extraScalars), position));
    if (extraScalars == kMultiplier) {
        HALYARD_ASSIGN_OR_RETURN(attributes.multiplier,
                                 lowering.int32AtLeast(position++, "depth multiplier", 1));
    }
    HALYARD_ASSIGN_OR_RETURN(attributes.activation, lowering.activation(position++));
    HALYARD_ASSIGN_OR_RETURN(attributes.nchw, lowering.isNchw(position++));
    HALYARD_RETURN_IF_ERROR(readDilation(lowering, position, attributes.window));
    return attributes;
}

Status addNodes(Lowering& lowering, engine::NodeDescriptor node, bool nchw) {
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId input, lowering.nhwcInput(nchw));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId filter, lowering.inputTensor(kFilter));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId bias, lowering.inputTensor(kBias));
    return lowering.addNhwcNode(std::move(node), {input, filter, bias}, nchw);
}

Status lowerConv(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const Attributes attributes, readAttributes(lowering, 0));
    return addNodes(
            lowering,
            engine::Conv2d{.window = attributes.window, .activation = attributes.activation},
            attributes.nchw);
}

Status lowerDepthwiseConv(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const Attributes attributes, readAttributes(lowering, kMultiplier));
    return addNodes(lowering,
                    engine::DepthwiseConv2d{.window = attributes.window,
                                            .multiplier = attributes.multiplier,
                                            .activation = attributes.activation},
                    attributes.nchw);
}

}  // namespace

std::vector<OperationDefinition> convolutionOperations() {
    return {
            {.type = OperationType::CONV_2D,
             .signatures = signatures(0),
             .validate = validate<0>,
             .lower = lowerConv},
            {.type = OperationType::DEPTHWISE_CONV_2D,
             .signatures = signatures(kMultiplier),
             .validate = validate<3>,
             .lower = lowerDepthwiseConv},
    };
}

}  // namespace halyard::driver
