// SPDX-License-Identifier: Apache-2.0
//
// Layers of floats by products of tiles of bfloat16 against CpuRef. On all processors the kernel's
// own source runs here with made-up tile instructions, and where the processor has them, with
// those.

#include "engine/backends/cpu/gemm/bf16_split_conv_gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/cpu/cpu_acc.h"
#include "engine/backends/cpu/gemm/conv_gemm.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/backends/ref/cpu_ref.h"
#include "engine/base/half.h"
#include "tests/engine/cpu_acc/emulated_tiles.h"
#include "tests/engine/cpu_acc/gemms_alone.h"
#include "tests/engine/cpu_acc/tile_unit.h"
#include "tests/engine/cpu_acc/weighted_layer.h"

namespace halyard::engine::split_test {
namespace {

using cpu::InstructionSet;
using cpu_test::Kind;
using cpu_test::Layer;
using cpu_test::Outcome;
using cpu_test::TileUnit;
using ref_test::RandomValues;
using ref_test::typeOf;
using ref_test::Values;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Computes every layer by parts, worthwhile or not, with tiles that the test makes up.
std::unique_ptr<const Backend> emulated(InstructionSet set, cpu::HiLoSplit parts = {}) {
    return std::make_unique<cpu_test::ProductsAlone>(
            set, [set, parts](cpu::ConvGemmDefinition definition, const KernelArguments& own) {
                return cpu::compileBf16SplitConvGemm(std::move(definition), own,
                                                     cpu::emulatedBf16SplitGemm(set), parts,
                                                     "emulated");
            });
}

std::vector<float> elementsOf(const Values& values) {
    const auto* const data = reinterpret_cast<const float*>(values.bytes.data());
    return {data, data + values.bytes.size() / sizeof(float)};
}

Values valuesOf(const Shape& shape, const std::vector<float>& elements) {
    return ref_test::pack(typeOf(DataType::FLOAT32, shape), elements);
}

template <typename Change>
Values changed(const Values& values, Change change) {
    std::vector<float> elements = elementsOf(values);
    for (float& element : elements) {
        element = change(element);
    }
    return valuesOf(values.type.shape, elements);
}

// Of each sum, the one of its terms' absolute values.
std::vector<float> magnitudesOf(Layer layer) {
    const auto absolute = [](float value) { return std::abs(value); };
    layer.x = changed(layer.x, absolute);
    layer.weights = changed(layer.weights, absolute);
    layer.bias = changed(layer.bias, absolute);
    if (layer.addend.has_value()) {
        layer.addend = changed(*layer.addend, absolute);
    }
    if (auto* conv = std::get_if<Conv2d>(&layer.descriptor)) {
        conv->activation = Activation::NONE;
    } else {
        std::get_if<FullyConnected>(&layer.descriptor)->activation = Activation::NONE;
    }
    return elementsOf(cpu_test::run(layer, makeCpuRef(), 1).output);
}

// A float is exact to 2^-17 as two parts, of two factors, and the second parts, whose product is
// left out, are at most 2^-8 of them. Sums of float32 in another order add little.
constexpr double kOfMagnitude = 0x1p-15 + 0x1p-18;
// The same of rows alone, and of sums of float32 in another order.
constexpr double kOfMagnitudeByOnePart = 0x1p-17 + 0x1p-18;
constexpr double kOfMagnitudeOfFloats = 0x1p-20;

void expectClose(const Outcome& actual, const Outcome& expected, const Layer& layer,
                 double ofMagnitude = kOfMagnitude) {
    ASSERT_EQ(actual.output.type.shape, expected.output.type.shape);
    EXPECT_EQ(actual.allocations, 0U);
    const std::vector<float> a = elementsOf(actual.output);
    const std::vector<float> b = elementsOf(expected.output);
    const std::vector<float> magnitudes = magnitudesOf(layer);
    for (size_t i = 0; i < b.size(); ++i) {
        if (std::isfinite(b[i])) {
            ASSERT_NEAR(a[i], b[i], ofMagnitude * magnitudes[i] + FLT_TRUE_MIN) << "element " << i;
        } else {
            ASSERT_TRUE(std::isnan(b[i]) ? std::isnan(a[i]) : a[i] == b[i])
                    << "element " << i << ": " << a[i] << ", not " << b[i];
        }
    }
}

void expectPartsAgree(const Layer& layer) {
    const Outcome expected = cpu_test::run(layer, makeCpuRef(), 1);
    for (const InstructionSet set : cpu::availableInstructionSets()) {
        for (const size_t threads : {size_t{1}, size_t{3}}) {
            SCOPED_TRACE(std::string(toString(set)) + ", threads: " + std::to_string(threads));
            expectClose(cpu_test::run(layer, emulated(set), threads), expected, layer);
        }
    }
}

float asBfloat16(float value) {
    return toFloat(toBFloat16(value));
}

// Weights that are bfloat16, with rows of two parts and of three.
void expectPartsOfBfloatsAgree(Layer layer) {
    layer.weights = changed(layer.weights, asBfloat16);
    const Outcome expected = cpu_test::run(layer, makeCpuRef(), 1);
    for (const InstructionSet set : cpu::availableInstructionSets()) {
        for (const size_t threads : {size_t{1}, size_t{3}}) {
            SCOPED_TRACE(std::string(toString(set)) + ", threads: " + std::to_string(threads));
            expectClose(cpu_test::run(layer, emulated(set, {.left = 2, .right = 1}), threads),
                        expected, layer, kOfMagnitudeByOnePart);
            expectClose(cpu_test::run(layer, emulated(set, {.left = 3, .right = 1}), threads),
                        expected, layer, kOfMagnitudeOfFloats);
        }
    }
}

Layer denseLayer(RandomValues& random, int32_t rows, int32_t depth, int32_t channels) {
    Layer layer;
    layer.descriptor = FullyConnected{};
    layer.x = random.values(typeOf(DataType::FLOAT32, {rows, depth}));
    layer.weights = random.values(typeOf(DataType::FLOAT32, {channels, depth}));
    layer.bias = random.values(typeOf(DataType::FLOAT32, {channels}));
    layer.output = typeOf(DataType::FLOAT32, {});
    layer.relaxed = true;
    return layer;
}

Layer featureMapLayer(RandomValues& random, const Shape& x, int32_t channels, int32_t side,
                      int32_t stride = 1) {
    Layer layer = denseLayer(random, 1, 1, channels);
    layer.descriptor =
            Conv2d{.window = {.padding = PaddingScheme::SAME, .strideH = stride, .strideW = stride},
                   .activation = static_cast<Activation>(random.integer(0, 3))};
    layer.x = random.values(typeOf(DataType::FLOAT32, x));
    layer.weights = random.values(typeOf(DataType::FLOAT32, {channels, side, side, x[3]}));
    return layer;
}

class Bf16SplitConvGemms : public testing::Test {
  protected:
    void checkRandom(Kind kind, int rounds) {
        for (int round = 0; round < rounds && !HasFailure(); ++round) {
            const Layer layer =
                    cpu_test::randomLayer(mRandom, kind, DataType::FLOAT32, DataType::FLOAT32);
            SCOPED_TRACE("round " + std::to_string(round) + ": x " + layer.x.type.toString() +
                         ", weights " + layer.weights.type.shape.toString());
            expectPartsAgree(layer);
        }
    }

    RandomValues mRandom;
    testing::ScopedTrace mTrace = {__FILE__, __LINE__, mRandom.seedText()};
};

TEST_F(Bf16SplitConvGemms, AreCloseToTheReferences) {
    checkRandom(Kind::CONVOLUTION, 4);
    checkRandom(Kind::GROUPED, 3);
    checkRandom(Kind::FULLY_CONNECTED, 6);
}

// Blocks of rows of one tile and of two, panels alone and in pairs, and ends of each.
TEST_F(Bf16SplitConvGemms, OfAnyExtentsAreCloseToTheReferences) {
    constexpr int32_t kDepths[] = {1, 16, 32, 47, 96};
    size_t next = 0;
    for (const int32_t rows : {1, 16, 17, 32, 33, 70}) {
        for (const int32_t channels : {1, 16, 31, 50}) {
            const int32_t depth = kDepths[next++ % std::size(kDepths)];
            SCOPED_TRACE(std::to_string(rows) + ", " + std::to_string(depth) + ", " +
                         std::to_string(channels));
            expectPartsAgree(denseLayer(mRandom, rows, depth, channels));
        }
    }
}

// Runs of whole tiles and others, which are put together first.
TEST_F(Bf16SplitConvGemms, OfWindowsAreCloseToTheReferences) {
    expectPartsAgree(featureMapLayer(mRandom, {2, 7, 9, 32}, 24, 3));
    expectPartsAgree(featureMapLayer(mRandom, {1, 9, 8, 20}, 33, 3, 2));
    expectPartsAgree(featureMapLayer(mRandom, {1, 21, 23, 3}, 32, 7, 2));
    expectPartsAgree(featureMapLayer(mRandom, {1, 14, 14, 40}, 32, 1, 2));
}

// So many that panels go by in chunks, for several blocks of rows at once.
TEST_F(Bf16SplitConvGemms, OfManyWeightsAreCloseToTheReferences) {
    const Layer layer = denseLayer(mRandom, 75, 1030, 290);
    const InstructionSet set = cpu::availableInstructionSets().back();
    expectClose(cpu_test::run(layer, emulated(set), 2), cpu_test::run(layer, makeCpuRef(), 1),
                layer);
}

TEST_F(Bf16SplitConvGemms, ZeroTilesBehindTheirLastProduct) {
    for (const cpu::HiLoSplit parts :
         {cpu::HiLoSplit{.left = 2, .right = 2}, cpu::HiLoSplit{.left = 3, .right = 1}}) {
        Layer layer = denseLayer(mRandom, 40, 96, 48);
        layer.weights = changed(layer.weights, asBfloat16);
        TileUnit::ofThread().takeLoads();
        cpu_test::run(layer, emulated(cpu::availableInstructionSets().back(), parts), 1);
        const TileUnit::Loads loads = TileUnit::ofThread().takeLoads();
        EXPECT_GT(loads.overFree, 0);
        EXPECT_EQ(loads.overLoaded, 0) << parts.left << " parts";
    }
}

TEST_F(Bf16SplitConvGemms, AreAddedToWhatLiesBesideThem) {
    Layer layer = featureMapLayer(mRandom, {1, 7, 9, 24}, 50, 1);
    layer.addend = mRandom.values(typeOf(DataType::FLOAT32, {1, 7, 9, 50}));
    expectPartsAgree(layer);
}

// NNAPI lets relaxed models round to float16, which is exact to 2^-11.
TEST_F(Bf16SplitConvGemms, AreMoreExactThanHalves) {
    for (const int32_t depth : {256, 1024}) {
        const Layer layer = denseLayer(mRandom, 32, depth, 48);
        const InstructionSet set = cpu::availableInstructionSets().back();
        const std::vector<float> a = elementsOf(cpu_test::run(layer, emulated(set), 1).output);
        const std::vector<float> x = elementsOf(layer.x);
        const std::vector<float> w = elementsOf(layer.weights);
        const std::vector<float> bias = elementsOf(layer.bias);
        double worst = 0.0;
        double squares = 0.0;
        for (size_t i = 0; i < a.size(); ++i) {
            const size_t length = static_cast<size_t>(depth);
            double sum = bias[i % 48];
            for (size_t k = 0; k < length; ++k) {
                sum += static_cast<double>(x[i / 48 * length + k]) * w[i % 48 * length + k];
            }
            worst = std::max(worst, std::abs(a[i] - sum));
            squares += sum * sum;
        }
        // Halves would give 1.25e-3, two parts gave 2.3e-5 where that was measured.
        EXPECT_LT(worst, 6e-5 * std::sqrt(squares / static_cast<double>(a.size())));
    }
}

// ---- Weights in two bytes -----------------------------------------------------------------------

TEST_F(Bf16SplitConvGemms, OfBfloatWeightsAreCloserToTheReferences) {
    for (const int32_t rows : {1, 17, 33, 70}) {
        expectPartsOfBfloatsAgree(denseLayer(mRandom, rows, 96, 50));
    }
    expectPartsOfBfloatsAgree(featureMapLayer(mRandom, {2, 7, 9, 32}, 24, 3));
    expectPartsOfBfloatsAgree(featureMapLayer(mRandom, {1, 9, 8, 20}, 33, 3, 2));
    expectPartsOfBfloatsAgree(denseLayer(mRandom, 75, 1030, 290));
}

TEST_F(Bf16SplitConvGemms, OfUntameRowsWithBfloatWeightsAreThoseOfFloats) {
    for (const float value : {kInfinity, kNan, FLT_MAX, 0x1p41F}) {
        SCOPED_TRACE(value);
        Layer layer = denseLayer(mRandom, 75, 70, 40);
        layer.weights = changed(layer.weights, [](float weight) { return weight / 4; });
        std::vector<float> x = elementsOf(layer.x);
        x[35 * 70 + 50] = value;
        layer.x = valuesOf({75, 70}, x);
        expectPartsOfBfloatsAgree(layer);
    }
}

// ---- What the unit would get wrong --------------------------------------------------------------

// In one row of the second block: the others stay as they are.
TEST_F(Bf16SplitConvGemms, OfUntameRowsAreThoseOfFloats) {
    for (const float value : {kInfinity, -kInfinity, kNan, FLT_MAX, -FLT_MAX, 0x1p41F, 0x1p127F}) {
        SCOPED_TRACE(value);
        Layer layer = denseLayer(mRandom, 75, 70, 40);
        layer.weights = changed(layer.weights, [](float weight) { return weight / 4; });
        std::vector<float> x = elementsOf(layer.x);
        x[35 * 70 + 50] = value;
        layer.x = valuesOf({75, 70}, x);
        expectPartsAgree(layer);
    }
}

// Any NaN, whatever becomes of its bits when they are rounded.
TEST_F(Bf16SplitConvGemms, OfAnyNanAreNan) {
    for (const uint32_t bits : {0x7F800001U, 0x7FC00000U, 0x7FFFFFFFU, 0xFFFFFFFFU, 0xFF800001U}) {
        Layer layer = denseLayer(mRandom, 20, 40, 20);
        std::vector<float> x = elementsOf(layer.x);
        x[5 * 40 + 17] = std::bit_cast<float>(bits);
        layer.x = valuesOf({20, 40}, x);
        expectPartsAgree(layer);
    }
}

// Without a bias that hides it.
TEST_F(Bf16SplitConvGemms, OfRowsOfVerySmallNumbersAreThoseOfFloats) {
    for (const float scale : {0x1p-41F, 0x1p-100F, 0x1p-126F, 0x1p-130F, 0x1p-140F}) {
        SCOPED_TRACE(scale);
        Layer layer = denseLayer(mRandom, 40, 70, 20);
        layer.bias = changed(layer.bias, [](float) { return 0.0F; });
        std::vector<float> x = elementsOf(layer.x);
        for (size_t i = 0; i < size_t{3} * 70; ++i) {
            x[i] *= scale;
        }
        layer.x = valuesOf({40, 70}, x);
        expectPartsAgree(layer);
    }
}

TEST_F(Bf16SplitConvGemms, OfZerosAreTheBias) {
    Layer layer = denseLayer(mRandom, 40, 70, 20);
    layer.x = changed(layer.x, [](float) { return 0.0F; });
    expectPartsAgree(layer);
}

// Where the feature map's border is padded, zeros meet what is no number.
TEST_F(Bf16SplitConvGemms, OfUntameFeatureMapsAreThoseOfFloats) {
    Layer layer = featureMapLayer(mRandom, {1, 9, 9, 24}, 20, 3);
    std::vector<float> x = elementsOf(layer.x);
    x[0] = kInfinity;
    x[500] = kNan;
    layer.x = valuesOf({1, 9, 9, 24}, x);
    expectPartsAgree(layer);
}

// ---- Which layers -------------------------------------------------------------------------------

// The kernel that CpuAcc chooses for the layer.
std::string kernelOf(const Layer& layer, bool fastMath = false) {
    const auto backend = makeCpuAcc(InstructionSet::AVX512_AMX);
    const BackendList backends = {backend.get()};
    BuildOptions options;
    options.compile.fastMath = fastMath;
    return Program::build(analyze(cpu_test::graphOf(layer), backends, nullptr).value(), backends,
                          options)
            .value()
            ->placement()
            .front()
            .kernel;
}

// Kernels can be chosen on processors that can't run them.
class Bf16SplitConvGemmsOfCpuAcc : public Bf16SplitConvGemms {
  protected:
    void SetUp() override {
        mForm = cpu::bf16SplitGemm(InstructionSet::AVX512_AMX);
        if (mForm == nullptr) {
            GTEST_SKIP() << "no processor of this architecture has AMX";
        }
    }
    bool isSplit(const Layer& layer, bool fastMath = false) const {
        return kernelOf(layer, fastMath).find(mForm->tile) != std::string::npos;
    }

    const cpu::Bf16SplitGemm* mForm = nullptr;
};

TEST_F(Bf16SplitConvGemmsOfCpuAcc, AreOfModelsThatMayBeRough) {
    Layer layer = denseLayer(mRandom, 128, 256, 256);
    EXPECT_TRUE(isSplit(layer));
    layer.relaxed = false;
    EXPECT_FALSE(isSplit(layer));
    EXPECT_TRUE(isSplit(layer, true));
}

// Of strict models, too, as three parts of a row are all of it.
TEST_F(Bf16SplitConvGemmsOfCpuAcc, AreOfBfloatWeights) {
    Layer layer = denseLayer(mRandom, 128, 256, 256);
    const std::string name = std::string(mForm->tile) + " 2xbf16 avx512amx";
    EXPECT_NE(kernelOf(layer).find(name), std::string::npos) << kernelOf(layer);
    layer.weights = changed(layer.weights, asBfloat16);
    EXPECT_NE(kernelOf(layer).find("2xbf16 by bf16"), std::string::npos) << kernelOf(layer);
    layer.relaxed = false;
    EXPECT_NE(kernelOf(layer).find("3xbf16 by bf16"), std::string::npos) << kernelOf(layer);
    std::vector<float> weights = elementsOf(layer.weights);
    weights.back() = 0x1.01p0F + 0x1p-20F;
    layer.weights = valuesOf({256, 256}, weights);
    EXPECT_FALSE(isSplit(layer)) << "one of them has another part";
}

TEST_F(Bf16SplitConvGemmsOfCpuAcc, AreThoseThatPay) {
    EXPECT_TRUE(isSplit(featureMapLayer(mRandom, {1, 56, 56, 64}, 256, 1)));
    EXPECT_TRUE(isSplit(featureMapLayer(mRandom, {1, 56, 56, 64}, 128, 1, 2)));
    EXPECT_FALSE(isSplit(denseLayer(mRandom, 1, 512, 1000))) << "a tile would have one row";
    EXPECT_FALSE(isSplit(denseLayer(mRandom, 1024, 16, 16))) << "rows are split for little";
    Layer layer = featureMapLayer(mRandom, {1, 56, 56, 64}, 256, 1);
    layer.shapeAtRunTime = true;
    EXPECT_FALSE(isSplit(layer)) << "there may be one row";
}

TEST_F(Bf16SplitConvGemmsOfCpuAcc, AreNotOfWeightsThatTheUnitGetsWrong) {
    const auto withWeight = [&](float weight, float bias) {
        Layer layer = denseLayer(mRandom, 128, 256, 256);
        std::vector<float> weights = elementsOf(layer.weights);
        weights[1000] = weight;
        layer.weights = valuesOf({256, 256}, weights);
        std::vector<float> biases = elementsOf(layer.bias);
        biases[9] = bias;
        layer.bias = valuesOf({256}, biases);
        return isSplit(layer);
    };
    EXPECT_TRUE(withWeight(0.5F, 1.0F));
    EXPECT_TRUE(withWeight(0.0F, 0.0F));
    EXPECT_TRUE(withWeight(0x1p-130F, 0.0F)) << "the column's other weights are usual";
    for (const float value : {kInfinity, kNan, FLT_MAX, 0x1p41F}) {
        EXPECT_FALSE(withWeight(value, 0.0F)) << value;
    }
    for (const float value : {kInfinity, kNan, FLT_MAX, -FLT_MAX, FLT_TRUE_MIN}) {
        EXPECT_FALSE(withWeight(0.0F, value)) << value;
    }
}

TEST_F(Bf16SplitConvGemmsOfCpuAcc, MayHaveColumnsOfNothingButABias) {
    Layer layer = denseLayer(mRandom, 128, 256, 256);
    std::vector<float> weights = elementsOf(layer.weights);
    for (size_t k = 0; k < 256; ++k) {
        weights[k] *= 0x1p-120F;
    }
    layer.weights = valuesOf({256, 256}, weights);
    std::vector<float> bias = elementsOf(layer.bias);
    bias[0] = 0.01F;
    layer.bias = valuesOf({256}, bias);
    EXPECT_TRUE(isSplit(layer));
    bias[0] = 0.0F;
    layer.bias = valuesOf({256}, bias);
    EXPECT_FALSE(isSplit(layer)) << "the results are as small";
}

TEST_F(Bf16SplitConvGemmsOfCpuAcc, AreCloseToTheReferencesOnThisProcessor) {
    if (cpu::bestInstructionSet() != InstructionSet::AVX512_AMX) {
        GTEST_SKIP() << "this processor has no AMX for bfloat16, or the system refuses it";
    }
    std::vector<Layer> layers = {denseLayer(mRandom, 128, 256, 1024),
                                 denseLayer(mRandom, 131, 1030, 520),
                                 featureMapLayer(mRandom, {1, 28, 28, 128}, 200, 1),
                                 featureMapLayer(mRandom, {2, 14, 14, 96}, 576, 1),
                                 featureMapLayer(mRandom, {1, 28, 28, 64}, 72, 3, 2)};
    Layer untame = denseLayer(mRandom, 200, 256, 256);
    std::vector<float> x = elementsOf(untame.x);
    x[3000] = kInfinity;
    x[40000] = kNan;
    x[50000] = FLT_MAX / 1024;
    untame.x = valuesOf({200, 256}, x);
    layers.push_back(untame);
    const auto check = [&](const Layer& layer, double ofMagnitude) {
        SCOPED_TRACE(layer.x.type.shape.toString());
        EXPECT_TRUE(isSplit(layer));
        const Outcome expected = cpu_test::run(layer, makeCpuRef(), 1);
        for (const size_t threads : {size_t{1}, size_t{2}, size_t{3}}) {
            expectClose(cpu_test::run(layer, makeCpuAcc(InstructionSet::AVX512_AMX), threads),
                        expected, layer, ofMagnitude);
        }
    };
    for (Layer& layer : layers) {
        check(layer, kOfMagnitude);
        layer.weights = changed(layer.weights, asBfloat16);
        check(layer, kOfMagnitudeByOnePart);
        layer.relaxed = false;
        check(layer, kOfMagnitudeOfFloats);
    }
}

}  // namespace
}  // namespace halyard::engine::split_test
