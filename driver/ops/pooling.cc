// SPDX-License-Identifier: Apache-2.0
//
// AVERAGE_POOL_2D and MAX_POOL_2D. Their inputs are, in order:
//   input,
//   padding: left, right, top, bottom (explicit) or one scheme code (implicit),
//   stride width, stride height, filter width, filter height, activation,
//   and from 1.2 on: layout (true: NCHW).

#include <algorithm>

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"
#include "driver/ops/window.h"

namespace halyard::driver {
namespace {

constexpr size_t kInput = 0;
constexpr size_t kPadding = 1;
constexpr size_t kOutput = 0;

// Scalars after the input and before the layout.
constexpr size_t kImplicit = 6;
constexpr size_t kExplicit = 9;

std::vector<Signature> signatures() {
    std::vector<Signature> forms;
    for (const ElementType& type : kElementTypes) {
        for (const size_t scalars : {kImplicit, kExplicit}) {
            Signature form = {
                    .since = type.since, .inputs = {type.tensor}, .outputs = {type.tensor}};
            form.inputs.insert(form.inputs.end(), scalars, OperandType::INT32);
            forms.push_back(form);
            form.since = std::max(type.since, HalVersion::V1_2);
            form.inputs.push_back(OperandType::BOOL);
            forms.push_back(form);
        }
    }
    return forms;
}

Status validate(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRank(view.inputs[kInput], 4));
    return requireSameQuantization(view.inputs[kInput], view.outputs[kOutput]);
}

template <engine::Pool2d::Function function>
Status lower(Lowering& lowering) {
    const bool isExplicit = lowering.inputCount() >= kPadding + kExplicit;
    engine::Pool2d node;
    node.function = function;
    size_t position = kPadding;
    HALYARD_ASSIGN_OR_RETURN(node.window, readWindow(lowering, isExplicit, position));
    HALYARD_ASSIGN_OR_RETURN(node.filterW, lowering.int32AtLeast(position++, "filter width", 1));
    HALYARD_ASSIGN_OR_RETURN(node.filterH, lowering.int32AtLeast(position++, "filter height", 1));
    HALYARD_ASSIGN_OR_RETURN(node.activation, lowering.activation(position++));
    HALYARD_ASSIGN_OR_RETURN(const bool nchw, lowering.isNchw(position));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId input, lowering.nhwcInput(nchw));
    return lowering.addNhwcNode(node, {input}, nchw);
}

}  // namespace

std::vector<OperationDefinition> poolingOperations() {
    return {
            {.type = OperationType::AVERAGE_POOL_2D,
             .signatures = signatures(),
             .validate = validate,
             .lower = lower<engine::Pool2d::Function::AVERAGE>},
            {.type = OperationType::MAX_POOL_2D,
             .signatures = signatures(),
             .validate = validate,
             .lower = lower<engine::Pool2d::Function::MAX>},
    };
}

}  // namespace halyard::driver
