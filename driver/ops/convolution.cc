// SPDX-License-Identifier: Apache-2.0
//
// CONV_2D, DEPTHWISE_CONV_2D, GROUPED_CONV_2D, TRANSPOSE_CONV_2D.

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"
#include "driver/ops/window.h"

namespace halyard::driver {
namespace {

using enum HalVersion;
using enum OperandType;

constexpr Column kData{0};  // of input and output
constexpr Column kFilter{1};
constexpr Column kBias{2};

std::vector<TypeRow> rows() {
    return {{V1_0, {TENSOR_FLOAT32, TENSOR_FLOAT32, TENSOR_FLOAT32}},
            {V1_2, {TENSOR_FLOAT16, TENSOR_FLOAT16, TENSOR_FLOAT16}},
            {V1_0, {TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM, TENSOR_INT32}},
            {V1_2, {TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_SYMM_PER_CHANNEL, TENSOR_INT32}},
            {V1_3, {TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_INT32}},
            {V1_3, {TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_QUANT8_SYMM_PER_CHANNEL, TENSOR_INT32}}};
}

// `own`: the scalars that the operation has between the strides and the activation.
std::vector<Form> forms(const OperandForms& own) {
    const OperandForms tensors = {tensor("input", kData), tensor("filter", kFilter),
                                  tensor("bias", kBias)};
    const OperandForms outputs = {tensor("output", kData)};
    std::vector<Form> forms;
    for (const OperandForms& padding : {implicitPadding(), explicitPadding()}) {
        const OperandForms shared = join({tensors, padding, strides(), own, {int32("activation")}});
        forms.push_back({V1_0, shared, outputs});
        forms.push_back({V1_2, join({shared, {boolean("layout")}}), outputs});
        forms.push_back({V1_2, join({shared, {boolean("layout")}, dilations()}), outputs});
    }
    return forms;
}

template <uint32_t channelDim>
Status validate(const OperationView& view) {
    const OperandView& input = view.input("input");
    const OperandView& filter = view.input("filter");
    const OperandView& bias = view.input("bias");
    HALYARD_RETURN_IF_ERROR(requireRank(input, 4));
    HALYARD_RETURN_IF_ERROR(requireRank(filter, 4));
    HALYARD_RETURN_IF_ERROR(requireRank(bias, 1));
    HALYARD_RETURN_IF_ERROR(requireChannelDim(filter, channelDim));
    HALYARD_RETURN_IF_ERROR(requireBiasScale(input, filter, bias));
    return requireCoarserOutput(view, input, filter, view.output("output"));
}

// `implicit`: what the operation has before a padding scheme, and not before explicit paddings.
// `own`: the scalars between the strides and the activation.
std::vector<Form> laterForms(const OperandForms& implicit, const OperandForms& own) {
    const OperandForms tensors = {tensor("input", kData), tensor("filter", kFilter),
                                  tensor("bias", kBias)};
    const OperandForms scalars = join({strides(), own, {int32("activation"), boolean("layout")}});
    const OperandForms outputs = {tensor("output", kData)};
    return {{V1_2, join({tensors, implicit, implicitPadding(), scalars}), outputs},
            {V1_2, join({tensors, explicitPadding(), scalars}), outputs}};
}

Status validateTransposeConv(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("output_shape"), 1));
    return validate<0>(view);
}

// The operands that all of them have, read in the order of their inputs.
struct Attributes {
    engine::Window2d window;
    engine::Activation activation = engine::Activation::NONE;
    bool nchw = false;
};

Result<Attributes> readAttributes(const Lowering& lowering) {
    Attributes attributes;
    HALYARD_ASSIGN_OR_RETURN(attributes.window, readWindow(lowering));
    HALYARD_ASSIGN_OR_RETURN(attributes.activation, lowering.activation("activation"));
    HALYARD_ASSIGN_OR_RETURN(attributes.nchw, lowering.isNchw("layout"));
    return attributes;
}

Status addNodes(Lowering& lowering, engine::NodeDescriptor node, bool nchw) {
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId input, lowering.nhwcInput(nchw));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId filter, lowering.input("filter"));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId bias, lowering.input("bias"));
    return lowering.addNhwcNode(std::move(node), {input, filter, bias}, nchw);
}

Status lowerConv(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(Attributes attributes, readAttributes(lowering));
    HALYARD_RETURN_IF_ERROR(readDilations(lowering, attributes.window));
    return addNodes(
            lowering,
            engine::Conv2d{.window = attributes.window, .activation = attributes.activation},
            attributes.nchw);
}

Status lowerDepthwiseConv(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(Attributes attributes, readAttributes(lowering));
    HALYARD_RETURN_IF_ERROR(readDilations(lowering, attributes.window));
    HALYARD_ASSIGN_OR_RETURN(const int32_t multiplier,
                             lowering.int32AtLeast("depth_multiplier", 1));
    return addNodes(lowering,
                    engine::DepthwiseConv2d{.window = attributes.window,
                                            .multiplier = multiplier,
                                            .activation = attributes.activation},
                    attributes.nchw);
}

Status lowerGroupedConv(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const Attributes attributes, readAttributes(lowering));
    HALYARD_ASSIGN_OR_RETURN(const int32_t groups, lowering.int32AtLeast("groups", 1));
    return addNodes(lowering,
                    engine::Conv2d{.window = attributes.window,
                                   .groups = groups,
                                   .activation = attributes.activation},
                    attributes.nchw);
}

Status lowerTransposeConv(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const Attributes attributes, readAttributes(lowering));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId input, lowering.nhwcInput(attributes.nchw));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId filter, lowering.input("filter"));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId bias, lowering.input("bias"));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId shape,
                             lowering.nhwcShape("output_shape", attributes.nchw));
    return lowering.addNhwcNode(engine::TransposeConv2d{.window = attributes.window,
                                                        .activation = attributes.activation},
                                {input, filter, bias, shape}, attributes.nchw);
}

}  // namespace

std::vector<OperationDefinition> convolutionOperations() {
    return {
            {.type = OperationType::CONV_2D,
             .forms = forms({}),
             .rows = rows(),
             .validate = validate<0>,
             .lower = lowerConv},
            {.type = OperationType::DEPTHWISE_CONV_2D,
             .forms = forms({int32("depth_multiplier")}),
             .rows = rows(),
             .validate = validate<3>,
             .lower = lowerDepthwiseConv},
            {.type = OperationType::GROUPED_CONV_2D,
             .forms = laterForms({}, {int32("groups")}),
             .rows = rows(),
             .validate = validate<0>,
             .lower = lowerGroupedConv},
            {.type = OperationType::TRANSPOSE_CONV_2D,
             .forms = laterForms({int32Tensor("output_shape")}, {}),
             .rows = rows(),
             .validate = validateTransposeConv,
             .lower = lowerTransposeConv},
    };
}

}  // namespace halyard::driver
