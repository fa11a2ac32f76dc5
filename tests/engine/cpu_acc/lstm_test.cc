// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/cpu/cpu_acc.h"
#include "engine/base/half.h"
#include "engine/graph/recurrence.h"
#include "engine/plan/program.h"
#include "tests/engine/cpu_acc/tuned.h"
#include "tests/engine/reference/random_lstm.h"

namespace halyard::engine::cpu_test {
namespace {

using ref_test::floatInputs;
using ref_test::Inputs;
using ref_test::LstmCell;
using ref_test::QuantizedLstmCase;
using ref_test::randomAttributes;
using ref_test::randomQuantizedCase;
using ref_test::weightsOf;

TEST(LstmAcc, AgreesWithTheReferenceInEveryForm) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 24; ++round) {
        const LstmCell cell(random);
        const int32_t batch = round == 2 ? 0 : random.integer(1, round == 0 ? 70 : 5);
        const DataType type = round % 4 == 3 ? DataType::FLOAT16 : DataType::FLOAT32;
        const Lstm node = {.attributes = randomAttributes(random)};
        const Inputs inputs =
                floatInputs(random, cell, type, {batch, cell.inputSize}, batch, lstm::kAux);
        const TensorType output = typeOf(type, {});
        ASSERT_TRUE(agrees(node, inputs, {output, output, output, output},
                           type == DataType::FLOAT16 ? 2e-2 : 1e-4, weightsOf()))
                << toString(NodeDescriptor(node)) << " of " << batch << ", " << cell.units
                << " units";
    }
}

TEST(LstmSequenceAcc, AgreesWithTheReferenceInEveryForm) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 24; ++round) {
        const LstmCell cell(random);
        const int32_t batch = round == 2 ? 0 : random.integer(1, 3);
        const int32_t steps = random.integer(round == 0 ? 0 : 1, round == 1 ? 70 : 6);
        const DataType type = round % 4 == 3 ? DataType::FLOAT16 : DataType::FLOAT32;
        const LstmSequence node = {.attributes = randomAttributes(random),
                                   .timeMajor = random.coin(),
                                   .backward = random.coin()};
        const Shape x = {node.timeMajor ? steps : batch, node.timeMajor ? batch : steps,
                         cell.inputSize};
        const Inputs inputs =
                floatInputs(random, cell, type, x, batch, std::size(LstmSequence::kInputs));
        const TensorType output = typeOf(type, {});
        ASSERT_TRUE(agrees(node, inputs, {output, output, output},
                           type == DataType::FLOAT16 ? 2e-2 : 1e-3, weightsOf()))
                << toString(NodeDescriptor(node)) << x.toString() << ", " << cell.units << " units";
    }
}

// ---- Weights in two bytes -----------------------------------------------------------------------

Inputs asBfloats(Inputs inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
        if ((weightsOf() >> i & 1) == 0 || !inputs[i].has_value()) {
            continue;
        }
        auto* const elements = reinterpret_cast<float*>(inputs[i]->bytes.data());
        for (size_t k = 0; k < inputs[i]->bytes.size() / sizeof(float); ++k) {
            elements[k] = toFloat(toBFloat16(elements[k]));
        }
    }
    return inputs;
}

TEST(LstmAcc, OfBfloatWeightsAgreesWithTheReference) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 16; ++round) {
        const LstmCell cell(random);
        const int32_t batch = random.integer(1, 4);
        const Lstm node = {.attributes = randomAttributes(random)};
        const Inputs inputs = asBfloats(floatInputs(random, cell, DataType::FLOAT32,
                                                    {batch, cell.inputSize}, batch, lstm::kAux));
        const TensorType output = typeOf(DataType::FLOAT32, {});
        ASSERT_TRUE(agrees(node, inputs, {output, output, output, output}, 1e-4, weightsOf()))
                << toString(NodeDescriptor(node)) << " of " << batch << ", " << cell.units
                << " units";
    }
}

TEST(LstmSequenceAcc, OfBfloatWeightsAgreesWithTheReference) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 16; ++round) {
        const LstmCell cell(random);
        const int32_t batch = random.integer(1, 4);
        const int32_t steps = random.integer(1, 9);
        const LstmSequence node = {.attributes = randomAttributes(random), .timeMajor = true};
        const Inputs inputs = asBfloats(floatInputs(random, cell, DataType::FLOAT32,
                                                    {steps, batch, cell.inputSize}, batch,
                                                    std::size(LstmSequence::kInputs)));
        const TensorType output = typeOf(DataType::FLOAT32, {});
        ASSERT_TRUE(agrees(node, inputs, {output, output, output}, 1e-3, weightsOf()))
                << toString(NodeDescriptor(node)) << steps << " of " << batch << ", " << cell.units
                << " units";
    }
}

// The kernel of such an LSTM, and how many bytes its weights take.
std::pair<std::string, size_t> packedOf(const Inputs& inputs) {
    Graph graph;
    std::vector<TensorId> from;
    std::vector<TensorId> computed;
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (!inputs[i].has_value()) {
            from.push_back(kNoTensor);
        } else if ((weightsOf() >> i & 1) != 0) {
            from.push_back(graph.addConstant(inputs[i]->type,
                                             {.owner = nullptr, .bytes = inputs[i]->bytes})
                                   .value());
        } else {
            from.push_back(graph.addTensor(inputs[i]->type));
            computed.push_back(from.back());
        }
    }
    std::vector<TensorId> results;
    for (int i = 0; i < 4; ++i) {
        results.push_back(graph.addTensor(typeOf(DataType::FLOAT32, Shape::unknownRank())));
    }
    graph.addNode({.descriptor = Lstm(),
                   .inputs = from,
                   .outputs = results,
                   .label = "lstm",
                   .sources = {}});
    graph.setInputs(computed);
    graph.setOutputs(results);
    const auto backend = makeCpuAcc();
    const auto program = Program::build(std::move(graph), {backend.get()}, nullptr).value();
    return {std::string(program->placement().front().kernel), program->constantBytes()};
}

TEST(LstmAcc, KeepsBfloatWeightsOfFewRowsInTwoBytes) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    LstmCell cell(random);
    cell.inputSize = cell.units = cell.outputSize = 64;
    cell.projects = cell.coupled = cell.peeps = cell.normalizes = false;
    const auto inputsOf = [&](int32_t batch) {
        return floatInputs(random, cell, DataType::FLOAT32, {batch, cell.inputSize}, batch,
                           lstm::kAux);
    };
    const auto isInTwoBytes = [](const auto& packed) {
        return packed.first.find(" by bf16") != std::string::npos;
    };
    const auto floats = packedOf(inputsOf(1));
    const auto bfloats = packedOf(asBfloats(inputsOf(1)));
    EXPECT_FALSE(isInTwoBytes(floats)) << floats.first;
    EXPECT_TRUE(isInTwoBytes(bfloats)) << bfloats.first;
    EXPECT_LT(bfloats.second, floats.second * 11 / 20);
    EXPECT_FALSE(isInTwoBytes(packedOf(asBfloats(inputsOf(4))))) << "four rows";
    cell.projects = true;
    EXPECT_TRUE(isInTwoBytes(packedOf(asBfloats(inputsOf(1)))));
    for (const size_t input :
         {lstm::kInputToCellWeights, lstm::kRecurrentToOutputWeights, lstm::kProjectionWeights}) {
        Inputs inputs = asBfloats(inputsOf(1));
        reinterpret_cast<float*>(inputs[input]->bytes.data())[100] = 0x1.0001p0F;
        EXPECT_FALSE(isInTwoBytes(packedOf(inputs))) << "a weight of input " << input << " is none";
    }
}

TEST(LstmAcc, LeavesComputedWeightsToTheReference) {
    RandomValues random;
    const LstmCell cell(random);
    const Inputs inputs =
            floatInputs(random, cell, DataType::FLOAT32, {1, cell.inputSize}, 1, lstm::kAux);
    const TensorType output = typeOf(DataType::FLOAT32, {});
    EXPECT_EQ(evaluateTuned(Lstm(), inputs, {output, output, output, output}, {}).status().code(),
              StatusCode::UNSUPPORTED);
}

// ---- In fixed point -----------------------------------------------------------------------------

testing::AssertionResult agreesBitForBit(const QuantizedLstmCase& item) {
    const TensorType& state = item.inputs[lstm::kOutputState]->type;
    return agrees(item.node, item.inputs, {state, item.inputs[lstm::kCellState]->type, state},
                  std::nullopt, weightsOf());
}

TEST(QuantizedLstmAcc, AgreesWithTheReferenceBitForBit) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 40; ++round) {
        const LstmCell cell(random);
        const QuantizedLstmCase item = randomQuantizedCase(
                random, cell, round == 0 ? 0 : random.integer(1, round == 1 ? 70 : 5));
        ASSERT_TRUE(agreesBitForBit(item))
                << toString(NodeDescriptor(item.node)) << ", " << cell.inputSize << ", "
                << cell.units << " units, " << cell.outputSize;
    }
}

// The functions of the gates see every number of 16 bits, whatever the cell state's scale.
TEST(QuantizedLstmAcc, HasTheReferencesFunctionsEverywhere) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int cellLog2 = -15; cellLog2 <= -9; ++cellLog2) {
        constexpr int32_t kUnits = 64;
        constexpr int32_t kRows = 256;
        LstmCell cell(random);
        cell.inputSize = 1;
        cell.units = kUnits;
        cell.outputSize = kUnits;
        cell.projects = false;
        cell.coupled = cellLog2 % 2 == 0;
        cell.peeps = false;
        QuantizedLstmCase item = randomQuantizedCase(random, cell, kRows);
        item.inputs[lstm::kCellState]->type.quantization.scale = std::ldexp(1.0F, cellLog2);
        item.node.cellClip = 0.0F;
        // A step of the sums is one of Q3.12: rows are kUnits of them apart.
        item.inputs[lstm::kX]->type = typeOf(DataType::QUANT8_ASYMM_SIGNED, {kRows, 1}, 0x1p-4F);
        for (int32_t i = 0; i < kRows; ++i) {
            item.inputs[lstm::kX]->bytes[static_cast<size_t>(i)] = static_cast<uint8_t>(i - 128);
        }
        for (size_t i = lstm::kInputToInputWeights; i <= lstm::kRecurrentToOutputWeights; ++i) {
            if (item.inputs[i].has_value()) {
                const bool isRecurrent = i >= lstm::kRecurrentToInputWeights;
                std::ranges::fill(item.inputs[i]->bytes,
                                  static_cast<uint8_t>(isRecurrent ? 0 : kUnits));
                item.inputs[i]->type.quantization.scale = 0x1p-8F;
            }
        }
        for (const int32_t middle : {-24576, -8192, 8192, 24576}) {
            std::vector<int32_t> biases(kUnits);
            std::iota(biases.begin(), biases.end(), middle);
            for (size_t i = lstm::kInputGateBias; i <= lstm::kOutputGateBias; ++i) {
                if (item.inputs[i].has_value()) {
                    item.inputs[i] = ref_test::ints({kUnits}, biases);
                }
            }
            ASSERT_TRUE(agreesBitForBit(item)) << cellLog2 << ", around " << middle;
        }
    }
}

TEST(QuantizedLstmAcc, LeavesNormalisedGatesToTheReference) {
    RandomValues random;
    LstmCell cell(random);
    QuantizedLstmCase item = randomQuantizedCase(random, cell, 1);
    for (size_t i = lstm::kInputLayerNormWeights; i <= lstm::kOutputLayerNormWeights; ++i) {
        TensorType type = typeOf(DataType::QUANT16_SYMM, {cell.units}, 1e-4F);
        item.inputs[i] = random.values(type);
    }
    const TensorType& state = item.inputs[lstm::kOutputState]->type;
    EXPECT_EQ(evaluateTuned(item.node, item.inputs,
                            {state, item.inputs[lstm::kCellState]->type, state},
                            {.constantInputs = weightsOf()})
                      .status()
                      .code(),
              StatusCode::UNSUPPORTED);
}

TEST(Quantized16BitLstmAcc, AgreesWithTheReferenceBitForBit) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    // x, the weights, the biases, the cell state and the output state.
    constexpr size_t kBias = 9;
    constexpr size_t kCellState = 13;
    constexpr uint64_t kWeights = ((uint64_t{1} << kCellState) - 1) & ~uint64_t{1};
    for (int round = 0; round < 24; ++round) {
        const int32_t batch = round == 0 ? 0 : random.integer(1, round == 1 ? 70 : 5);
        const int32_t units = random.integer(1, 90);
        const int32_t inputSize = random.integer(0, 60);
        const TensorType state = typeOf(DataType::QUANT8_ASYMM, {batch, units}, 1.0F / 128, 128);
        const TensorType cell = typeOf(DataType::QUANT16_SYMM, {batch, units}, 1.0F / 2048);
        TensorType weights = random.quantization(DataType::QUANT8_ASYMM, 0.004F);
        if (round % 3 == 0) {
            weights.quantization.zeroPoint = 128;
        }
        Inputs inputs(15);
        inputs[0] =
                random.values(typeOf(DataType::QUANT8_ASYMM, {batch, inputSize}, 1.0F / 128, 128));
        for (size_t i = 1; i < kBias; ++i) {
            weights.shape = {units, i < 5 ? inputSize : units};
            inputs[i] = random.values(weights);
        }
        for (size_t i = kBias; i < kCellState; ++i) {
            std::vector<int32_t> biases(static_cast<size_t>(units));
            for (int32_t& bias : biases) {
                bias = random.integer(-20000, 20000);
            }
            inputs[i] = ref_test::ints({units}, biases);
        }
        inputs[kCellState] = random.values(cell);
        inputs[kCellState + 1] = random.values(state);
        ASSERT_TRUE(agrees(Quantized16BitLstm(), inputs, {cell, state}, std::nullopt, kWeights))
                << batch << " of " << inputSize << ", " << units << " units";
    }
}

}  // namespace
}  // namespace halyard::engine::cpu_test
