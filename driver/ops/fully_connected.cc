// SPDX-License-Identifier: Apache-2.0

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

constexpr size_t kInput = 0;
constexpr size_t kWeights = 1;
constexpr size_t kBias = 2;
constexpr size_t kActivation = 3;
constexpr size_t kOutput = 0;

std::vector<Signature> signatures() {
    std::vector<Signature> forms;
    for (const ElementType& type : kElementTypes) {
        const OperandType bias =
                isAsymmetric8Bit(type.tensor) ? OperandType::TENSOR_INT32 : type.tensor;
        forms.push_back({.since = type.since,
                         .inputs = {type.tensor, type.tensor, bias, OperandType::INT32},
                         .outputs = {type.tensor}});
    }
    return forms;
}

Status validate(const OperationView& view) {
    const OperandView& input = view.inputs[kInput];
    const OperandView& weights = view.inputs[kWeights];
    const OperandView& bias = view.inputs[kBias];
    HALYARD_RETURN_IF_ERROR(requireRankAtMost(input, 4));
    HALYARD_RETURN_IF_ERROR(requireRank(weights, 2));
    HALYARD_RETURN_IF_ERROR(requireRank(bias, 1));
    HALYARD_RETURN_IF_ERROR(requireBiasScale(input, weights, bias));
    return requireCoarserOutput(view, input, weights, view.outputs[kOutput]);
}

Status lower(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const engine::Activation activation, lowering.activation(kActivation));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId input, lowering.inputTensor(kInput));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId weights, lowering.inputTensor(kWeights));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId bias, lowering.inputTensor(kBias));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId output, lowering.outputTensor(kOutput));
    lowering.addNode(engine::FullyConnected{.activation = activation}, {input, weights, bias},
                     output);
    return {};
}

}  // namespace

std::vector<OperationDefinition> fullyConnectedOperations() {
    return {{.type = OperationType::FULLY_CONNECTED,
             .signatures = signatures(),
             .validate = validate,
             .lower = lower}};
}

}  // namespace halyard::driver
