// SPDX-License-Identifier: Apache-2.0
//
// CpuAcc's convolutions and fully connected layers against CpuRef's, in every form that this
// processor runs.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/cpu/cpu_acc.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/backends/ref/cpu_ref.h"
#include "tests/engine/cpu_acc/weighted_layer.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine {
namespace {

using cpu::InstructionSet;
using cpu_test::expectEqual;
using cpu_test::Kind;
using cpu_test::Layer;
using cpu_test::randomLayer;
using cpu_test::randomWindow;
using cpu_test::run;
using cpu_test::Types;
using cpu_test::typesFor;
using ref_test::RandomValues;
using ref_test::typeOf;
using ref_test::Values;

void expectSameAsReference(const Layer& layer) {
    const cpu_test::Outcome expected = run(layer, makeCpuRef(), 1);
    for (const InstructionSet set : cpu::availableInstructionSets()) {
        for (const size_t threads : {size_t{1}, size_t{3}}) {
            SCOPED_TRACE(std::string(toString(set)) + ", threads: " + std::to_string(threads));
            const cpu_test::Outcome actual = run(layer, makeCpuAcc(set), threads);
            expectEqual(actual.output, expected.output);
            EXPECT_EQ(actual.allocations, 0U);
        }
    }
}

struct Case {
    const char* name;
    DataType x;
    DataType weights;
};

class MultiplyAccumulates : public testing::TestWithParam<Case> {
  protected:
    void check(Kind kind, int rounds) {
        RandomValues random;
        SCOPED_TRACE(random.seedText());
        for (int round = 0; round < rounds && !HasFailure(); ++round) {
            const Layer layer = randomLayer(random, kind, GetParam().x, GetParam().weights);
            SCOPED_TRACE("round " + std::to_string(round) + ": x " + layer.x.type.toString() +
                         ", weights " + layer.weights.type.shape.toString());
            expectSameAsReference(layer);
        }
    }
};

TEST_P(MultiplyAccumulates, OfConvolutionsAreTheReferences) {
    check(Kind::CONVOLUTION, 12);
}

TEST_P(MultiplyAccumulates, OfGroupsAreTheReferences) {
    check(Kind::GROUPED, 8);
}

TEST_P(MultiplyAccumulates, OfDepthwiseConvolutionsAreTheReferences) {
    check(Kind::DEPTHWISE, 12);
}

TEST_P(MultiplyAccumulates, OfFullyConnectedLayersAreTheReferences) {
    check(Kind::FULLY_CONNECTED, 12);
}

// Height and width change places there, and with them whatever a window says of either.
TEST_P(MultiplyAccumulates, OfFeatureMapsOfWidthOneAreTheReferences) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 8 && !HasFailure(); ++round) {
        Window2d window = randomWindow(random);
        window.left = window.right = 0;
        const int32_t channels = random.integer(1, 40);
        const int32_t depth = random.integer(1, 20);
        Types types = typesFor(random, GetParam().x, GetParam().weights, channels, 0);
        types.x.shape = {random.integer(1, 2), random.integer(16, 50), 1, depth};
        types.weights.shape = {channels, random.integer(2, 5), 1, depth};
        types.bias.shape = {channels};
        if (round == 0) {  // a window that begins and ends beyond the width
            window.padding = PaddingScheme::EXPLICIT;
            window.left = 1;
            window.right = 1;
            window.strideW = 3;
        }
        Layer layer;
        layer.descriptor = Conv2d{.window = window};
        layer.x = random.values(types.x);
        layer.weights = random.values(types.weights);
        layer.bias =
                isFloat(GetParam().x)
                        ? random.values(types.bias)
                        : ref_test::pack(types.bias,
                                         std::vector<int32_t>(static_cast<size_t>(channels), 7));
        layer.output = types.output;
        SCOPED_TRACE("round " + std::to_string(round) + ": x " + layer.x.type.toString() +
                     ", weights " + layer.weights.type.shape.toString());
        expectSameAsReference(layer);
    }
}

INSTANTIATE_TEST_SUITE_P(
        , MultiplyAccumulates,
        testing::Values(Case{"Float32", DataType::FLOAT32, DataType::FLOAT32},
                        Case{"Float16", DataType::FLOAT16, DataType::FLOAT16},
                        Case{"Unsigned", DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM},
                        Case{"UnsignedPerChannel", DataType::QUANT8_ASYMM,
                             DataType::QUANT8_SYMM_PER_CHANNEL},
                        Case{"Signed", DataType::QUANT8_ASYMM_SIGNED,
                             DataType::QUANT8_ASYMM_SIGNED},
                        Case{"SignedPerChannel", DataType::QUANT8_ASYMM_SIGNED,
                             DataType::QUANT8_SYMM_PER_CHANNEL}),
        [](const testing::TestParamInfo<Case>& instance) { return instance.param.name; });

// The bytes that sums are largest and smallest for, as long as 32 bits hold them.
TEST(MultiplyAccumulatesOfBytes, AreExactAtTheEndsOfTheirRange) {
    for (const int32_t x : {0, 255}) {
        for (const int32_t w : {-128, 127}) {
            Layer layer;
            layer.descriptor = FullyConnected{};
            const int32_t depth = 4000;
            layer.x = ref_test::quantized(typeOf(DataType::QUANT8_ASYMM, {2, depth}, 1.0F, 255 - x),
                                          std::vector<int32_t>(size_t{2} * depth, x));
            layer.weights =
                    ref_test::quantized(typeOf(DataType::QUANT8_ASYMM_SIGNED, {3, depth}, 1.0F, 0),
                                        std::vector<int32_t>(size_t{3} * depth, w));
            layer.bias = ref_test::ints({3}, {0, 1, -1});
            layer.output = typeOf(DataType::QUANT8_ASYMM, {}, 1.0e6F, 128);
            expectSameAsReference(layer);
        }
    }
}

// Lines that are half as long as a tile of some instruction set: two of them are one.
TEST(MultiplyAccumulatesOfFloats, OfShortLinesAreTheReferences) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const int32_t width : {3, 4, 7}) {
        for (const int32_t height : {1, 2, 5}) {
            SCOPED_TRACE(std::to_string(height) + "x" + std::to_string(width));
            Layer layer;
            layer.descriptor = Conv2d{.window = {.padding = PaddingScheme::SAME}};
            layer.x = random.values(typeOf(DataType::FLOAT32, {2, height, width, 5}));
            layer.weights = random.values(typeOf(DataType::FLOAT32, {50, 3, 3, 5}));
            layer.bias = random.values(typeOf(DataType::FLOAT32, {50}));
            layer.output = typeOf(DataType::FLOAT32, {});
            expectSameAsReference(layer);
        }
    }
}

// Feature maps of which much is edge.
TEST(MultiplyAccumulatesOfFloats, OfSmallFeatureMapsAreTheReferences) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const int32_t side : {3, 5}) {
        for (const int32_t stride : {1, 2}) {
            for (const auto& [height, width, channels] :
                 {std::array{7, 7, 150}, std::array{5, 12, 16}, std::array{60, 14, 37}}) {
                SCOPED_TRACE("side " + std::to_string(side) + ", stride " + std::to_string(stride) +
                             ", height " + std::to_string(height));
                Window2d window = randomWindow(random);
                window.strideH = stride;
                window.strideW = 3 - stride;
                window.dilationH = window.dilationW = 1;
                Layer layer;
                layer.descriptor =
                        DepthwiseConv2d{.window = window, .activation = Activation::RELU6};
                layer.x = random.values(typeOf(DataType::FLOAT32, {2, height, width, channels}));
                layer.weights = random.values(typeOf(DataType::FLOAT32, {1, side, side, channels}));
                layer.bias = random.values(typeOf(DataType::FLOAT32, {channels}));
                layer.output = typeOf(DataType::FLOAT32, {});
                expectSameAsReference(layer);
            }
        }
    }
}

// Filters whose columns are kept from spatial position to spatial position, of vectors that spatial
// positions share or not.
TEST(MultiplyAccumulatesOfBytes, OfFewAndManyChannelsAreTheReferences) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const int32_t side : {3, 5}) {
        for (const int32_t stride : {1, 2}) {
            for (const int32_t channels : {9, 16, 24, 32, 40, 64, 72, 100, 144}) {
                SCOPED_TRACE("side " + std::to_string(side) + ", stride " + std::to_string(stride) +
                             ", channels " + std::to_string(channels));
                Types types = typesFor(random, DataType::QUANT8_ASYMM_SIGNED,
                                       DataType::QUANT8_SYMM_PER_CHANNEL, channels, 3);
                types.x.shape = {1, random.integer(5, 9), random.integer(5, 24), channels};
                types.weights.shape = {1, side, side, channels};
                types.bias.shape = {channels};
                Window2d window = randomWindow(random);
                window.strideW = stride;
                window.dilationH = window.dilationW = 1;
                Layer layer;
                layer.descriptor = DepthwiseConv2d{.window = window};
                layer.x = random.values(types.x);
                layer.weights = random.values(types.weights);
                layer.bias = ref_test::pack(types.bias,
                                            std::vector<int32_t>(static_cast<size_t>(channels)));
                layer.output = types.output;
                expectSameAsReference(layer);
            }
        }
    }
}

// More weights than there is to multiply with them: threads share the columns.
TEST(MultiplyAccumulatesOfManyWeights, AreTheReferencesForFewRows) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const auto& [x, weights] :
         {std::pair(DataType::FLOAT32, DataType::FLOAT32),
          std::pair(DataType::QUANT8_ASYMM_SIGNED, DataType::QUANT8_SYMM_PER_CHANNEL)}) {
        for (const int32_t side : {1, 3}) {
            for (const int32_t rows : {1, 5, 9}) {
                SCOPED_TRACE(std::to_string(side) + ", rows " + std::to_string(rows));
                constexpr int32_t kDepth = 130;
                constexpr int32_t kChannels = 1001;
                Types types = typesFor(random, x, weights, kChannels, 0);
                types.x.shape = {1, rows, 7, kDepth};
                types.weights.shape = {kChannels, side, side, kDepth};
                types.bias.shape = {kChannels};
                Layer layer;
                layer.descriptor = Conv2d{.window = {.padding = PaddingScheme::SAME}};
                layer.x = random.values(types.x);
                layer.weights = random.values(types.weights);
                layer.bias = isFloat(x)
                                     ? random.values(types.bias)
                                     : ref_test::pack(types.bias, std::vector<int32_t>(kChannels));
                layer.output = types.output;
                expectSameAsReference(layer);
            }
        }
    }
}

// One row, and more weights for one thread than its L2 keeps, of floats and of bfloat16.
TEST(MultiplyAccumulatesOfManyWeights, AreTheReferencesForOneRow) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const bool areBfloats : {false, true}) {
        SCOPED_TRACE(areBfloats ? "bfloat16" : "floats");
        constexpr int32_t kDepth = 1100;
        constexpr int32_t kChannels = 1001;
        Types types = typesFor(random, DataType::FLOAT32, DataType::FLOAT32, kChannels, 0);
        types.x.shape = {1, kDepth};
        types.weights.shape = {kChannels, kDepth};
        types.bias.shape = {kChannels};
        Layer layer;
        layer.descriptor = FullyConnected{};
        layer.x = random.values(types.x);
        layer.weights = random.values(types.weights);
        for (size_t i = 0; areBfloats && i < layer.weights.bytes.size(); i += sizeof(float)) {
            layer.weights.bytes[i] = layer.weights.bytes[i + 1] = {};
        }
        layer.bias = random.values(types.bias);
        layer.output = types.output;
        expectSameAsReference(layer);
    }
}

// Taps beside the input are no zeros either: it would make a NaN of an infinite weight.
TEST(MultiplyAccumulatesOfFloats, LeaveOutInfiniteWeightsBesideTheInput) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const int32_t side : {1, 3, 5}) {
        Layer layer;
        layer.descriptor = DepthwiseConv2d{.window = {.padding = PaddingScheme::SAME}};
        std::vector<float> weights(static_cast<size_t>(side * side * 20), 0.5F);
        weights[3] = INFINITY;
        layer.x = random.values(typeOf(DataType::FLOAT32, {1, 7, 7, 20}));
        layer.weights = ref_test::floats({1, side, side, 20}, weights);
        layer.bias = random.values(typeOf(DataType::FLOAT32, {20}));
        layer.output = typeOf(DataType::FLOAT32, {});
        expectSameAsReference(layer);
        for (const DataType type : {DataType::FLOAT32, DataType::FLOAT16}) {
            std::vector<float> filters(static_cast<size_t>(12 * side * side * 4), 0.5F);
            filters[0] = INFINITY;
            filters.back() = std::nanf("");
            for (const auto& window :
                 {Window2d{.padding = PaddingScheme::SAME},
                  Window2d{.padding = PaddingScheme::EXPLICIT, .left = 1, .strideW = 2}}) {
                layer.descriptor = Conv2d{.window = window};
                layer.x = random.values(typeOf(type, {1, 7, 7, 4}));
                layer.weights = type == DataType::FLOAT32
                                        ? ref_test::floats({12, side, side, 4}, filters)
                                        : ref_test::halves({12, side, side, 4}, filters);
                layer.bias = random.values(typeOf(type, {12}));
                layer.output = typeOf(type, {});
                expectSameAsReference(layer);
            }
        }
    }
}

// With weights as they are, what does not lie on the input takes no part, and what does goes
// through as IEEE 754 has it.
TEST(MultiplyAccumulatesOfFloats, PassOnWhatIsNoNumber) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const float special : {std::nanf(""), INFINITY, -INFINITY}) {
        for (const auto activation : {Activation::NONE, Activation::RELU, Activation::RELU6}) {
            Layer layer;
            layer.descriptor =
                    Conv2d{.window = {.padding = PaddingScheme::SAME}, .activation = activation};
            std::vector<float> x(size_t{9} * 9 * 4, 1.0F);
            x[size_t{4} * 40] = special;
            layer.x = ref_test::floats({1, 9, 9, 4}, x);
            layer.weights = random.values(typeOf(DataType::FLOAT32, {20, 3, 3, 4}));
            layer.bias = random.values(typeOf(DataType::FLOAT32, {20}));
            layer.output = typeOf(DataType::FLOAT32, {});
            expectSameAsReference(layer);
            layer.descriptor = DepthwiseConv2d{.window = {.padding = PaddingScheme::SAME},
                                               .activation = activation};
            layer.weights = random.values(typeOf(DataType::FLOAT32, {1, 3, 3, 4}));
            layer.bias = random.values(typeOf(DataType::FLOAT32, {4}));
            expectSameAsReference(layer);
        }
    }
}

TEST(MultiplyAccumulatesWithoutElements, AreComputed) {
    RandomValues random;
    for (const DataType type : {DataType::FLOAT32, DataType::QUANT8_ASYMM}) {
        Layer layer;
        layer.descriptor = Conv2d{.window = {.padding = PaddingScheme::SAME}};
        Types types = typesFor(random, type, type, 5, 0);
        types.x.shape = {0, 6, 6, 3};
        types.weights.shape = {5, 3, 3, 3};
        types.bias.shape = {5};
        layer.x = random.values(types.x);
        layer.weights = random.values(types.weights);
        layer.bias = isFloat(type) ? random.values(types.bias)
                                   : ref_test::pack(types.bias, std::vector<int32_t>(5));
        layer.output = types.output;
        expectSameAsReference(layer);
    }
}

}  // namespace
}  // namespace halyard::engine
