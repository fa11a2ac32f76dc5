// SPDX-License-Identifier: Apache-2.0
//
// CpuAcc's transposed convolutions against CpuRef's, in every form that this processor runs.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/backends/cpu/choice/transpose_choice.h"
#include "engine/backends/cpu/cpu_acc.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/backends/ref/cpu_ref.h"
#include "tests/engine/cpu_acc/weighted_layer.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine {
namespace {

using cpu::InstructionSet;
using cpu_test::expectEqual;
using cpu_test::Layer;
using cpu_test::run;
using cpu_test::Types;
using cpu_test::typesFor;
using ref_test::RandomValues;
using ref_test::typeOf;

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

// Extents and strides; the rest of a layer follows from them.
struct Extents {
    int32_t batches = 1, height = 5, width = 7, depth = 3, channels = 4;
    int32_t filterH = 3, filterW = 3;
    Window2d window;
    std::vector<int32_t> outputShape = {};
};

Layer layerOf(RandomValues& random, const Extents& extents, DataType x, DataType weights,
              Activation activation = Activation::NONE) {
    Types types = typesFor(random, x, weights, extents.channels, 0);
    types.x.shape = {extents.batches, extents.height, extents.width, extents.depth};
    types.weights.shape = {extents.channels, extents.filterH, extents.filterW, extents.depth};
    types.bias.shape = {extents.channels};
    Layer layer;
    layer.descriptor = TransposeConv2d{.window = extents.window, .activation = activation};
    layer.x = random.values(types.x);
    layer.weights = random.values(types.weights);
    if (isFloat(x)) {
        layer.bias = random.values(types.bias);
    } else {
        std::vector<int32_t> bias(static_cast<size_t>(extents.channels));
        std::ranges::generate(bias, [&] { return random.integer(-20000, 20000); });
        layer.bias = ref_test::pack(types.bias, bias);
    }
    layer.output = types.output;
    layer.outputShape = extents.outputShape;
    return layer;
}

// Of one axis: what resolveTransposeWindow() takes an output of `padding` for.
int32_t outputOf(RandomValues& random, PaddingScheme padding, int32_t input, int32_t stride,
                 int32_t filter) {
    return padding == PaddingScheme::SAME
                   ? input * stride - random.integer(0, stride - 1)
                   : (input - 1) * stride + filter + random.integer(0, stride - 1);
}

Extents randomExtents(RandomValues& random) {
    Extents extents = {.batches = random.integer(1, 2),
                       .height = random.integer(1, 12),
                       .width = random.integer(1, 40),
                       .depth = random.integer(1, 40),
                       .channels = random.coin() ? random.integer(1, 6) : random.integer(7, 70),
                       .filterH = random.integer(1, 5),
                       .filterW = random.integer(1, 5),
                       .window = {}};
    Window2d& window = extents.window;
    window.strideH = random.integer(1, 4);
    window.strideW = random.integer(1, 4);
    if (random.coin()) {  // filters as large as their strides, or twice as large
        extents.filterH = window.strideH * random.integer(1, 2);
        extents.filterW = window.strideW * random.integer(1, 2);
    }
    window.padding = static_cast<PaddingScheme>(random.integer(0, 2));
    if (window.padding == PaddingScheme::EXPLICIT) {
        const auto crop = [&](int32_t covered) {
            return random.integer(0, std::min(covered - 1, 3) / 2);
        };
        const int32_t high = (extents.height - 1) * window.strideH + extents.filterH;
        const int32_t wide = (extents.width - 1) * window.strideW + extents.filterW;
        window.top = crop(high);
        window.bottom = crop(high);
        window.left = crop(wide);
        window.right = crop(wide);
    } else {
        extents.outputShape = {
                extents.batches,
                outputOf(random, window.padding, extents.height, window.strideH, extents.filterH),
                outputOf(random, window.padding, extents.width, window.strideW, extents.filterW),
                extents.channels};
    }
    return extents;
}

struct Case {
    const char* name;
    DataType x;
    DataType weights;
};

class TransposedConvolutions : public testing::TestWithParam<Case> {};

TEST_P(TransposedConvolutions, AreTheReferences) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 24 && !HasFailure(); ++round) {
        Layer layer = layerOf(random, randomExtents(random), GetParam().x, GetParam().weights,
                              static_cast<Activation>(random.integer(0, 3)));
        const auto& window = std::get<TransposeConv2d>(layer.descriptor).window;
        layer.shapeAtRunTime =
                window.padding == PaddingScheme::EXPLICIT && random.integer(0, 3) == 0;
        SCOPED_TRACE("round " + std::to_string(round) + ": x " + layer.x.type.toString() +
                     ", weights " + layer.weights.type.shape.toString() + ", strides " +
                     std::to_string(window.strideH) + "x" + std::to_string(window.strideW));
        expectSameAsReference(layer);
    }
}

TEST_P(TransposedConvolutions, WithAnAdditionBehindThemAreTheReferences) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    // Phases that are merged, that are not, and col2im.
    for (const auto& [filter, channels] : {std::pair{2, 24}, {3, 24}, {4, 1}}) {
        Extents extents = {.depth = 24,
                           .channels = channels,
                           .filterH = filter,
                           .filterW = filter,
                           .window = {}};
        extents.window.padding = PaddingScheme::SAME;
        extents.window.strideH = extents.window.strideW = 2;
        extents.outputShape = {1, 10, 14, channels};
        Layer layer = layerOf(random, extents, GetParam().x, GetParam().weights);
        TensorType addend = layer.output;
        addend.shape = {1, 10, 14, channels};
        layer.addend = random.values(addend);
        expectSameAsReference(layer);
        EXPECT_NE(run(layer, makeCpuAcc(), 1).kernel.find(" + Binary"), std::string::npos);
    }
}

INSTANTIATE_TEST_SUITE_P(
        , TransposedConvolutions,
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

TEST(TransposedConvolutionsOfFloats, LeaveOutTapsBeyondTheFeatureMapThatAreNotFinite) {
    RandomValues random;
    Extents extents = {.filterH = 3, .filterW = 3, .window = {}};
    extents.window.strideH = extents.window.strideW = 2;
    extents.window.padding = PaddingScheme::EXPLICIT;
    Layer layer = layerOf(random, extents, DataType::FLOAT32, DataType::FLOAT32);
    auto* const weights = reinterpret_cast<float*>(layer.weights.bytes.data());
    weights[0] = std::numeric_limits<float>::infinity();
    weights[40] = std::numeric_limits<float>::quiet_NaN();
    expectSameAsReference(layer);
}

// One input is not finite: only what its filters reach may be.
TEST(TransposedConvolutionsOfFloats, KeepWhatIsNotFiniteWhereFiltersReach) {
    RandomValues random;
    for (const auto& [filter, channels] :
         {std::pair{1, 4}, {2, 4}, {3, 4}, {4, 4}, {3, 1}, {4, 20}}) {
        Extents extents = {
                .channels = channels, .filterH = filter, .filterW = filter, .window = {}};
        extents.window.strideH = extents.window.strideW = 2;
        extents.window.padding = PaddingScheme::EXPLICIT;
        Layer layer = layerOf(random, extents, DataType::FLOAT32, DataType::FLOAT32);
        auto* const x = reinterpret_cast<float*>(layer.x.bytes.data());
        std::fill_n(x + 3 * (2 * extents.width + 3), 3, std::numeric_limits<float>::infinity());
        expectSameAsReference(layer);
    }
}

TEST(TransposedConvolutionsOfFloats, WithTooManyStridePhasesAreTheReferences) {
    Extents extents = {.height = 2, .width = 2, .window = {}};
    extents.window.padding = PaddingScheme::EXPLICIT;
    extents.window.strideH = extents.window.strideW = 33;
    RandomValues random;
    const Layer layer = layerOf(random, extents, DataType::FLOAT32, DataType::FLOAT32);
    const Graph graph = cpu_test::graphOf(layer);
    const Status status = makeCpuAcc()->supports(graph, 0);
    EXPECT_EQ(status.code(), StatusCode::UNSUPPORTED);
    EXPECT_EQ(status.message(), "takes up to 1024 stride phases");
}

// ---- The choice ---------------------------------------------------------------------------------

using cpu::chooseTranspose;
using cpu::Form;
using cpu::isLegalWithMergedPhases;
using cpu::kUnknownExtent;
using cpu::TransposeLayer;

constexpr TransposeLayer kDoubling = {.outputH = 64,
                                      .outputW = 64,
                                      .inputH = 32,
                                      .inputW = 32,
                                      .inputC = 24,
                                      .outputC = 24,
                                      .filterH = 2,
                                      .filterW = 2,
                                      .strideH = 2,
                                      .strideW = 2};

TEST(TransposeChoices, MergePhasesThatSeeTheSameTaps) {
    const auto choice = chooseTranspose(kDoubling, {});
    EXPECT_EQ(choice.form, Form::MERGED_STRIDE_PHASES);
    // Of 24 channels, one phase fills a vector and a half, and two fill three.
    EXPECT_EQ(choice.lost.toString(),
              "stride phases: costs 147456 cycles, and the merged stride phases 110592; "
              "GEMM and col2im: costs 208896 cycles, and the merged stride phases 110592");
}

TEST(TransposeChoices, FillVectorsWithTapsWhereChannelsAreFew) {
    TransposeLayer layer = kDoubling;
    layer.outputC = 1;
    const auto choice = chooseTranspose(layer, {});
    EXPECT_EQ(choice.form, Form::GEMM_AND_COL2IM);
    EXPECT_EQ(choice.lost.toString(),
              "merged stride phases: costs 36864 cycles, and the GEMM and col2im 22528; "
              "stride phases: costs 73728 cycles, and the GEMM and col2im 22528");
    layer.elements = cpu::GemmLayer::Elements::INT8;
    EXPECT_EQ(chooseTranspose(layer, {}).form, Form::MERGED_STRIDE_PHASES);
    layer = kDoubling;
    layer.inputW = 1 << 20;
    EXPECT_EQ(cpu::isLegalWithCol2im(layer, {}).message(),
              "a line of the input is too much for a work item");
    layer.inputW = kUnknownExtent;
    EXPECT_EQ(cpu::isLegalWithCol2im(layer, {}).message(),
              "how large the feature map is, only a run tells");
}

TEST(TransposeChoices, KeepApartPhasesOfDifferentTapsOrEnds) {
    TransposeLayer layer = kDoubling;
    layer.filterW = 3;
    EXPECT_EQ(isLegalWithMergedPhases(layer).message(), "stride phases have different taps");
    EXPECT_EQ(chooseTranspose(layer, {}).form, Form::STRIDE_PHASES);
    layer = kDoubling;
    layer.outputW = 63;
    EXPECT_EQ(isLegalWithMergedPhases(layer).message(),
              "stride phases begin or end at different positions of the input");
    layer = kDoubling;
    layer.left = 1;
    EXPECT_FALSE(isLegalWithMergedPhases(layer).ok());
    layer = kDoubling;
    layer.outputW = kUnknownExtent;
    EXPECT_EQ(isLegalWithMergedPhases(layer).message(), "how wide the output is, only a run tells");
    layer = kDoubling;
    layer.strideW = 1;
    EXPECT_EQ(isLegalWithMergedPhases(layer).message(), "a line has one stride phase");
}

}  // namespace
}  // namespace halyard::engine
