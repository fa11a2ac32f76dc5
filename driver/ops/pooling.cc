// SPDX-License-Identifier: Apache-2.0
//
// AVERAGE_POOL_2D, MAX_POOL_2D, L2_POOL_2D.

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"
#include "driver/ops/window.h"

namespace halyard::driver {
namespace {

std::vector<Form> forms() {
    const OperandForms outputs = {tensor("output", kTensor)};
    std::vector<Form> forms;
    for (const OperandForms& padding : {implicitPadding(), explicitPadding()}) {
        const OperandForms shared =
                join({{tensor("input", kTensor)},
                      padding,
                      strides(),
                      {int32("filter_width"), int32("filter_height"), int32("activation")}});
        forms.push_back({HalVersion::V1_0, shared, outputs});
        forms.push_back({HalVersion::V1_2, join({shared, {boolean("layout")}}), outputs});
    }
    return forms;
}

Status validate(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("input"), 4));
    return requireSameQuantization(view.input("input"), view.output("output"));
}

template <engine::Pool2d::Function function>
Status lower(Lowering& lowering) {
    engine::Pool2d node;
    node.function = function;
    HALYARD_ASSIGN_OR_RETURN(node.window, readWindow(lowering));
    HALYARD_ASSIGN_OR_RETURN(node.filterW, lowering.int32AtLeast("filter_width", 1));
    HALYARD_ASSIGN_OR_RETURN(node.filterH, lowering.int32AtLeast("filter_height", 1));
    HALYARD_ASSIGN_OR_RETURN(node.activation, lowering.activation("activation"));
    HALYARD_ASSIGN_OR_RETURN(const bool nchw, lowering.isNchw("layout"));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId input, lowering.nhwcInput(nchw));
    return lowering.addNhwcNode(node, {input}, nchw);
}

}  // namespace

std::vector<OperationDefinition> poolingOperations() {
    return {
            {.type = OperationType::AVERAGE_POOL_2D,
             .forms = forms(),
             .rows = elementTypes(),
             .validate = validate,
             .lower = lower<engine::Pool2d::Function::AVERAGE>},
            {.type = OperationType::MAX_POOL_2D,
             .forms = forms(),
             .rows = elementTypes(),
             .validate = validate,
             .lower = lower<engine::Pool2d::Function::MAX>},
            {.type = OperationType::L2_POOL_2D,
             .forms = forms(),
             .rows = {{HalVersion::V1_0, {OperandType::TENSOR_FLOAT32}},
                      {HalVersion::V1_2, {OperandType::TENSOR_FLOAT16}}},
             .validate = validate,
             .lower = lower<engine::Pool2d::Function::L2>},
    };
}

}  // namespace halyard::driver
