// SPDX-License-Identifier: Apache-2.0
//
// Products of rows that lie in one set of the L1d, which have tiles of fewer rows.

#include "engine/backends/cpu/hardware/l1d_sets.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/cpu/cpu_acc.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/backends/ref/cpu_ref.h"
#include "tests/engine/cpu_acc/weighted_layer.h"

namespace halyard::engine {
namespace {

using cpu_test::Layer;
using ref_test::RandomValues;

// Elements of a type from a line of the cache to the next one of its set, on most processors.
int32_t elementsOfSet(DataType type) {
    return 4096 / static_cast<int32_t>(elementSize(type));
}

Layer layerOf(RandomValues& random, NodeDescriptor descriptor, DataType type, const Shape& x,
              const Shape& weights) {
    const int32_t channels = weights[0];
    cpu_test::Types types = cpu_test::typesFor(random, type, type, channels, 0);
    types.x.shape = x;
    types.weights.shape = weights;
    types.bias.shape = {channels};
    Layer layer;
    layer.descriptor = std::move(descriptor);
    layer.x = random.values(types.x);
    layer.weights = random.values(types.weights);
    layer.bias = isFloat(type) ? random.values(types.bias)
                               : ref_test::pack(types.bias, std::vector<int32_t>(channels, -1234));
    layer.output = types.output;
    return layer;
}

void expectAgree(const Layer& layer) {
    const auto expected = cpu_test::run(layer, makeCpuRef(), 1).output;
    for (const cpu::InstructionSet set : cpu::availableInstructionSets()) {
        for (const size_t threads : {size_t{1}, size_t{3}}) {
            SCOPED_TRACE(std::string(toString(set)) + ", threads: " + std::to_string(threads));
            cpu_test::expectEqual(cpu_test::run(layer, makeCpuAcc(set), threads).output, expected);
        }
    }
}

TEST(L1dSets, TakeHalfOfATileOfFarTooManyRows) {
    constexpr cpu::L1dSets kOfEight = {.setBytes = 4096, .lines = 8};
    EXPECT_EQ(cpu::rowsThatFitL1d(14, 4096, kOfEight), 7);
    EXPECT_EQ(cpu::rowsThatFitL1d(14, 3 * 4096, kOfEight), 7);
    EXPECT_EQ(cpu::rowsThatFitL1d(14, 2048, kOfEight), 14);
    EXPECT_EQ(cpu::rowsThatFitL1d(14, 4096 + 64, kOfEight), 14);
    EXPECT_EQ(cpu::rowsThatFitL1d(8, 4096, kOfEight), 8);
    EXPECT_EQ(cpu::rowsThatFitL1d(14, 4096, {.setBytes = 4096, .lines = 12}), 14);
    EXPECT_EQ(cpu::rowsThatFitL1d(14, 4096, {}), 14);
}

TEST(L1dSets, FullyConnectedLayersOfRowsInOneAreTheReferences) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : {DataType::FLOAT32, DataType::QUANT8_ASYMM_SIGNED}) {
        for (const int32_t rows : {1, 6, 7, 8, 13, 14, 29}) {
            SCOPED_TRACE(std::to_string(rows) + " rows");
            const int32_t depth = elementsOfSet(type);
            expectAgree(layerOf(random, FullyConnected{}, type, {rows, depth}, {37, depth}));
        }
    }
}

// Lines of seven spatial positions, which tiles otherwise take two at a time.
TEST(L1dSets, ConvolutionsOfPixelsInOneAreTheReferences) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : {DataType::FLOAT32, DataType::QUANT8_ASYMM_SIGNED}) {
        for (const int32_t width : {13, 15}) {
            SCOPED_TRACE(std::to_string(width) + " pixels");
            const int32_t depth = elementsOfSet(type) / 2;
            Window2d window;
            window.padding = PaddingScheme::VALID;
            window.strideH = window.strideW = 2;
            expectAgree(layerOf(random, Conv2d{.window = window}, type, {1, 5, width, depth},
                                {37, 1, 1, depth}));
        }
    }
}

}  // namespace
}  // namespace halyard::engine
