// SPDX-License-Identifier: Apache-2.0
//
// RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR: to a size, or by a scale.

#include <cmath>
#include <string>

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

using enum HalVersion;
using enum OperandType;

std::vector<TypeRow> rows() {
    return {{V1_0, {TENSOR_FLOAT32, FLOAT32}},
            {V1_2, {TENSOR_FLOAT16, FLOAT16}},
            {V1_2, {TENSOR_QUANT8_ASYMM, FLOAT32}},
            {V1_3, {TENSOR_QUANT8_ASYMM_SIGNED, FLOAT32}}};
}

// The layout, and what 1.3 adds, may be missing from the end on.
std::vector<Form> formsFrom(HalVersion since, const OperandForms& size, bool needsLayout) {
    const OperandForms output = {tensor("output", kTensor)};
    OperandForms inputs = join({{tensor("input", kTensor)}, size});
    std::vector<Form> forms;
    if (!needsLayout) {
        forms.push_back({since, inputs, output});
    }
    inputs.push_back(boolean("layout"));
    forms.push_back({V1_2, inputs, output});
    inputs.push_back(boolean("align_corners"));
    forms.push_back({V1_3, inputs, output});
    inputs.push_back(boolean("half_pixel_centers"));
    forms.push_back({V1_3, inputs, output});
    return forms;
}

std::vector<Form> forms(bool needsLayout) {
    std::vector<Form> forms = formsFrom(V1_0, {int32("width"), int32("height")}, needsLayout);
    for (const Form& form :
         formsFrom(V1_2, {real("width_scale", kScalar), real("height_scale", kScalar)},
                   needsLayout)) {
        forms.push_back(form);
    }
    return forms;
}

Status validate(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("input"), 4));
    return requireSameQuantization(view.input("input"), view.output("output"));
}

Result<float> readScale(const Lowering& lowering, std::string_view name) {
    HALYARD_ASSIGN_OR_RETURN(const float scale, lowering.real(name));
    if (!(scale > 0.0F) || !std::isfinite(scale)) {
        return invalidArgument(lowering.view().input(name).name() + " is " + std::to_string(scale) +
                               ", not positive and finite");
    }
    return scale;
}

// False where the form lacks it.
Result<bool> readFlag(const Lowering& lowering, std::string_view name) {
    return lowering.has(name) ? lowering.boolean(name) : false;
}

template <engine::Resize::Function function>
Status lower(Lowering& lowering) {
    engine::Resize node;
    node.function = function;
    if (lowering.has("width_scale")) {
        HALYARD_ASSIGN_OR_RETURN(node.widthScale, readScale(lowering, "width_scale"));
        HALYARD_ASSIGN_OR_RETURN(node.heightScale, readScale(lowering, "height_scale"));
    } else {
        HALYARD_ASSIGN_OR_RETURN(node.width, lowering.int32AtLeast("width", 1));
        HALYARD_ASSIGN_OR_RETURN(node.height, lowering.int32AtLeast("height", 1));
    }
    HALYARD_ASSIGN_OR_RETURN(node.alignCorners, readFlag(lowering, "align_corners"));
    HALYARD_ASSIGN_OR_RETURN(node.halfPixelCenters, readFlag(lowering, "half_pixel_centers"));
    HALYARD_ASSIGN_OR_RETURN(const bool nchw, lowering.isNchw("layout"));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId input, lowering.nhwcInput(nchw));
    return lowering.addNhwcNode(node, {input}, nchw);
}

}  // namespace

std::vector<OperationDefinition> resizeOperations() {
    return {
            {.type = OperationType::RESIZE_BILINEAR,
             .forms = forms(false),
             .rows = rows(),
             .validate = validate,
             .lower = lower<engine::Resize::Function::BILINEAR>},
            {.type = OperationType::RESIZE_NEAREST_NEIGHBOR,
             .forms = forms(true),
             .rows = rows(),
             .validate = validate,
             .lower = lower<engine::Resize::Function::NEAREST>},
    };
}

}  // namespace halyard::driver
