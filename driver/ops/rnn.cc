// SPDX-License-Identifier: Apache-2.0
//
// RNN: one step of a cell without gates. UNIDIRECTIONAL_SEQUENCE_RNN: as many as the input has.
// SVDF: a layer whose weights are split into features and time.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

using enum HalVersion;
using enum OperandType;

std::vector<TypeRow> floatTypes(HalVersion since) {
    return {{since, {TENSOR_FLOAT32}}, {V1_2, {TENSOR_FLOAT16}}};
}

OperandForms cellForms() {
    return {tensor("input", kTensor),
            tensor("weights", kTensor),
            tensor("recurrent_weights", kTensor),
            tensor("bias", kTensor),
            tensor("hidden_state", kTensor),
            int32("activation")};
}

Status validateCell(const OperationView& view) {
    for (const std::string_view matrix : {"weights", "recurrent_weights", "hidden_state"}) {
        HALYARD_RETURN_IF_ERROR(requireRank(view.input(matrix), 2));
    }
    return requireRank(view.input("bias"), 1);
}

Status validateRnn(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("input"), 2));
    return validateCell(view);
}

Status lowerRnn(Lowering& lowering) {
    engine::Rnn node;
    HALYARD_ASSIGN_OR_RETURN(node.activation, lowering.activation("activation"));
    return lowering.addNodeOf(node,
                              {"input", "weights", "recurrent_weights", "bias", "hidden_state"},
                              {"hidden_state", "output"});
}

Status validateSequence(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("input"), 3));
    return validateCell(view);
}

Status lowerSequence(Lowering& lowering) {
    engine::RnnSequence node;
    HALYARD_ASSIGN_OR_RETURN(node.activation, lowering.activation("activation"));
    HALYARD_ASSIGN_OR_RETURN(const int32_t timeMajor, lowering.int32("time_major"));
    if (timeMajor != 0 && timeMajor != 1) {
        return invalidArgument(lowering.view().input("time_major").name() + " is " +
                               std::to_string(timeMajor) + ", not 0 or 1");
    }
    node.timeMajor = timeMajor == 1;
    std::vector<engine::TensorId> inputs;
    for (const std::string_view name :
         {"input", "weights", "recurrent_weights", "bias", "hidden_state"}) {
        HALYARD_ASSIGN_OR_RETURN(const engine::TensorId input, lowering.input(name));
        inputs.push_back(input);
    }
    inputs.resize(std::size(engine::RnnSequence::kInputs), engine::kNoTensor);
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId output, lowering.output("output"));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId state,
                             lowering.outputOrTemporary("hidden_state", output));
    lowering.addNode(node, std::move(inputs), std::vector<engine::TensorId>{output, state});
    return {};
}

Status validateSvdf(const OperationView& view) {
    for (const std::string_view matrix : {"input", "weights_feature", "weights_time", "state"}) {
        HALYARD_RETURN_IF_ERROR(requireRank(view.input(matrix), 2));
    }
    return {};
}

Status lowerSvdf(Lowering& lowering) {
    engine::Svdf node;
    HALYARD_ASSIGN_OR_RETURN(node.rank, lowering.int32AtLeast("rank", 1));
    HALYARD_ASSIGN_OR_RETURN(node.activation, lowering.activation("activation"));
    return lowering.addNodeOf(node, {"input", "weights_feature", "weights_time", "bias", "state"},
                              {"state", "output"});
}

}  // namespace

std::vector<OperationDefinition> rnnOperations() {
    const OperandForms sequence = join({cellForms(), {int32("time_major")}});
    const OperandForms output = {tensor("output", kTensor)};
    return {
            {.type = OperationType::RNN,
             .forms = {{V1_0,
                        cellForms(),
                        {tensor("hidden_state", kTensor), tensor("output", kTensor)}}},
             .rows = floatTypes(V1_0),
             .validate = validateRnn,
             .lower = lowerRnn},
            {.type = OperationType::SVDF,
             .forms = {{V1_0,
                        {tensor("input", kTensor), tensor("weights_feature", kTensor),
                         tensor("weights_time", kTensor), tensor("bias", kTensor).orOmitted(),
                         tensor("state", kTensor), int32("rank"), int32("activation")},
                        {tensor("state", kTensor), tensor("output", kTensor)}}},
             .rows = floatTypes(V1_0),
             .validate = validateSvdf,
             .lower = lowerSvdf},
            {.type = OperationType::UNIDIRECTIONAL_SEQUENCE_RNN,
             .forms = {{V1_2, sequence, output},
                       {V1_3, sequence, join({output, {tensor("hidden_state", kTensor)}})}},
             .rows = floatTypes(V1_2),
             .validate = validateSequence,
             .lower = lowerSequence},
    };
}

}  // namespace halyard::driver
