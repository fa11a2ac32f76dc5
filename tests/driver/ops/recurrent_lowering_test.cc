// SPDX-License-Identifier: Apache-2.0
//
// The nodes that recurrent operations become.

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/driver/ops/lowered_graph.h"

namespace halyard::driver {
namespace {

using enum OperandType;

struct LstmScalars {
    int32_t activation = 4;
    float cellClip = 0.0F;
    float projectionClip = 0.0F;
};

// `half`: of FLOAT16, scalars included.
OperationModel lstm(const std::string& present, bool layerNorm, const LstmScalars& scalars = {},
                    bool half = false) {
    const OperandSpec tensor = {half ? TENSOR_FLOAT16 : TENSOR_FLOAT32, {}};
    OperationModel model(OperationType::LSTM);
    const auto add = [&](char mark) { mark == '-' ? model.omitted(tensor) : model.input(tensor); };
    std::for_each(present.begin(), present.begin() + 20, add);
    model.int32(scalars.activation);
    for (const float clip : {scalars.cellClip, scalars.projectionClip}) {
        half ? model.float16(clip) : model.float32(clip);
    }
    if (layerNorm) {
        std::for_each(present.begin() + 20, present.end(), add);
    }
    return model.output(tensor).output(tensor).output(tensor).output(tensor);
}

// By position in the node: 20 tensors, then the weights of the layer normalisation.
const std::string kWholeLstm(20, 'x');

TEST(LoweredNodes, RememberWithAllParts) {
    std::string all;
    for (int i = 0; i < 24; ++i) {
        all += (i == 0 ? "in" : " in") + std::to_string(i);
    }
    expectNode(lstm(kWholeLstm + "xxxx", true, {.cellClip = 2.0F, .projectionClip = 0.5F}).graph(),
               0,
               engine::Lstm{.attributes = {.activation = engine::LstmAttributes::Function::TANH,
                                           .cellClip = 2.0F,
                                           .projectionClip = 0.5F}},
               all, "out0 out1 out2 out3");
}

TEST(LoweredNodes, RememberWithoutWhatIsOmitted) {
    // No input gate, no peepholes, no projection; the first form knows no layer normalisation.
    expectNode(lstm("x-xxx-xxx----xxx--xx", false).graph(), 0, engine::Lstm{},
               "in0 - in1 in2 in3 - in4 in5 in6 - - - - in7 in8 in9 - - in10 in11 - - - -",
               "out0 out1 out2 out3");
    expectNode(lstm("x-xxx-xxx----xxx--xx-xxx", true).graph(), 0, engine::Lstm{},
               "in0 - in1 in2 in3 - in4 in5 in6 - - - - in7 in8 in9 - - in10 in11 - in12 in13 in14",
               "out0 out1 out2 out3");
}

TEST(LoweredNodes, RememberWithFunctionsByCodesOfTheirOwn) {
    using Function = engine::LstmAttributes::Function;
    for (const auto& [code, function] : {std::pair{0, Function::NONE},
                                         {1, Function::RELU},
                                         {3, Function::RELU6},
                                         {4, Function::TANH},
                                         {6, Function::LOGISTIC}}) {
        const engine::Graph graph = lstm(kWholeLstm, false, {.activation = code}).graph();
        EXPECT_EQ(firstNode<engine::Lstm>(graph).attributes.activation, function);
    }
    for (const int32_t code : {-1, 2, 5, 7}) {
        expectInvalid(lstm(kWholeLstm, false, {.activation = code}),
                      "operation 0 (LSTM): the activation (input 20, operand 20) is " +
                              std::to_string(code) + ", not 0, 1, 3, 4 or 6");
    }
}

TEST(LoweredNodes, RememberWithClampsOfEitherFloat) {
    const engine::Graph graph = lstm(kWholeLstm, false, {.cellClip = 1.5F}, true).graph();
    EXPECT_EQ(firstNode<engine::Lstm>(graph).attributes.cellClip, 1.5F);
    expectInvalid(lstm(kWholeLstm, false, {.cellClip = -1.0F}),
                  "operation 0 (LSTM): the cell clip (input 21, operand 21) is -1.000000, below "
                  "0.000000");
    expectInvalid(
            lstm(kWholeLstm, false, {.projectionClip = std::numeric_limits<float>::quiet_NaN()}),
            "operation 0 (LSTM): the projection clip (input 22, operand 22) is nan, below "
            "0.000000");
}

TEST(LoweredNodes, RememberSequences) {
    const auto sequence = [](size_t outputs, bool timeMajor) {
        OperationModel model(OperationType::UNIDIRECTIONAL_SEQUENCE_LSTM);
        for (int i = 0; i < 20; ++i) {
            model.input(kOpen);
        }
        model.int32(4).float32(1.0F).float32(2.0F).boolean(timeMajor);
        for (int i = 0; i < 4; ++i) {
            i == 0 ? model.omitted(kOpen) : model.input(kOpen);
        }
        for (size_t i = 0; i < outputs; ++i) {
            model.output(kOpen);
        }
        return model.graph();
    };
    const std::string inputs =
            "in0 in1 in2 in3 in4 in5 in6 in7 in8 in9 in10 in11 in12 in13 in14 in15 in16 in17 in18 "
            "in19 - in20 in21 in22 - - - - -";
    for (const bool timeMajor : {false, true}) {
        const engine::LstmSequence node = {.attributes = {.cellClip = 1.0F, .projectionClip = 2.0F},
                                           .timeMajor = timeMajor};
        expectNode(sequence(3, timeMajor), 0, node, inputs, "out0 out1 out2");
        expectNode(sequence(1, timeMajor), 0, node, inputs, "out0 temporary temporary");
    }
}

TEST(LoweredNodes, RememberIn16Bits) {
    OperationModel model(OperationType::QUANTIZED_16BIT_LSTM);
    for (const auto& [type, count] : {std::pair{TENSOR_QUANT8_ASYMM, 9},
                                      {TENSOR_INT32, 4},
                                      {TENSOR_QUANT16_SYMM, 1},
                                      {TENSOR_QUANT8_ASYMM, 1}}) {
        for (int i = 0; i < count; ++i) {
            model.input({type, {}});
        }
    }
    model.output({TENSOR_QUANT16_SYMM, {}}).output({TENSOR_QUANT8_ASYMM, {}});
    expectNode(model.graph(), 0, engine::Quantized16BitLstm{},
               "in0 in1 in2 in3 in4 in5 in6 in7 in8 in9 in10 in11 in12 in13 in14", "out0 out1");
}

TEST(LoweredNodes, RememberIn8Bits) {
    const auto model = [](float cellClip) {
        OperationModel lstm(OperationType::QUANTIZED_LSTM);
        lstm.input({TENSOR_QUANT8_ASYMM_SIGNED, {}}).omitted({TENSOR_QUANT8_SYMM, {}});
        for (int i = 0; i < 7; ++i) {
            i == 3 ? lstm.omitted({TENSOR_QUANT8_SYMM, {}}) : lstm.input({TENSOR_QUANT8_SYMM, {}});
        }
        for (int i = 0; i < 3; ++i) {
            lstm.omitted({TENSOR_QUANT16_SYMM, {}});
        }
        lstm.omitted(ints({})).input(ints({})).input(ints({})).input(ints({}));
        lstm.input({TENSOR_QUANT8_SYMM, {}}).input(ints({}));
        lstm.input({TENSOR_QUANT8_ASYMM_SIGNED, {}}).input({TENSOR_QUANT16_SYMM, {}});
        lstm.omitted({TENSOR_QUANT16_SYMM, {}});
        for (int i = 0; i < 3; ++i) {
            lstm.input({TENSOR_QUANT16_SYMM, {}});
        }
        for (const float scalar : {cellClip, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F}) {
            lstm.float32(scalar);
        }
        return lstm.int32(-7)
                .float32(8.0F)
                .output({TENSOR_QUANT8_ASYMM_SIGNED, {}})
                .output({TENSOR_QUANT16_SYMM, {}})
                .output({TENSOR_QUANT8_ASYMM_SIGNED, {}});
    };
    expectNode(model(1.0F).graph(), 0,
               engine::QuantizedLstm{.cellClip = 1.0F,
                                     .projectionClip = 2.0F,
                                     .inputIntermediateScale = 3.0F,
                                     .forgetIntermediateScale = 4.0F,
                                     .cellIntermediateScale = 5.0F,
                                     .outputIntermediateScale = 6.0F,
                                     .hiddenZeroPoint = -7,
                                     .hiddenScale = 8.0F},
               "in0 - in1 in2 in3 - in4 in5 in6 - - - - in7 in8 in9 in10 in11 in12 in13 - in14 "
               "in15 in16",
               "out0 out1 out2");
    expectInvalid(model(-1.0F),
                  "operation 0 (QUANTIZED_LSTM): the cell clip (input 24, operand 24) is "
                  "-1.000000, below 0.000000");
}

}  // namespace
}  // namespace halyard::driver
