// SPDX-License-Identifier: Apache-2.0
//
// BIDIRECTIONAL_SEQUENCE_RNN, BIDIRECTIONAL_SEQUENCE_LSTM: a sequence of steps forwards and one
// backwards over the same input, each with weights and states of its own. Merged, what they give
// lies side by side in one output. An auxiliary input is weighed by the auxiliary weights of both;
// without them it is what the backward sequence reads instead of the input. The states are outputs
// since 1.3.

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/lstm.h"
#include "driver/ops/rules.h"
#include "engine/graph/recurrence.h"

namespace halyard::driver {
namespace {

using enum HalVersion;
using enum OperandType;
using engine::TensorId;

// One of the two sequences.
struct Direction {
    std::span<const std::string_view> inputs;  // in the order of its node's
    std::string_view output;
    std::vector<std::string_view> states;  // outputs, in the order of the node's
};

// One form for each way to have the outputs.
std::vector<Form> formsOf(const OperandForms& inputs, const OperandForms& states) {
    const OperandForms merged = {tensor("fw_output", kTensor)};
    const OperandForms apart = {tensor("fw_output", kTensor), tensor("bw_output", kTensor)};
    return {{V1_2, inputs, merged},
            {V1_2, inputs, apart},
            {V1_3, inputs, join({merged, states})},
            {V1_3, inputs, join({apart, states})}};
}

// Both have auxiliary weights, or none has: a request may leave them out, too, and is not checked.
Status requireBothAuxWeights(const OperationView& view, std::string_view forward,
                             std::string_view backward) {
    if (view.has(forward) == view.has(backward)) {
        return {};
    }
    const std::string_view absent = view.has(forward) ? backward : forward;
    const std::string_view present = view.has(forward) ? forward : backward;
    return invalidArgument(view.input(absent).name() + " is omitted, but " +
                           view.input(present).name() + " is not");
}

// Adds a node for each direction, and what joins their outputs.
Status addBoth(Lowering& lowering, const std::array<Direction, 2>& directions,
               const std::array<engine::NodeDescriptor, 2>& nodes) {
    HALYARD_ASSIGN_OR_RETURN(const bool merge, lowering.boolean("merge_outputs"));
    HALYARD_ASSIGN_OR_RETURN(const TensorId backward, lowering.output("bw_output"));
    if (merge != (backward == engine::kNoTensor)) {
        return invalidArgument(lowering.view().input("merge_outputs").name() + " is " +
                               (merge ? "true, but there is an output for each direction"
                                      : "false, but there is one output for both directions"));
    }
    HALYARD_ASSIGN_OR_RETURN(const TensorId first, lowering.output("fw_output"));
    std::vector<TensorId> results;
    for (size_t i = 0; i < directions.size(); ++i) {
        const Direction& direction = directions[i];
        std::vector<TensorId> inputs;
        for (const std::string_view name : direction.inputs) {
            HALYARD_ASSIGN_OR_RETURN(const TensorId input, lowering.input(name));
            inputs.push_back(input);
        }
        engine::TensorType part = lowering.typeOf(first);
        part.shape = engine::Shape::unknownRank();
        TensorId result = merge ? lowering.addTemporary(std::move(part)) : engine::kNoTensor;
        if (!merge) {
            HALYARD_ASSIGN_OR_RETURN(result, lowering.output(direction.output));
        }
        std::vector<TensorId> outputs = {result};
        for (const std::string_view name : direction.states) {
            HALYARD_ASSIGN_OR_RETURN(const TensorId state, lowering.outputOrTemporary(name, first));
            outputs.push_back(state);
        }
        lowering.addNode(nodes[i], std::move(inputs), std::move(outputs));
        results.push_back(result);
    }
    if (merge) {
        lowering.addNode(engine::Concat{.axis = 2}, std::move(results), first);
    }
    return {};
}

// ---- BIDIRECTIONAL_SEQUENCE_RNN -----------------------------------------------------------------

constexpr std::string_view kForwardRnn[] = {
        "input",           "fw_weights", "fw_recurrent_weights", "fw_bias",
        "fw_hidden_state", "aux_input",  "fw_aux_weights"};
constexpr std::string_view kBackwardRnn[] = {
        "input",           "bw_weights", "bw_recurrent_weights", "bw_bias",
        "bw_hidden_state", "aux_input",  "bw_aux_weights"};
static_assert(std::size(kForwardRnn) == std::size(engine::RnnSequence::kInputs));
static_assert(std::size(kBackwardRnn) == std::size(engine::RnnSequence::kInputs));

std::vector<Form> rnnForms() {
    OperandForms inputs = {tensor("input", kTensor)};
    for (const auto& names : {kForwardRnn, kBackwardRnn}) {
        for (size_t i = 1; i < 5; ++i) {
            inputs.push_back(tensor(names[i], kTensor));
        }
    }
    for (const std::string_view name : {"aux_input", "fw_aux_weights", "bw_aux_weights"}) {
        inputs.push_back(tensor(name, kTensor).orOmitted());
    }
    inputs.push_back(int32("activation"));
    inputs.push_back(boolean("time_major"));
    inputs.push_back(boolean("merge_outputs"));
    return formsOf(inputs,
                   {tensor("fw_hidden_state", kTensor), tensor("bw_hidden_state", kTensor)});
}

Status validateRnn(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("input"), 3));
    for (const auto& names : {kForwardRnn, kBackwardRnn}) {
        for (const size_t matrix : {1, 2, 4}) {
            HALYARD_RETURN_IF_ERROR(requireRank(view.input(names[matrix]), 2));
        }
        HALYARD_RETURN_IF_ERROR(requireRank(view.input(names[3]), 1));
    }
    return requireBothAuxWeights(view, "fw_aux_weights", "bw_aux_weights");
}

Status lowerRnn(Lowering& lowering) {
    engine::RnnSequence forward;
    HALYARD_ASSIGN_OR_RETURN(forward.activation, lowering.activation("activation"));
    HALYARD_ASSIGN_OR_RETURN(forward.timeMajor, lowering.boolean("time_major"));
    engine::RnnSequence backward = forward;
    backward.backward = true;
    return addBoth(
            lowering,
            {Direction{.inputs = kForwardRnn, .output = "fw_output", .states = {"fw_hidden_state"}},
             Direction{
                     .inputs = kBackwardRnn, .output = "bw_output", .states = {"bw_hidden_state"}}},
            {forward, backward});
}

// ---- BIDIRECTIONAL_SEQUENCE_LSTM ----------------------------------------------------------------

constexpr Column kReal{1};

constexpr std::string_view kForwardLstm[] = {"input",
                                             "fw_input_to_input_weights",
                                             "fw_input_to_forget_weights",
                                             "fw_input_to_cell_weights",
                                             "fw_input_to_output_weights",
                                             "fw_recurrent_to_input_weights",
                                             "fw_recurrent_to_forget_weights",
                                             "fw_recurrent_to_cell_weights",
                                             "fw_recurrent_to_output_weights",
                                             "fw_cell_to_input_weights",
                                             "fw_cell_to_forget_weights",
                                             "fw_cell_to_output_weights",
                                             "fw_input_gate_bias",
                                             "fw_forget_gate_bias",
                                             "fw_cell_bias",
                                             "fw_output_gate_bias",
                                             "fw_projection_weights",
                                             "fw_projection_bias",
                                             "fw_output_state",
                                             "fw_cell_state",
                                             "fw_input_layer_norm_weights",
                                             "fw_forget_layer_norm_weights",
                                             "fw_cell_layer_norm_weights",
                                             "fw_output_layer_norm_weights",
                                             "aux_input",
                                             "fw_aux_to_input_weights",
                                             "fw_aux_to_forget_weights",
                                             "fw_aux_to_cell_weights",
                                             "fw_aux_to_output_weights"};
constexpr std::string_view kBackwardLstm[] = {"input",
                                              "bw_input_to_input_weights",
                                              "bw_input_to_forget_weights",
                                              "bw_input_to_cell_weights",
                                              "bw_input_to_output_weights",
                                              "bw_recurrent_to_input_weights",
                                              "bw_recurrent_to_forget_weights",
                                              "bw_recurrent_to_cell_weights",
                                              "bw_recurrent_to_output_weights",
                                              "bw_cell_to_input_weights",
                                              "bw_cell_to_forget_weights",
                                              "bw_cell_to_output_weights",
                                              "bw_input_gate_bias",
                                              "bw_forget_gate_bias",
                                              "bw_cell_bias",
                                              "bw_output_gate_bias",
                                              "bw_projection_weights",
                                              "bw_projection_bias",
                                              "bw_output_state",
                                              "bw_cell_state",
                                              "bw_input_layer_norm_weights",
                                              "bw_forget_layer_norm_weights",
                                              "bw_cell_layer_norm_weights",
                                              "bw_output_layer_norm_weights",
                                              "aux_input",
                                              "bw_aux_to_input_weights",
                                              "bw_aux_to_forget_weights",
                                              "bw_aux_to_cell_weights",
                                              "bw_aux_to_output_weights"};
static_assert(std::size(kForwardLstm) == std::size(engine::LstmSequence::kInputs));
static_assert(std::size(kBackwardLstm) == std::size(engine::LstmSequence::kInputs));

// Inputs first..last of both directions, those of the forward one first.
OperandForms lstmInputs(size_t first, size_t last) {
    OperandForms forms;
    for (const auto& names : {kForwardLstm, kBackwardLstm}) {
        for (size_t i = first; i <= last; ++i) {
            const bool omittable =
                    (engine::LstmSequence::kInputs[i].traits & engine::kOmittable) != 0;
            const OperandForm form = tensor(names[i], kTensor);
            forms.push_back(omittable ? form.orOmitted() : form);
        }
    }
    return forms;
}

std::vector<Form> lstmForms() {
    using namespace engine::lstm;
    const OperandForms states = lstmInputs(kOutputState, kCellState);
    const OperandForms inputs =
            join({{tensor("input", kTensor)},
                  lstmInputs(kInputToInputWeights, kProjectionBias),
                  states,
                  {tensor("aux_input", kTensor).orOmitted()},
                  lstmInputs(kAuxToInputWeights, kAuxToOutputWeights),
                  {int32("activation"), real("cell_clip", kReal), real("projection_clip", kReal),
                   boolean("merge_outputs"), boolean("time_major")},
                  lstmInputs(kInputLayerNormWeights, kOutputLayerNormWeights)});
    return formsOf(inputs, states);
}

// The rank of an omittable operand is not checked: a request may omit it, too.
Status validateLstm(const OperationView& view) {
    using namespace engine::lstm;
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("input"), 3));
    for (const auto& names : {kForwardLstm, kBackwardLstm}) {
        for (const size_t matrix :
             {kInputToForgetWeights, kInputToCellWeights, kInputToOutputWeights,
              kRecurrentToForgetWeights, kRecurrentToCellWeights, kRecurrentToOutputWeights,
              kOutputState, kCellState}) {
            HALYARD_RETURN_IF_ERROR(requireRank(view.input(names[matrix]), 2));
        }
        for (const size_t vector : {kForgetGateBias, kCellGateBias, kOutputGateBias}) {
            HALYARD_RETURN_IF_ERROR(requireRank(view.input(names[vector]), 1));
        }
    }
    return requireBothAuxWeights(view, kForwardLstm[kAuxToForgetWeights],
                                 kBackwardLstm[kAuxToForgetWeights]);
}

Status lowerLstm(Lowering& lowering) {
    engine::LstmSequence forward;
    HALYARD_ASSIGN_OR_RETURN(forward.attributes, readLstmAttributes(lowering));
    HALYARD_ASSIGN_OR_RETURN(forward.timeMajor, lowering.boolean("time_major"));
    engine::LstmSequence backward = forward;
    backward.backward = true;
    return addBoth(lowering,
                   {Direction{.inputs = kForwardLstm,
                              .output = "fw_output",
                              .states = {"fw_output_state", "fw_cell_state"}},
                    Direction{.inputs = kBackwardLstm,
                              .output = "bw_output",
                              .states = {"bw_output_state", "bw_cell_state"}}},
                   {forward, backward});
}

}  // namespace

std::vector<OperationDefinition> bidirectionalOperations() {
    return {
            {.type = OperationType::BIDIRECTIONAL_SEQUENCE_LSTM,
             .forms = lstmForms(),
             .rows = {{V1_2, {TENSOR_FLOAT32, FLOAT32}}, {V1_2, {TENSOR_FLOAT16, FLOAT16}}},
             .validate = validateLstm,
             .lower = lowerLstm},
            {.type = OperationType::BIDIRECTIONAL_SEQUENCE_RNN,
             .forms = rnnForms(),
             .rows = {{V1_2, {TENSOR_FLOAT32}}, {V1_2, {TENSOR_FLOAT16}}},
             .validate = validateRnn,
             .lower = lowerRnn},
    };
}

}  // namespace halyard::driver
