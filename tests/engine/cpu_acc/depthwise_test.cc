// SPDX-License-Identifier: Apache-2.0
//
// CpuAcc's depthwise convolutions against CpuRef's, where their kernels have edges of their own: at
// the ends of a line and of the channels, with filters that have loops of their own and others, and
// with weights at the ends of their range.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/backends/cpu/cpu_acc.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/backends/ref/cpu_ref.h"
#include "tests/engine/cpu_acc/weighted_layer.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine {
namespace {

using cpu_test::expectEqual;
using cpu_test::Layer;
using cpu_test::Outcome;
using cpu_test::run;
using cpu_test::Types;
using cpu_test::typesFor;
using ref_test::RandomValues;
using ref_test::Values;

struct Geometry {
    int32_t height = 6, width = 9;
    int32_t channels = 20;
    int32_t filterH = 3, filterW = 3;
    Window2d window = {.padding = PaddingScheme::SAME};
    int32_t multiplier = 1;
    Activation activation = Activation::NONE;

    std::string toString() const {
        return std::to_string(height) + "x" + std::to_string(width) + "x" +
               std::to_string(channels) + ", filter " + std::to_string(filterH) + "x" +
               std::to_string(filterW) + ", strides " + std::to_string(window.strideH) + ", " +
               std::to_string(window.strideW) + ", multiplier " + std::to_string(multiplier);
    }
};

Layer layerOf(RandomValues& random, const Geometry& geometry, DataType x, DataType weights) {
    const int32_t channels = geometry.channels * geometry.multiplier;
    Types types = typesFor(random, x, weights, channels, 3);
    types.x.shape = {1, geometry.height, geometry.width, geometry.channels};
    types.weights.shape = {1, geometry.filterH, geometry.filterW, channels};
    types.bias.shape = {channels};
    Layer layer;
    layer.descriptor = DepthwiseConv2d{.window = geometry.window,
                                       .multiplier = geometry.multiplier,
                                       .activation = geometry.activation};
    layer.x = random.values(types.x);
    layer.weights = random.values(types.weights);
    if (isFloat(x)) {
        layer.bias = random.values(types.bias);
    } else {
        std::vector<int32_t> bias(static_cast<size_t>(channels));
        for (int32_t& element : bias) {
            element = random.integer(-20000, 20000);
        }
        layer.bias = ref_test::pack(types.bias, bias);
    }
    layer.output = types.output;
    return layer;
}

// Of signed weights, -128 becomes -127: two products fit 16 bits then.
void leaveOutLeast(Values& weights) {
    for (uint8_t& byte : weights.bytes) {
        byte = byte == 0x80 ? 0x81 : byte;
    }
}

void expectSameAsReference(const Layer& layer) {
    const Outcome expected = run(layer, makeCpuRef(), 1);
    for (const cpu::InstructionSet set : cpu::availableInstructionSets()) {
        SCOPED_TRACE(std::string(toString(set)));
        const Outcome actual = run(layer, makeCpuAcc(set), 1);
        expectEqual(actual.output, expected.output);
        EXPECT_EQ(actual.allocations, 0U);
    }
}

// In all types, and bytes of all forms: dot products, pairs of products and 16-bit ones.
void expectAllSameAsReference(RandomValues& random, const Geometry& geometry) {
    SCOPED_TRACE(geometry.toString());
    expectSameAsReference(layerOf(random, geometry, DataType::FLOAT32, DataType::FLOAT32));
    for (const DataType x : {DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM_SIGNED}) {
        SCOPED_TRACE(toString(x));
        Layer layer = layerOf(random, geometry, x, DataType::QUANT8_SYMM_PER_CHANNEL);
        expectSameAsReference(layer);
        leaveOutLeast(layer.weights);
        expectSameAsReference(layer);
        expectSameAsReference(layerOf(random, geometry, x, x));
    }
}

TEST(Depthwise, OfAnyNumberOfChannelsIsTheReferences) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const int32_t channels : {1, 3, 4, 7, 8, 15, 16, 17, 24, 31, 33, 64}) {
        expectAllSameAsReference(random, {.channels = channels});
    }
}

// Four spatial positions go together, and three.
TEST(Depthwise, OfLinesOfAnyLengthIsTheReferences) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int32_t width = 1; width <= 13; ++width) {
        for (const int32_t side : {3, 5}) {
            for (const int32_t stride : {1, 2}) {
                Geometry geometry = {.height = 3, .width = width, .channels = 16};
                geometry.filterH = geometry.filterW = side;
                geometry.window.strideW = stride;
                expectAllSameAsReference(random, geometry);
            }
        }
    }
    expectAllSameAsReference(random, {.width = 45, .channels = 17, .filterH = 5, .filterW = 5});
}

TEST(Depthwise, OfAnyFilterIsTheReferences) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const auto& [filterH, filterW] :
         {std::array{1, 1}, std::array{1, 7}, std::array{7, 1}, std::array{2, 2}, std::array{3, 5},
          std::array{5, 3}, std::array{4, 4}, std::array{7, 7}, std::array{9, 2}}) {
        for (const int32_t stride : {1, 2, 3}) {
            for (const int32_t dilation : {1, 2}) {
                Geometry geometry = {
                        .height = 9, .width = 12, .filterH = filterH, .filterW = filterW};
                geometry.window.strideH = geometry.window.strideW = stride;
                geometry.window.dilationH = geometry.window.dilationW = dilation;
                expectAllSameAsReference(random, geometry);
            }
        }
    }
}

// More of it than half of the filter, so that a window may lie beside the input as a whole.
TEST(Depthwise, WithPaddingOnAnySideIsTheReferences) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const int32_t side : {3, 5}) {
        for (const int32_t stride : {1, 2, 3}) {
            for (int32_t which = 0; which < 4; ++which) {
                for (const int32_t padding : {1, 2, 6}) {
                    Geometry geometry = {.height = 6, .width = 8};
                    geometry.filterH = geometry.filterW = side;
                    Window2d& window = geometry.window;
                    window.padding = PaddingScheme::EXPLICIT;
                    window.strideH = window.strideW = stride;
                    (which == 0   ? window.left
                     : which == 1 ? window.right
                     : which == 2 ? window.top
                                  : window.bottom) = padding;
                    expectAllSameAsReference(random, geometry);
                }
            }
        }
    }
}

TEST(Depthwise, WithMultipliersAndActivationsIsTheReferences) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const int32_t multiplier : {2, 3}) {
        for (const auto activation : {Activation::RELU, Activation::RELU1, Activation::RELU6}) {
            expectAllSameAsReference(
                    random, {.channels = 9, .multiplier = multiplier, .activation = activation});
        }
    }
}

// Bytes and weights that sums are largest for; outputs that saturate on both sides.
TEST(DepthwiseOfBytes, IsExactAtTheEndsOfTheirRange) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const int32_t side : {3, 5, 7}) {
        for (const uint8_t weight : {0x80, 0x81, 0x7F}) {
            for (const uint8_t x : {0x00, 0x7F, 0x80, 0xFF}) {
                for (const DataType type :
                     {DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM_SIGNED}) {
                    Geometry geometry;
                    geometry.filterH = geometry.filterW = side;
                    Layer layer =
                            layerOf(random, geometry, type, DataType::QUANT8_SYMM_PER_CHANNEL);
                    layer.x.bytes.assign(layer.x.bytes.size(), x);
                    layer.weights.bytes.assign(layer.weights.bytes.size(), weight);
                    SCOPED_TRACE(geometry.toString() + ", weight " + std::to_string(weight) +
                                 ", x " + std::to_string(x) + ", " + layer.x.type.toString());
                    expectSameAsReference(layer);
                }
            }
        }
    }
}

}  // namespace
}  // namespace halyard::engine
