// SPDX-License-Identifier: Apache-2.0
//
// Layers of FLOAT16 whose results may be rough, in every form that this processor runs: by
// arithmetic of binary16 where it has that.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "engine/backends/cpu/choice/depthwise_choice.h"
#include "engine/backends/cpu/choice/gemm_choice.h"
#include "engine/backends/cpu/cpu_acc.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/backends/ref/cpu_ref.h"
#include "engine/base/half.h"
#include "tests/engine/cpu_acc/described_processors.h"
#include "tests/engine/cpu_acc/weighted_layer.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine {
namespace {

using cpu::Form;
using cpu::InstructionSet;
using cpu_test::Layer;
using cpu_test::randomLayer;
using ref_test::RandomValues;
using ref_test::Values;

Values integers(RandomValues& random, const TensorType& type, int32_t most) {
    std::vector<float> elements(static_cast<size_t>(*type.shape.elementCount()));
    for (float& element : elements) {
        element = static_cast<float>(random.integer(-most, most));
    }
    return ref_test::halves(type.shape, elements);
}

// Sums of small integers are exact in binary16, in any order.
Layer exactLayer(RandomValues& random, cpu_test::Kind kind) {
    Layer layer = randomLayer(random, kind, DataType::FLOAT16, DataType::FLOAT16);
    layer.x = integers(random, layer.x.type, 2);
    layer.weights = integers(random, layer.weights.type, 2);
    layer.bias = integers(random, layer.bias.type, 60);
    layer.relaxed = true;
    return layer;
}

class HalfArithmetic : public testing::TestWithParam<cpu_test::Kind> {};

TEST_P(HalfArithmetic, IsExactWhereBinary16HasTheSums) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 16 && !HasFailure(); ++round) {
        const Layer layer = exactLayer(random, GetParam());
        SCOPED_TRACE("round " + std::to_string(round) + ": x " + layer.x.type.toString() +
                     ", weights " + layer.weights.type.shape.toString());
        const cpu_test::Outcome expected = run(layer, makeCpuRef(), 1);
        for (const InstructionSet set : cpu::availableInstructionSets()) {
            for (const size_t threads : {size_t{1}, size_t{3}}) {
                SCOPED_TRACE(std::string(toString(set)) + ", threads: " + std::to_string(threads));
                const cpu_test::Outcome actual = run(layer, makeCpuAcc(set), threads);
                EXPECT_EQ(actual.output.bytes, expected.output.bytes);
                EXPECT_EQ(actual.allocations, 0U);
                EXPECT_EQ(actual.kernel.find("_half") != std::string::npos,
                          cpu::hasHalfArithmetic(set))
                        << actual.kernel;
            }
        }
    }
}

// The layer of its elements' magnitudes, which nothing clamps.
Layer magnitudesOf(Layer layer) {
    for (Values* const values : {&layer.x, &layer.weights, &layer.bias}) {
        std::vector<float> elements;
        for (const double element : ref_test::stored(*values)) {
            elements.push_back(static_cast<float>(std::abs(element)));
        }
        *values = ref_test::halves(values->type.shape, elements);
    }
    if (auto* const conv = std::get_if<Conv2d>(&layer.descriptor)) {
        conv->activation = Activation::NONE;
    } else if (auto* const depthwise = std::get_if<DepthwiseConv2d>(&layer.descriptor)) {
        depthwise->activation = Activation::NONE;
    } else {
        std::get_if<FullyConnected>(&layer.descriptor)->activation = Activation::NONE;
    }
    return layer;
}

// A sum of binary16 rounds after each of its products, by half a step of the partial sum, up or
// down. Together these come to some steps of the sum of magnitudes.
TEST_P(HalfArithmetic, IsWithinItsRoundings) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 6 && !HasFailure(); ++round) {
        Layer layer = randomLayer(random, GetParam(), DataType::FLOAT16, DataType::FLOAT16);
        layer.relaxed = true;
        const std::vector<double> b = ref_test::stored(run(layer, makeCpuRef(), 1).output);
        const std::vector<double> sums =
                ref_test::stored(run(magnitudesOf(layer), makeCpuRef(), 1).output);
        for (const InstructionSet set : cpu::availableInstructionSets()) {
            const std::vector<double> a = ref_test::stored(run(layer, makeCpuAcc(set), 1).output);
            ASSERT_EQ(a.size(), b.size());
            for (size_t i = 0; i < b.size(); ++i) {
                ASSERT_NEAR(a[i], b[i], 0x1p-8 * sums[i] + 0x1p-14)
                        << toString(set) << ", element " << i;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Of, HalfArithmetic,
                         testing::Values(cpu_test::Kind::CONVOLUTION, cpu_test::Kind::GROUPED,
                                         cpu_test::Kind::DEPTHWISE,
                                         cpu_test::Kind::FULLY_CONNECTED));

TEST(HalfArithmetic, LetsNotANumberAndInfinityThrough) {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    Layer layer;
    layer.descriptor = FullyConnected{.activation = Activation::RELU6};
    layer.x = ref_test::halves({3, 1}, {kNan, kInfinity, -kInfinity});
    layer.weights = ref_test::halves({9, 1}, std::vector<float>(9, 1.0F));
    layer.bias = ref_test::halves({9}, std::vector<float>(9, 0.0F));
    layer.output = layer.x.type;
    layer.relaxed = true;
    for (const InstructionSet set : cpu::availableInstructionSets()) {
        const std::vector<double> y = ref_test::stored(run(layer, makeCpuAcc(set), 1).output);
        for (size_t i = 0; i < 9; ++i) {
            EXPECT_TRUE(std::isnan(y.at(i))) << toString(set);
            EXPECT_EQ(y.at(9 + i), 6.0) << toString(set);
            EXPECT_EQ(y.at(18 + i), 0.0) << toString(set);
        }
    }
}

// Strict results are sums of floats, whichever processor.
TEST(HalfArithmetic, IsForRoughResultsAlone) {
    cpu::GemmLayer layer = cpu::GemmLayer::convolution(14, 256, 256, 1);
    layer.elements = cpu::GemmLayer::Elements::HALF;
    const auto formOf = [&layer](const cpu::CpuTarget& target) {
        const auto none = [](cpu::WeightFact /*fact*/) { return Result<bool>(false); };
        return cpu::chooseGemm(layer, target, none).value().form;
    };
    EXPECT_EQ(formOf(cpu_test::cortexA76()), Form::FLOAT_GEMM);
    layer.isRough = true;
    EXPECT_EQ(formOf(cpu_test::cortexA53()), Form::FLOAT_GEMM);
    EXPECT_EQ(formOf(cpu_test::cortexA55()), Form::HALF_GEMM);
    EXPECT_EQ(formOf(cpu_test::cortexA76()), Form::HALF_GEMM);
    EXPECT_EQ(formOf(cpu_test::zen4()), Form::FLOAT_GEMM);

    const auto depthwiseOn = [](bool isRough, const cpu::CpuTarget& target) {
        return cpu::chooseHalfDepthwise(isRough, target.set).form;
    };
    EXPECT_EQ(depthwiseOn(false, cpu_test::cortexA76()), Form::FLOAT_DEPTHWISE);
    EXPECT_EQ(depthwiseOn(true, cpu_test::cortexA76()), Form::HALF_DEPTHWISE);
    EXPECT_EQ(depthwiseOn(true, cpu_test::cortexA53()), Form::FLOAT_DEPTHWISE);
}

}  // namespace
}  // namespace halyard::engine
