// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/graph/recurrence.h"
#include "tests/engine/reference/evaluation.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine::ref_test {
namespace {

using Inputs = std::vector<std::optional<Values>>;
using Stored = std::vector<int32_t>;

// ---- QUANTIZED_LSTM -----------------------------------------------------------------------------

constexpr int32_t kBatch = 2;
constexpr int32_t kInput = 3;
constexpr int32_t kUnits = 5;
constexpr float kWeightScale = 0x1p-8F;
constexpr float kNormScale = 0x1p-15F;
constexpr float kCellScale = 0x1p-12F;
// Large enough for every sum.
constexpr float kIntermediateScale = 0x1p-11F;

struct Variant {
    bool inputGate = true;
    bool peepholes = false;
    bool projection = false;
    bool projectionBias = false;
    bool layerNorm = false;
    QuantizedLstm node = {};

    int32_t outputSize() const { return projection ? 3 : kUnits; }
    std::string toString() const {
        return std::string(inputGate ? "" : "CIFG ") + (peepholes ? "peepholes " : "") +
               (projection ? "projection " : "") + (projectionBias ? "with bias " : "") +
               (layerNorm ? "layer norm " : "") + engine::toString(NodeDescriptor(node));
    }
};

const QuantizedLstm kGoldenNode = {.inputIntermediateScale = 0.007059F,
                                   .forgetIntermediateScale = 0.007812F,
                                   .cellIntermediateScale = 0.007059F,
                                   .outputIntermediateScale = 0.007812F,
                                   .hiddenScale = 0.007F};

Variant randomVariant(RandomValues& random) {
    Variant variant = {.inputGate = random.coin(),
                       .peepholes = random.coin(),
                       .projection = random.coin(),
                       .layerNorm = random.coin()};
    variant.projectionBias = variant.projection && random.coin();
    // Without normalisation a gate has no scale of its own.
    const float scale = variant.layerNorm ? kIntermediateScale : 0.0F;
    variant.node = {.cellClip = random.coin() ? 0.5F : 0.0F,
                    .projectionClip = random.coin() ? 0.4F : 0.0F,
                    .inputIntermediateScale = scale,
                    .forgetIntermediateScale = scale,
                    .cellIntermediateScale = scale,
                    .outputIntermediateScale = scale,
                    .hiddenZeroPoint = random.integer(-20, 20),
                    .hiddenScale = 0.01F};
    return variant;
}

// The scale of a gate's bias, or the projection's, tells how far it may go: to 1.
Values randomBias(int32_t size, float scale, RandomValues& random) {
    Stored elements;
    for (int32_t i = 0; i < size; ++i) {
        elements.push_back(static_cast<int32_t>(random.real(-1.0F, 1.0F) / scale));
    }
    Values bias = ints({size}, elements);
    bias.type.quantization.scale = scale;
    return bias;
}

Inputs randomInputs(const Variant& variant, RandomValues& random) {
    const int32_t output = variant.outputSize();
    const TensorType x = typeOf(DataType::QUANT8_ASYMM_SIGNED, {kBatch, kInput}, 1.0F / 128,
                                random.integer(-128, 127));
    // Without a projection the hidden state is the output.
    const TensorType state =
            variant.projection ? typeOf(DataType::QUANT8_ASYMM_SIGNED, {kBatch, output}, 1.0F / 64,
                                        random.integer(-40, 40))
                               : typeOf(DataType::QUANT8_ASYMM_SIGNED, {kBatch, output},
                                        variant.node.hiddenScale, variant.node.hiddenZeroPoint);
    const auto weights = [&](bool present, int32_t rows, int32_t columns) {
        const TensorType type = typeOf(DataType::QUANT8_SYMM, {rows, columns}, kWeightScale);
        return present ? std::optional(random.values(type)) : std::nullopt;
    };
    const auto vector = [&](bool present) {
        const TensorType type = typeOf(DataType::QUANT16_SYMM, {kUnits}, kNormScale);
        return present ? std::optional(random.values(type)) : std::nullopt;
    };
    const float biasScale =
            variant.layerNorm ? kNormScale / 1024 : x.quantization.scale * kWeightScale;

    Inputs inputs = {random.values(x)};
    for (int gate = 0; gate < 4; ++gate) {
        inputs.push_back(weights(gate > 0 || variant.inputGate, kUnits, kInput));
    }
    for (int gate = 0; gate < 4; ++gate) {
        inputs.push_back(weights(gate > 0 || variant.inputGate, kUnits, output));
    }
    inputs.push_back(vector(variant.peepholes && variant.inputGate));
    inputs.push_back(vector(variant.peepholes));
    inputs.push_back(vector(variant.peepholes));
    for (int gate = 0; gate < 4; ++gate) {
        inputs.push_back(gate > 0 || variant.inputGate
                                 ? std::optional(randomBias(kUnits, biasScale, random))
                                 : std::nullopt);
    }
    inputs.push_back(weights(variant.projection, output, kUnits));
    inputs.push_back(variant.projectionBias
                             ? std::optional(randomBias(
                                       output, kWeightScale * variant.node.hiddenScale, random))
                             : std::nullopt);
    inputs.emplace_back(random.values(state));
    Stored cell;
    for (int32_t i = 0; i < kBatch * kUnits; ++i) {
        cell.push_back(random.integer(-8192, 8192));
    }
    inputs.emplace_back(
            quantized(typeOf(DataType::QUANT16_SYMM, {kBatch, kUnits}, kCellScale), cell));
    inputs.push_back(vector(variant.layerNorm && variant.inputGate));
    for (int gate = 1; gate < 4; ++gate) {
        inputs.push_back(vector(variant.layerNorm));
    }
    return inputs;
}

Result<std::vector<Values>> run(const QuantizedLstm& node, const Inputs& inputs) {
    const TensorType& state = inputs[lstm::kOutputState]->type;
    return evaluateAll(node, inputs, {state, inputs[lstm::kCellState]->type, state});
}

// The real numbers, as floats.
std::optional<Values> widened(const std::optional<Values>& values) {
    if (!values.has_value()) {
        return std::nullopt;
    }
    std::vector<float> elements;
    for (const double element : stored(*values)) {
        const Quantization& quantization = values->type.quantization;
        elements.push_back(quantization.scale *
                           static_cast<float>(element - quantization.zeroPoint));
    }
    return floats(values->type.shape, elements);
}

// Whether the real numbers are those, but for an error, or clamped by the type.
testing::AssertionResult isNear(const Values& actual, const Values& expected, double tolerance) {
    const std::vector<double> numbers = reals(actual);
    const std::vector<double> exact = reals(expected);
    const auto scale = static_cast<double>(actual.type.quantization.scale);
    const int32_t zero = actual.type.quantization.zeroPoint;
    const double low = scale * (minValue(actual.type.type) - zero);
    const double high = scale * (maxValue(actual.type.type) - zero);
    for (size_t i = 0; i < numbers.size(); ++i) {
        const double best = std::clamp(exact[i], low, high);
        if (!(std::abs(numbers[i] - best) <= tolerance)) {
            return testing::AssertionFailure()
                   << "element " << i << " is " << numbers[i] << ", not " << best;
        }
    }
    return testing::AssertionSuccess();
}

TEST(QuantizedLstm, ComesNearTheFloatLstmInEveryVariant) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 300; ++round) {
        const Variant variant = randomVariant(random);
        SCOPED_TRACE(variant.toString());
        const Inputs inputs = randomInputs(variant, random);
        const Result<std::vector<Values>> outputs = run(variant.node, inputs);
        ASSERT_TRUE(outputs.ok()) << outputs.status().toString();

        Inputs wide;
        std::transform(inputs.begin(), inputs.end(), std::back_inserter(wide), widened);
        const Lstm node = {.attributes = {.cellClip = variant.node.cellClip,
                                          .projectionClip = variant.node.projectionClip}};
        const Result<std::vector<Values>> expected =
                evaluateAll(node, wide, std::vector<TensorType>(4, typeOf(DataType::FLOAT32, {})));
        ASSERT_TRUE(expected.ok()) << expected.status().toString();
        EXPECT_TRUE(isNear((*outputs)[1], (*expected)[2], 0.02));
        EXPECT_TRUE(isNear((*outputs)[2], (*expected)[3], 0.04));
        EXPECT_EQ((*outputs)[0].bytes, (*outputs)[2].bytes);
        ASSERT_FALSE(testing::Test::HasFailure());
    }
}

// From NNAPI's own tests of QUANTIZED_LSTM.
Inputs goldenInputs() {
    const auto weights = [](Shape shape, float scale, const Stored& elements) {
        return quantized(typeOf(DataType::QUANT8_SYMM, shape, scale), elements);
    };
    const auto input = [&](const Stored& elements) {
        return weights({4, 5}, 0.00784314F, elements);
    };
    const auto recurrent = [&](const Stored& elements) {
        return weights({4, 3}, 0.00784314F, elements);
    };
    const auto norm = [](const Stored& elements) {
        return quantized(typeOf(DataType::QUANT16_SYMM, {4}, 3.05182e-05F), elements);
    };
    return {
            quantized(typeOf(DataType::QUANT8_ASYMM_SIGNED, {2, 5}, 0x1p-7F),
                      {90, 102, 13, 26, 38, 102, 13, 26, 51, 64}),
            input({64,   77, 89,  -102, -115, 13,  25,  38,  -51, 64,
                   -102, 89, -77, 64,   -51,  -64, -51, -38, -25, -13}),
            input({-77, -13, 38,  25,  115, -64, -25, -51, 38,  -102,
                   -51, 38,  -64, -51, -77, 38,  -51, -77, -64, -64}),
            input({-51, -38, -25, -13, -64, 64, -25,  -38, -25, -77,
                   77,  -13, -51, -38, -89, 89, -115, -64, 102, 77}),
            input({-102, -51, -25, -115, -13, -89, 38, -38, -102, -25,
                   77,   -25, 51,  -89,  -38, -64, 13, 64,  -77,  -51}),
            recurrent({-25, -38, 51, 13, -64, 115, -25, -38, -89, 6, -25, -77}),
            recurrent({-64, -38, -64, -25, 77, 51, 115, 38, -13, 25, 64, 25}),
            recurrent({-38, 25, 13, -38, 102, -10, -25, 38, 102, -77, -13, 25}),
            recurrent({38, -13, 13, -25, -64, -89, -25, -77, -13, -51, -89, -25}),
            std::nullopt,
            std::nullopt,
            std::nullopt,
            ints({4}, {644245, 3221226, 4724464, 8160438}),
            ints({4}, {2147484, -6442451, -4294968, 2147484}),
            ints({4}, {-1073742, 15461883, 5368709, 1717987}),
            ints({4}, {1073742, -214748, 4294968, 2147484}),
            weights({3, 4}, 0.00392157F, {-25, 51, 3, -51, 25, 127, 77, 20, 18, 51, -102, 51}),
            ints({3}, {0, 0, 0}),
            quantized(typeOf(DataType::QUANT8_ASYMM_SIGNED, {2, 3}, 3.05176e-05F), Stored(6)),
            quantized(typeOf(DataType::QUANT16_SYMM, {2, 4}, 3.05176e-05F), Stored(8)),
            norm({3277, 6553, 9830, 16384}),
            norm({6553, 6553, 13107, 9830}),
            norm({22937, 6553, 9830, 26214}),
            norm({19660, 6553, 6553, 16384}),
    };
}

TEST(QuantizedLstm, GivesTheGoldenOutputBitForBit) {
    const Result<std::vector<Values>> outputs = run(kGoldenNode, goldenInputs());
    ASSERT_TRUE(outputs.ok()) << outputs.status().toString();
    EXPECT_TRUE(holds((*outputs)[1], {-14650, 8939, 5771, 6715, -11843, 7847, 1508, 12939}));
    EXPECT_TRUE(holds((*outputs)[2], {127, 127, -108, -67, 127, 127}));
}

TEST(QuantizedLstm, GivesTheGoldenOutputBitForBitWithoutAnInputGate) {
    Inputs inputs = goldenInputs();
    for (const size_t input : {lstm::kInputToInputWeights, lstm::kRecurrentToInputWeights,
                               lstm::kInputGateBias, lstm::kInputLayerNormWeights}) {
        inputs[input] = std::nullopt;
    }
    const Result<std::vector<Values>> outputs = run(kGoldenNode, inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status().toString();
    EXPECT_TRUE(holds((*outputs)[1], {-11692, 9960, 5491, 8861, -9422, 7726, 2056, 13149}));
    EXPECT_TRUE(holds((*outputs)[2], {127, 127, 127, -128, 127, 127}));
}

TEST(QuantizedLstm, RefusesACellScaleThatIsNoPowerOfTwo) {
    for (const float scale : {0x1.01p-15F, 0x1p-16F, 0x1p-8F}) {
        Inputs inputs = goldenInputs();
        inputs[lstm::kCellState]->type.quantization.scale = scale;
        EXPECT_TRUE(refused(run(kGoldenNode, inputs), "cell state")) << scale;
    }
}

TEST(QuantizedLstm, RefusesScalesTooFarApart) {
    QuantizedLstm node = kGoldenNode;
    node.forgetIntermediateScale = 1e-30F;
    EXPECT_TRUE(refused(run(node, goldenInputs()), "scales"));
}

// ---- QUANTIZED_16BIT_LSTM -----------------------------------------------------------------------

TensorType weightType(Shape shape, int32_t zeroPoint) {
    return typeOf(DataType::QUANT8_ASYMM, shape, 0.00408021F, zeroPoint);
}

TensorType activationType(Shape shape) {
    return typeOf(DataType::QUANT8_ASYMM, shape, 1.0F / 128, 128);
}

TensorType cellType(Shape shape) {
    return typeOf(DataType::QUANT16_SYMM, shape, 1.0F / 2048);
}

Result<std::vector<Values>> run16Bit(const Inputs& inputs) {
    return evaluateAll(Quantized16BitLstm(), inputs, {inputs[13]->type, inputs[14]->type});
}

// The factors of x and of the output state: the columns of [recurrent, weights].
std::pair<Values, Values> columnsAsMultiplied(const Values& weights, const Values& recurrent) {
    const std::vector<double> w = reals(weights);
    const std::vector<double> r = reals(recurrent);
    std::vector<float> ofX;
    std::vector<float> ofState;
    for (size_t i = 0; i < static_cast<size_t>(kUnits * (kInput + kUnits)); ++i) {
        const size_t row = i / (kInput + kUnits);
        const size_t column = i % (kInput + kUnits);
        const double weight =
                column < kUnits ? r[row * kUnits + column] : w[row * kInput + column - kUnits];
        (column < kInput ? ofX : ofState).push_back(static_cast<float>(weight));
    }
    return {floats({kUnits, kInput}, ofX), floats({kUnits, kUnits}, ofState)};
}

// From NNAPI's own tests of QUANTIZED_16BIT_LSTM.
TEST(Quantized16BitLstm, GivesTheGoldenOutputBitForBit) {
    const auto input = [](const Stored& elements) {
        return quantized(weightType({4, 2}, 100), elements);
    };
    const auto recurrent = [](const Stored& elements) {
        return quantized(weightType({4, 4}, 100), elements);
    };
    const Result<std::vector<Values>> outputs = run16Bit({
            quantized(activationType({2, 2}), {166, 179, 50, 150}),
            input({146, 250, 235, 171, 10, 218, 171, 108}),
            input({24, 50, 132, 179, 158, 110, 3, 169}),
            input({133, 34, 29, 49, 206, 109, 54, 183}),
            input({195, 187, 11, 99, 109, 10, 218, 48}),
            recurrent({254, 206, 77, 168, 71, 20, 215, 6, 223, 7, 118, 225, 59, 130, 174, 26}),
            recurrent({137, 240, 103, 52, 68, 51, 237, 112, 0, 220, 89, 23, 69, 4, 207, 253}),
            recurrent({172, 60, 205, 65, 14, 0, 140, 168, 240, 223, 133, 56, 142, 64, 246, 216}),
            recurrent({106, 214, 67, 23, 59, 158, 45, 3, 119, 132, 49, 205, 129, 218, 11, 98}),
            ints({4}, {-7876, 13488, -726, 32839}),
            ints({4}, {9206, -46884, -11693, -38724}),
            ints({4}, {39481, 48624, 48976, -21419}),
            ints({4}, {-58999, -17050, -41852, -40538}),
            quantized(cellType({2, 4}), {876, 1034, 955, -909, 761, 1029, 796, -1036}),
            quantized(activationType({2, 4}), {136, 150, 140, 115, 135, 152, 138, 112}),
    });
    ASSERT_TRUE(outputs.ok()) << outputs.status().toString();
    EXPECT_TRUE(holds((*outputs)[0], {1485, 1177, 1373, -1023, 1019, 1355, 1097, -1235}));
    EXPECT_TRUE(holds((*outputs)[1], {140, 151, 146, 112, 136, 156, 142, 112}));
}

TEST(Quantized16BitLstm, ComesNearTheFloatLstm) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 100; ++round) {
        const int32_t zeroPoint = random.integer(0, 255);
        Inputs inputs = {random.values(activationType({kBatch, kInput}))};
        for (int gate = 0; gate < 4; ++gate) {
            inputs.emplace_back(random.values(weightType({kUnits, kInput}, zeroPoint)));
        }
        for (int gate = 0; gate < 4; ++gate) {
            inputs.emplace_back(random.values(weightType({kUnits, kUnits}, zeroPoint)));
        }
        for (int gate = 0; gate < 4; ++gate) {
            inputs.emplace_back(randomBias(kUnits, 0.00408021F / 128, random));
        }
        inputs.emplace_back(random.values(cellType({kBatch, kUnits})));
        inputs.emplace_back(random.values(activationType({kBatch, kUnits})));
        const Result<std::vector<Values>> outputs = run16Bit(inputs);
        ASSERT_TRUE(outputs.ok()) << outputs.status().toString();

        Inputs wide(lstm::kAux);
        wide[lstm::kX] = widened(inputs[0]);
        for (size_t gate = 0; gate < 4; ++gate) {
            std::tie(wide[lstm::kInputToInputWeights + gate],
                     wide[lstm::kRecurrentToInputWeights + gate]) =
                    columnsAsMultiplied(*widened(inputs[1 + gate]), *widened(inputs[5 + gate]));
        }
        for (size_t gate = 0; gate < 4; ++gate) {
            wide[lstm::kInputGateBias + gate] = widened(inputs[9 + gate]);
        }
        wide[lstm::kCellState] = widened(inputs[13]);
        wide[lstm::kOutputState] = widened(inputs[14]);
        const Result<std::vector<Values>> expected = evaluateAll(
                Lstm(), wide, std::vector<TensorType>(4, typeOf(DataType::FLOAT32, {})));
        ASSERT_TRUE(expected.ok()) << expected.status().toString();
        EXPECT_TRUE(isNear((*outputs)[0], (*expected)[2], 0.02));
        EXPECT_TRUE(isNear((*outputs)[1], (*expected)[3], 0.02));
        ASSERT_FALSE(testing::Test::HasFailure());
    }
}

}  // namespace
}  // namespace halyard::engine::ref_test
