// SPDX-License-Identifier: Apache-2.0
//
// LSTM, QUANTIZED_16BIT_LSTM, QUANTIZED_LSTM: one step of a cell. UNIDIRECTIONAL_SEQUENCE_LSTM: as
// many as the input has. Without the weights and the bias of the input gate, that gate is the
// forget gate's complement (CIFG); without the cell's own weights there are no peepholes; without
// projection weights the output is the cell's activation; without layer norm weights nothing is
// normalised.

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/lstm.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

using enum HalVersion;
using enum OperandType;

constexpr Column kData{0};
constexpr Column kReal{1};

// ---- LSTM ---------------------------------------------------------------------------------------

OperandForms lstmInputForms() {
    return {
            tensor("input", kData),
            tensor("input_to_input_weights", kData).orOmitted(),
            tensor("input_to_forget_weights", kData),
            tensor("input_to_cell_weights", kData),
            tensor("input_to_output_weights", kData),
            tensor("recurrent_to_input_weights", kData).orOmitted(),
            tensor("recurrent_to_forget_weights", kData),
            tensor("recurrent_to_cell_weights", kData),
            tensor("recurrent_to_output_weights", kData),
            tensor("cell_to_input_weights", kData).orOmitted(),
            tensor("cell_to_forget_weights", kData).orOmitted(),
            tensor("cell_to_output_weights", kData).orOmitted(),
            tensor("input_gate_bias", kData).orOmitted(),
            tensor("forget_gate_bias", kData),
            tensor("cell_bias", kData),
            tensor("output_gate_bias", kData),
            tensor("projection_weights", kData).orOmitted(),
            tensor("projection_bias", kData).orOmitted(),
            tensor("output_state", kData),
            tensor("cell_state", kData),
            int32("activation"),
            real("cell_clip", kReal),
            real("projection_clip", kReal),
    };
}

OperandForms layerNormForms() {
    return {
            tensor("input_layer_norm_weights", kData).orOmitted(),
            tensor("forget_layer_norm_weights", kData).orOmitted(),
            tensor("cell_layer_norm_weights", kData).orOmitted(),
            tensor("output_layer_norm_weights", kData).orOmitted(),
    };
}

std::vector<Form> lstmForms() {
    const OperandForms first = lstmInputForms();
    const OperandForms outputs = {tensor("scratch", kData), tensor("output_state", kData),
                                  tensor("cell_state", kData), tensor("output", kData)};
    return {{V1_0, first, outputs}, {V1_2, join({first, layerNormForms()}), outputs}};
}

// The rank of an omittable operand is not checked: a request may omit it, too.
Status requireRanks(const OperationView& view, std::initializer_list<std::string_view> matrices,
                    std::initializer_list<std::string_view> vectors) {
    for (const std::string_view name : matrices) {
        HALYARD_RETURN_IF_ERROR(requireRank(view.input(name), 2));
    }
    for (const std::string_view name : vectors) {
        HALYARD_RETURN_IF_ERROR(requireRank(view.input(name), 1));
    }
    return {};
}

// Of LSTM and QUANTIZED_LSTM.
Status validateLstm(const OperationView& view) {
    return requireRanks(
            view,
            {"input", "input_to_forget_weights", "input_to_cell_weights", "input_to_output_weights",
             "recurrent_to_forget_weights", "recurrent_to_cell_weights",
             "recurrent_to_output_weights", "output_state", "cell_state"},
            {"forget_gate_bias", "cell_bias", "output_gate_bias"});
}

// The tensors of LSTM and QUANTIZED_LSTM in the order of their nodes.
std::vector<std::string_view> lstmInputs() {
    return {"input",
            "input_to_input_weights",
            "input_to_forget_weights",
            "input_to_cell_weights",
            "input_to_output_weights",
            "recurrent_to_input_weights",
            "recurrent_to_forget_weights",
            "recurrent_to_cell_weights",
            "recurrent_to_output_weights",
            "cell_to_input_weights",
            "cell_to_forget_weights",
            "cell_to_output_weights",
            "input_gate_bias",
            "forget_gate_bias",
            "cell_bias",
            "output_gate_bias",
            "projection_weights",
            "projection_bias",
            "output_state",
            "cell_state",
            "input_layer_norm_weights",
            "forget_layer_norm_weights",
            "cell_layer_norm_weights",
            "output_layer_norm_weights"};
}

Status lowerLstm(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const engine::LstmAttributes attributes, readLstmAttributes(lowering));
    return lowering.addNodeOf(engine::Lstm{.attributes = attributes}, lstmInputs(),
                              {"scratch", "output_state", "cell_state", "output"});
}

// ---- UNIDIRECTIONAL_SEQUENCE_LSTM ---------------------------------------------------------------

std::vector<Form> sequenceForms() {
    const OperandForms inputs = join({lstmInputForms(), {boolean("time_major")}, layerNormForms()});
    const OperandForms outputs = {tensor("output", kData)};
    const OperandForms states = {tensor("output_state", kData), tensor("cell_state", kData)};
    return {{V1_2, inputs, outputs}, {V1_3, inputs, join({outputs, states})}};
}

Status validateSequence(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("input"), 3));
    return requireRanks(
            view,
            {"input_to_forget_weights", "input_to_cell_weights", "input_to_output_weights",
             "recurrent_to_forget_weights", "recurrent_to_cell_weights",
             "recurrent_to_output_weights", "output_state", "cell_state"},
            {"forget_gate_bias", "cell_bias", "output_gate_bias"});
}

Status lowerSequence(Lowering& lowering) {
    engine::LstmSequence node;
    HALYARD_ASSIGN_OR_RETURN(node.attributes, readLstmAttributes(lowering));
    HALYARD_ASSIGN_OR_RETURN(node.timeMajor, lowering.boolean("time_major"));
    std::vector<engine::TensorId> inputs;
    for (const std::string_view name : lstmInputs()) {
        HALYARD_ASSIGN_OR_RETURN(const engine::TensorId input, lowering.input(name));
        inputs.push_back(input);
    }
    inputs.resize(std::size(engine::LstmSequence::kInputs), engine::kNoTensor);
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId output, lowering.output("output"));
    std::vector<engine::TensorId> outputs = {output};
    for (const std::string_view name : {"output_state", "cell_state"}) {
        // The first form does not give the states away.
        HALYARD_ASSIGN_OR_RETURN(const engine::TensorId state,
                                 lowering.outputOrTemporary(name, output));
        outputs.push_back(state);
    }
    lowering.addNode(node, std::move(inputs), std::move(outputs));
    return {};
}

// ---- QUANTIZED_16BIT_LSTM -----------------------------------------------------------------------

constexpr std::array<std::string_view, 8> kWeights16 = {
        "input_to_input_weights",    "input_to_forget_weights",    "input_to_cell_weights",
        "input_to_output_weights",   "recurrent_to_input_weights", "recurrent_to_forget_weights",
        "recurrent_to_cell_weights", "recurrent_to_output_weights"};
constexpr std::array<std::string_view, 4> kBiases16 = {"input_gate_bias", "forget_gate_bias",
                                                       "cell_bias", "output_gate_bias"};

std::vector<Form> quantized16BitForms() {
    OperandForms inputs = {tensor("input", TENSOR_QUANT8_ASYMM)};
    for (const std::string_view weights : kWeights16) {
        inputs.push_back(tensor(weights, TENSOR_QUANT8_ASYMM));
    }
    for (const std::string_view bias : kBiases16) {
        inputs.push_back(int32Tensor(bias));
    }
    inputs.push_back(tensor("cell_state", TENSOR_QUANT16_SYMM));
    inputs.push_back(tensor("output_state", TENSOR_QUANT8_ASYMM));
    return {{V1_2,
             inputs,
             {tensor("cell_state", TENSOR_QUANT16_SYMM), tensor("output", TENSOR_QUANT8_ASYMM)}}};
}

Status validateQuantized16Bit(const OperationView& view) {
    // From -1 to 127 / 128, and from -16 to 16 * 32767 / 32768.
    constexpr float kValueScale = 1.0F / 128.0F;
    constexpr float kCellScale = 1.0F / 2048.0F;
    for (const OperandView* value :
         {&view.input("input"), &view.input("output_state"), &view.output("output")}) {
        HALYARD_RETURN_IF_ERROR(requireRank(*value, 2));
        HALYARD_RETURN_IF_ERROR(requireQuantization(*value, kValueScale, 128));
    }
    for (const OperandView* cell : {&view.input("cell_state"), &view.output("cell_state")}) {
        HALYARD_RETURN_IF_ERROR(requireRank(*cell, 2));
        HALYARD_RETURN_IF_ERROR(requireQuantization(*cell, kCellScale, 0));
    }
    const OperandView& first = view.input(kWeights16.front());
    for (const std::string_view weights : kWeights16) {
        HALYARD_RETURN_IF_ERROR(requireRank(view.input(weights), 2));
        HALYARD_RETURN_IF_ERROR(requireSameQuantization(first, view.input(weights)));
    }
    for (const std::string_view bias : kBiases16) {
        HALYARD_RETURN_IF_ERROR(requireRank(view.input(bias), 1));
        HALYARD_RETURN_IF_ERROR(requireBiasScale(view.input("input"), first, view.input(bias)));
    }
    return {};
}

Status lowerQuantized16Bit(Lowering& lowering) {
    return lowering.addNodeOf(
            engine::Quantized16BitLstm{},
            {"input", "input_to_input_weights", "input_to_forget_weights", "input_to_cell_weights",
             "input_to_output_weights", "recurrent_to_input_weights", "recurrent_to_forget_weights",
             "recurrent_to_cell_weights", "recurrent_to_output_weights", "input_gate_bias",
             "forget_gate_bias", "cell_bias", "output_gate_bias", "cell_state", "output_state"},
            {"cell_state", "output"});
}

// ---- QUANTIZED_LSTM -----------------------------------------------------------------------------

std::vector<Form> quantizedForms() {
    const auto weights = [](std::string_view name) { return tensor(name, TENSOR_QUANT8_SYMM); };
    const auto peephole = [](std::string_view name) {
        return tensor(name, TENSOR_QUANT16_SYMM).orOmitted();
    };
    return {{V1_3,
             {tensor("input", TENSOR_QUANT8_ASYMM_SIGNED),
              weights("input_to_input_weights").orOmitted(),
              weights("input_to_forget_weights"),
              weights("input_to_cell_weights"),
              weights("input_to_output_weights"),
              weights("recurrent_to_input_weights").orOmitted(),
              weights("recurrent_to_forget_weights"),
              weights("recurrent_to_cell_weights"),
              weights("recurrent_to_output_weights"),
              peephole("cell_to_input_weights"),
              peephole("cell_to_forget_weights"),
              peephole("cell_to_output_weights"),
              int32Tensor("input_gate_bias").orOmitted(),
              int32Tensor("forget_gate_bias"),
              int32Tensor("cell_bias"),
              int32Tensor("output_gate_bias"),
              weights("projection_weights").orOmitted(),
              int32Tensor("projection_bias").orOmitted(),
              tensor("output_state", TENSOR_QUANT8_ASYMM_SIGNED),
              tensor("cell_state", TENSOR_QUANT16_SYMM),
              tensor("input_layer_norm_weights", TENSOR_QUANT16_SYMM).orOmitted(),
              tensor("forget_layer_norm_weights", TENSOR_QUANT16_SYMM).orOmitted(),
              tensor("cell_layer_norm_weights", TENSOR_QUANT16_SYMM).orOmitted(),
              tensor("output_layer_norm_weights", TENSOR_QUANT16_SYMM).orOmitted(),
              float32("cell_clip"),
              float32("projection_clip"),
              float32("input_intermediate_scale"),
              float32("forget_intermediate_scale"),
              float32("cell_intermediate_scale"),
              float32("output_intermediate_scale"),
              int32("hidden_state_zero_point"),
              float32("hidden_state_scale")},
             {tensor("output_state", TENSOR_QUANT8_ASYMM_SIGNED),
              tensor("cell_state", TENSOR_QUANT16_SYMM),
              tensor("output", TENSOR_QUANT8_ASYMM_SIGNED)}}};
}

Status lowerQuantized(Lowering& lowering) {
    engine::QuantizedLstm node;
    HALYARD_ASSIGN_OR_RETURN(node.cellClip, lowering.realAtLeast("cell_clip", 0.0F));
    HALYARD_ASSIGN_OR_RETURN(node.projectionClip, lowering.realAtLeast("projection_clip", 0.0F));
    HALYARD_ASSIGN_OR_RETURN(node.inputIntermediateScale,
                             lowering.real("input_intermediate_scale"));
    HALYARD_ASSIGN_OR_RETURN(node.forgetIntermediateScale,
                             lowering.real("forget_intermediate_scale"));
    HALYARD_ASSIGN_OR_RETURN(node.cellIntermediateScale, lowering.real("cell_intermediate_scale"));
    HALYARD_ASSIGN_OR_RETURN(node.outputIntermediateScale,
                             lowering.real("output_intermediate_scale"));
    HALYARD_ASSIGN_OR_RETURN(node.hiddenZeroPoint, lowering.int32("hidden_state_zero_point"));
    HALYARD_ASSIGN_OR_RETURN(node.hiddenScale, lowering.real("hidden_state_scale"));
    return lowering.addNodeOf(node, lstmInputs(), {"output_state", "cell_state", "output"});
}

}  // namespace

std::vector<OperationDefinition> recurrentOperations() {
    return {
            {.type = OperationType::LSTM,
             .forms = lstmForms(),
             .rows = {{V1_0, {TENSOR_FLOAT32, FLOAT32}}, {V1_2, {TENSOR_FLOAT16, FLOAT16}}},
             .validate = validateLstm,
             .lower = lowerLstm},
            {.type = OperationType::UNIDIRECTIONAL_SEQUENCE_LSTM,
             .forms = sequenceForms(),
             .rows = {{V1_2, {TENSOR_FLOAT32, FLOAT32}}, {V1_2, {TENSOR_FLOAT16, FLOAT16}}},
             .validate = validateSequence,
             .lower = lowerSequence},
            {.type = OperationType::QUANTIZED_16BIT_LSTM,
             .forms = quantized16BitForms(),
             .rows = {{V1_2, {}}},
             .validate = validateQuantized16Bit,
             .lower = lowerQuantized16Bit},
            {.type = OperationType::QUANTIZED_LSTM,
             .forms = quantizedForms(),
             .rows = {{V1_3, {}}},
             .validate = validateLstm,
             .lower = lowerQuantized},
    };
}

}  // namespace halyard::driver
