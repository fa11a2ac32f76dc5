// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "engine/graph/recurrence.h"
#include "tests/engine/cpu_acc/tuned.h"

namespace halyard::engine::cpu_test {
namespace {

using Function = LstmAttributes::Function;
using Inputs = std::vector<std::optional<Values>>;

constexpr Function kFunctions[] = {Function::NONE,  Function::RELU, Function::RELU1,
                                   Function::RELU6, Function::TANH, Function::LOGISTIC};

// A bit for each input of an LSTM that is a weight.
constexpr uint64_t weightsOf() {
    uint64_t bits = (uint64_t{1} << lstm::kAux) - 1;
    for (const size_t input : {lstm::kX, lstm::kOutputState, lstm::kCellState}) {
        bits &= ~(uint64_t{1} << input);
    }
    return bits;
}

// The sizes and parts of a cell, by chance.
struct Cell {
    explicit Cell(RandomValues& random)
        : inputSize(random.integer(0, 40)),
          units(random.integer(1, 90)),
          coupled(random.coin()),
          peeps(random.coin()),
          normalizes(random.coin()),
          projects(random.coin()),
          projectionBias(random.coin()) {
        outputSize = projects ? random.integer(1, 70) : units;
    }

    bool has(size_t input) const {
        using namespace lstm;
        const bool inputGate = input == kInputToInputWeights || input == kRecurrentToInputWeights ||
                               input == kCellToInputWeights || input == kInputGateBias ||
                               input == kInputLayerNormWeights;
        if (inputGate && coupled) {
            return false;
        }
        if (input >= kCellToInputWeights && input <= kCellToOutputWeights) {
            return peeps;
        }
        if (input >= kInputLayerNormWeights && input <= kOutputLayerNormWeights) {
            return normalizes;
        }
        return input == kProjectionWeights ? projects
               : input == kProjectionBias  ? projects && projectionBias
                                           : input < kAux;
    }

    Shape shapeOf(size_t input) const {
        using namespace lstm;
        if (input <= kInputToOutputWeights) {
            return {units, inputSize};
        }
        if (input <= kRecurrentToOutputWeights) {
            return {units, outputSize};
        }
        return input == kProjectionWeights ? Shape{outputSize, units}
               : input == kProjectionBias  ? Shape{outputSize}
                                           : Shape{units};
    }

    int32_t inputSize;
    int32_t units;
    int32_t outputSize = 0;
    bool coupled;
    bool peeps;
    bool normalizes;
    bool projects;
    bool projectionBias;
};

Values scaled(const Values& values, float factor) {
    std::vector<float> elements;
    for (const double element : ref_test::stored(values)) {
        elements.push_back(static_cast<float>(element) * factor);
    }
    return values.type.type == DataType::FLOAT16 ? ref_test::halves(values.type.shape, elements)
                                                 : ref_test::floats(values.type.shape, elements);
}

Inputs floatInputs(RandomValues& random, const Cell& cell, DataType type, const Shape& x,
                   int32_t batch, size_t count) {
    Inputs inputs(count);
    inputs[lstm::kX] = random.values(typeOf(type, x));
    inputs[lstm::kOutputState] = random.values(typeOf(type, {batch, cell.outputSize}));
    inputs[lstm::kCellState] = random.values(typeOf(type, {batch, cell.units}));
    for (size_t i = 0; i < lstm::kAux; ++i) {
        if (!inputs[i].has_value() && cell.has(i)) {
            // Small enough for errors not to grow from step to step.
            inputs[i] = scaled(random.values(typeOf(type, cell.shapeOf(i))), 0.2F);
        }
    }
    return inputs;
}

LstmAttributes randomAttributes(RandomValues& random) {
    return {.activation = kFunctions[random.integer(0, 5)],
            .cellClip = random.coin() ? 0.0F : random.real(0.1F, 2.0F),
            .projectionClip = random.coin() ? 0.0F : random.real(0.1F, 2.0F)};
}

TEST(LstmAcc, AgreesWithTheReferenceInEveryForm) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 24; ++round) {
        const Cell cell(random);
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
        const Cell cell(random);
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

TEST(LstmAcc, LeavesComputedWeightsToTheReference) {
    RandomValues random;
    const Cell cell(random);
    const Inputs inputs =
            floatInputs(random, cell, DataType::FLOAT32, {1, cell.inputSize}, 1, lstm::kAux);
    const TensorType output = typeOf(DataType::FLOAT32, {});
    EXPECT_EQ(evaluateTuned(Lstm(), inputs, {output, output, output, output}, {}).status().code(),
              StatusCode::UNSUPPORTED);
}

// ---- In fixed point -----------------------------------------------------------------------------

struct QuantizedCase {
    QuantizedLstm node;
    Inputs inputs = Inputs(lstm::kAux);
};

// Such that gates neither all saturate nor all stay in the middle.
QuantizedCase randomCase(RandomValues& random, Cell cell, int32_t batch) {
    cell.normalizes = false;
    QuantizedCase result;
    const TensorType state = random.quantization(DataType::QUANT8_ASYMM_SIGNED, 0.008F);
    const float cellScale = std::ldexp(1.0F, random.integer(-15, -9));
    const auto add = [&](size_t input, TensorType type, Shape shape) {
        type.shape = shape;
        result.inputs[input] = random.values(type);
    };
    add(lstm::kX, random.quantization(DataType::QUANT8_ASYMM_SIGNED, 0.02F),
        {batch, cell.inputSize});
    add(lstm::kOutputState, state, {batch, cell.outputSize});
    add(lstm::kCellState, typeOf(DataType::QUANT16_SYMM, {}, cellScale), {batch, cell.units});
    for (size_t i = 0; i < lstm::kAux; ++i) {
        if (result.inputs[i].has_value() || !cell.has(i)) {
            continue;
        }
        const bool isBias = (i >= lstm::kInputGateBias && i <= lstm::kOutputGateBias) ||
                            i == lstm::kProjectionBias;
        const bool isPeephole = i >= lstm::kCellToInputWeights && i <= lstm::kCellToOutputWeights;
        if (isBias) {
            std::vector<int32_t> biases(static_cast<size_t>(cell.shapeOf(i)[0]));
            for (int32_t& bias : biases) {
                bias = random.integer(-20000, 20000);
            }
            result.inputs[i] = ref_test::ints(cell.shapeOf(i), biases);
        } else {
            add(i,
                isPeephole ? random.quantization(DataType::QUANT16_SYMM, 5e-5F)
                           : random.quantization(DataType::QUANT8_SYMM, 0.005F),
                cell.shapeOf(i));
        }
    }
    result.node.cellClip = random.coin() ? 0.0F : random.real(0.0F, 1e4F * cellScale);
    result.node.projectionClip = random.coin() ? 0.0F : random.real(0.05F, 2.0F);
    result.node.hiddenScale = 0.008F * random.real(0.5F, 2.0F);
    result.node.hiddenZeroPoint = random.integer(-128, 127);
    return result;
}

testing::AssertionResult agreesBitForBit(const QuantizedCase& item) {
    const TensorType& state = item.inputs[lstm::kOutputState]->type;
    return agrees(item.node, item.inputs, {state, item.inputs[lstm::kCellState]->type, state},
                  std::nullopt, weightsOf());
}

TEST(QuantizedLstmAcc, AgreesWithTheReferenceBitForBit) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 40; ++round) {
        const Cell cell(random);
        const QuantizedCase item =
                randomCase(random, cell, round == 0 ? 0 : random.integer(1, round == 1 ? 70 : 5));
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
        Cell cell(random);
        cell.inputSize = 1;
        cell.units = kUnits;
        cell.outputSize = kUnits;
        cell.projects = false;
        cell.coupled = cellLog2 % 2 == 0;
        cell.peeps = false;
        QuantizedCase item = randomCase(random, cell, kRows);
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
    Cell cell(random);
    QuantizedCase item = randomCase(random, cell, 1);
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
