// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

constexpr size_t kInput = 0;
constexpr size_t kBeta = 1;
constexpr size_t kAxis = 2;  // from 1.2; otherwise the last axis
constexpr size_t kOutput = 0;

std::vector<Signature> signatures() {
    std::vector<Signature> forms;
    for (const ElementType& type : kElementTypes) {
        forms.push_back({.since = type.since,
                         .inputs = {type.tensor, type.scalar},
                         .outputs = {type.tensor}});
        forms.push_back({.since = std::max(type.since, HalVersion::V1_2),
                         .inputs = {type.tensor, type.scalar, OperandType::INT32},
                         .outputs = {type.tensor}});
    }
    return forms;
}

Status validate(const OperationView& view) {
    const OperandView& input = view.inputs[kInput];
    HALYARD_RETURN_IF_ERROR(requireRankAtMost(input, 4));
    const size_t rank = input.operand->dimensions.size();
    if (view.version < HalVersion::V1_2 && rank != 2 && rank != 4) {
        return invalidArgument("before HAL 1.2 " + input.name() + " has rank 2 or 4, not " +
                               std::to_string(rank));
    }
    return requireProbabilityQuantization(view.outputs[kOutput]);
}

Status lower(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const float beta, lowering.real(kBeta, "beta"));
    if (!(beta > 0.0F)) {
        return invalidArgument("beta is not positive");
    }
    int32_t axis = -1;
    if (kAxis < lowering.inputCount()) {
        HALYARD_ASSIGN_OR_RETURN(axis, lowering.int32(kAxis, "axis"));
    }
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId input, lowering.inputTensor(kInput));
    const engine::Shape& shape = lowering.typeOf(input).shape;
    if (!shape.hasKnownRank()) {
        return unsupported("the rank of the input is not known when the model is prepared");
    }
    const auto rank = static_cast<int32_t>(shape.rank());
    if (axis < -rank || axis >= rank) {
        return invalidArgument("axis " + std::to_string(axis) + " is outside the input's rank " +
                               std::to_string(rank));
    }
    return lowering.addUnaryNode(
            engine::Softmax{.beta = beta, .axis = axis < 0 ? axis + rank : axis});
}

}  // namespace

std::vector<OperationDefinition> softmaxOperations() {
    return {{.type = OperationType::SOFTMAX,
             .signatures = signatures(),
             .validate = validate,
             .lower = lower}};
}

}  // namespace halyard::driver
