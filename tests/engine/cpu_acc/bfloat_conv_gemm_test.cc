// SPDX-License-Identifier: Apache-2.0
//
// Few rows with weights that are bfloat16, which CpuAcc keeps in two bytes, against CpuRef.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/backends/cpu/cpu_acc.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/backends/ref/cpu_ref.h"
#include "engine/base/half.h"
#include "tests/engine/cpu_acc/weighted_layer.h"

namespace halyard::engine {
namespace {

using cpu_test::Layer;
using ref_test::RandomValues;
using ref_test::typeOf;
using ref_test::Values;

Values asBfloats(const Values& values) {
    const auto* const data = reinterpret_cast<const float*>(values.bytes.data());
    std::vector<float> elements(data, data + values.bytes.size() / sizeof(float));
    std::ranges::transform(elements, elements.begin(),
                           [](float element) { return toFloat(toBFloat16(element)); });
    return ref_test::pack(values.type, elements);
}

Layer denseLayer(RandomValues& random, int32_t rows, int32_t depth, int32_t channels) {
    Layer layer;
    layer.descriptor = FullyConnected{.activation = static_cast<Activation>(random.integer(0, 3))};
    layer.x = random.values(typeOf(DataType::FLOAT32, {rows, depth}));
    layer.weights = asBfloats(random.values(typeOf(DataType::FLOAT32, {channels, depth})));
    layer.bias = random.values(typeOf(DataType::FLOAT32, {channels}));
    layer.output = typeOf(DataType::FLOAT32, {});
    return layer;
}

// Whether weights are kept in two bytes. Tiles take them, too, of more rows.
bool isByBfloats(const std::string& kernel) {
    return kernel.find(" by bf16") != std::string::npos &&
           kernel.find("xbf16") == std::string::npos;
}

void expectAgree(const Layer& layer, bool byBfloats) {
    const Values expected = cpu_test::run(layer, makeCpuRef(), 1).output;
    for (const cpu::InstructionSet set : cpu::availableInstructionSets()) {
        for (const size_t threads : {size_t{1}, size_t{3}}) {
            SCOPED_TRACE(std::string(toString(set)) + ", threads: " + std::to_string(threads));
            const cpu_test::Outcome actual = cpu_test::run(layer, makeCpuAcc(set), threads);
            EXPECT_EQ(isByBfloats(actual.kernel), byBfloats) << actual.kernel;
            EXPECT_EQ(actual.allocations, 0U);
            cpu_test::expectEqual(actual.output, expected);
        }
    }
}

TEST(BfloatConvGemms, OfFewRowsAreTheReferences) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const int32_t rows : {1, 2, 3}) {
        for (const int32_t channels : {1, 16, 33, 90, 200}) {
            SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(channels) + " channels");
            expectAgree(denseLayer(random, rows, random.integer(1, 300), channels), true);
        }
    }
}

// Windows of several runs, and groups of channels.
TEST(BfloatConvGemms, OfAPixelAreTheReferences) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const int32_t groups : {1, 3}) {
        Layer layer = denseLayer(random, 1, 1, 21 * groups);
        layer.descriptor = Conv2d{.window = {.padding = PaddingScheme::VALID}, .groups = groups};
        layer.x = random.values(typeOf(DataType::FLOAT32, {1, 3, 3, 5 * groups}));
        layer.weights = asBfloats(random.values(typeOf(DataType::FLOAT32, {21 * groups, 3, 3, 5})));
        expectAgree(layer, true);
    }
}

// Lanes beside the elements in a vector stay out of the sums.
TEST(BfloatConvGemms, OfTheLargestNumbersAreTheReferences) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    Layer layer = denseLayer(random, 2, 70, 40);
    layer.descriptor = FullyConnected{};
    std::vector<float> weights(size_t{40} * 70);
    for (float& weight : weights) {
        weight = random.coin() ? 0x1.fep127F : -0x1p-126F;
    }
    layer.weights = ref_test::pack(layer.weights.type, weights);
    std::vector<float> x(size_t{2} * 70, 0.0F);
    x[0] = 0.5F;
    x[70] = -0.25F;
    layer.x = ref_test::pack(layer.x.type, x);
    expectAgree(layer, true);
}

TEST(BfloatConvGemms, AreThoseOfFewRowsAndNoOtherWeights) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    expectAgree(denseLayer(random, 4, 20, 30), false);
    Layer layer = denseLayer(random, 1, 20, 30);
    std::vector<float> weights(size_t{30} * 20, 0.5F);
    weights.back() = 0x1.0001p0F;
    layer.weights = ref_test::pack(layer.weights.type, weights);
    expectAgree(layer, false);
}

}  // namespace
}  // namespace halyard::engine
