// SPDX-License-Identifier: Apache-2.0
//
// ADD, MUL: two tensors of one type, broadcast against each other, with a fused activation.

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

constexpr size_t kA = 0;
constexpr size_t kB = 1;
constexpr size_t kActivation = 2;
constexpr size_t kOutput = 0;

std::vector<Signature> signatures() {
    std::vector<Signature> forms;
    forms.reserve(kElementTypes.size() + 1);
    for (const ElementType& type : kElementTypes) {
        forms.push_back({.since = type.since,
                         .inputs = {type.tensor, type.tensor, OperandType::INT32},
                         .outputs = {type.tensor}});
    }
    forms.push_back(
            {.since = HalVersion::V1_3,
             .inputs = {OperandType::TENSOR_INT32, OperandType::TENSOR_INT32, OperandType::INT32},
             .outputs = {OperandType::TENSOR_INT32}});
    return forms;
}

Status validate(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRankAtMost(view.inputs[kA], 4));
    return requireRankAtMost(view.inputs[kB], 4);
}

template <engine::Binary::Function function>
Status lower(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const engine::Activation activation, lowering.activation(kActivation));
    if (lowering.input(kA).type == OperandType::TENSOR_INT32 &&
        activation != engine::Activation::NONE) {
        return invalidArgument("with TENSOR_INT32 the activation is NONE");
    }
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId a, lowering.inputTensor(kA));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId b, lowering.inputTensor(kB));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId output, lowering.outputTensor(kOutput));
    lowering.addNode(engine::Binary{.function = function, .activation = activation}, {a, b},
                     output);
    return {};
}

}  // namespace

std::vector<OperationDefinition> elementwiseOperations() {
    return {
            {.type = OperationType::ADD,
             .signatures = signatures(),
             .validate = validate,
             .lower = lower<engine::Binary::Function::ADD>},
            {.type = OperationType::MUL,
             .signatures = signatures(),
             .validate = validate,
             .lower = lower<engine::Binary::Function::MUL>},
    };
}

}  // namespace halyard::driver
