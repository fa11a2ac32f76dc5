// SPDX-License-Identifier: Apache-2.0
//
// CpuAcc's convolutions in groups of channels against CpuRef's, in every form that this
// processor runs.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "engine/backends/cpu/choice/grouped_choice.h"
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

struct Groups {
    int32_t groups = 8;
    int32_t depth = 4;
    int32_t columns = 4;
    Window2d window = {};
    int32_t filterH = 3, filterW = 3;
    Shape extents = {1, 9, 13};
};

struct Elements {
    DataType x;
    DataType weights;
};

Layer layerOf(RandomValues& random, Elements elements, const Groups& of,
              Activation activation = Activation::NONE) {
    const int32_t channels = of.groups * of.columns;
    cpu_test::Types types = cpu_test::typesFor(random, elements.x, elements.weights, channels, 0);
    types.x.shape = {of.extents[0], of.extents[1], of.extents[2], of.groups * of.depth};
    types.weights.shape = {channels, of.filterH, of.filterW, of.depth};
    types.bias.shape = {channels};
    Layer layer;
    layer.descriptor = Conv2d{.window = of.window, .groups = of.groups, .activation = activation};
    layer.x = random.values(types.x);
    layer.weights = random.values(types.weights);
    if (isFloat(elements.x)) {
        layer.bias = random.values(types.bias);
    } else {
        std::vector<int32_t> bias(static_cast<size_t>(channels));
        std::ranges::generate(bias, [&] { return random.integer(-20000, 20000); });
        layer.bias = ref_test::pack(types.bias, bias);
    }
    layer.output = types.output;
    return layer;
}

class GroupedConvolutions : public testing::TestWithParam<Elements> {};

TEST_P(GroupedConvolutions, AreTheReferences) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 30 && !HasFailure(); ++round) {
        const Groups of = {
                .groups = random.integer(2, 19),
                .depth = random.integer(1, random.coin() ? 8 : 35),
                .columns = random.integer(1, random.coin() ? 8 : 35),
                .window = cpu_test::randomWindow(random),
                .filterH = random.integer(1, 4),
                .filterW = random.integer(1, 4),
                .extents = {random.integer(1, 2), random.integer(10, 14), random.integer(10, 70)}};
        Layer layer =
                layerOf(random, GetParam(), of, static_cast<Activation>(random.integer(0, 3)));
        layer.shapeAtRunTime = random.integer(0, 3) == 0;
        SCOPED_TRACE("round " + std::to_string(round) + ": x " + layer.x.type.toString() +
                     ", weights " + layer.weights.type.shape.toString());
        expectSameAsReference(layer);
    }
}

TEST_P(GroupedConvolutions, WithAnAdditionBehindThemAreTheReferences) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    Layer layer = layerOf(random, GetParam(), {});
    TensorType addend = layer.output;
    addend.shape = {1, 9, 13, 32};
    layer.addend = random.values(addend);
    std::get_if<Conv2d>(&layer.descriptor)->window.padding = PaddingScheme::SAME;
    expectSameAsReference(layer);
}

INSTANTIATE_TEST_SUITE_P(
        , GroupedConvolutions,
        testing::Values(Elements{DataType::FLOAT32, DataType::FLOAT32},
                        Elements{DataType::FLOAT16, DataType::FLOAT16},
                        Elements{DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM},
                        Elements{DataType::QUANT8_ASYMM, DataType::QUANT8_SYMM_PER_CHANNEL},
                        Elements{DataType::QUANT8_ASYMM_SIGNED, DataType::QUANT8_ASYMM_SIGNED},
                        Elements{DataType::QUANT8_ASYMM_SIGNED, DataType::QUANT8_SYMM_PER_CHANNEL}),
        [](const testing::TestParamInfo<Elements>& instance) {
            return std::string(toString(instance.param.x)) + "_" +
                   std::string(toString(instance.param.weights));
        });

// What is not finite stays in its group.
TEST(GroupedConvolutionsOfFloats, KeepWhatIsNotFiniteInItsGroup) {
    RandomValues random;
    Layer layer = layerOf(random, {DataType::FLOAT32, DataType::FLOAT32}, {});
    auto* const x = reinterpret_cast<float*>(layer.x.bytes.data());
    x[4 * 32 + 5] = std::numeric_limits<float>::infinity();
    x[30 * 32 + 17] = std::numeric_limits<float>::quiet_NaN();
    expectSameAsReference(layer);
}

// ---- The choice ---------------------------------------------------------------------------------

using cpu::chooseGrouped;
using cpu::Form;
using cpu::GemmLayer;

GemmLayer groupsOf(int64_t depth, int64_t columns, int64_t lanes) {
    GemmLayer layer = GemmLayer::convolution(28, 32 * depth, 32 * columns, 3);
    layer.groups = 32;
    layer.lanes = lanes;
    return layer;
}

TEST(GroupedChoices, FillVectorsWithSeveralGroups) {
    const auto choice = chooseGrouped(groupsOf(4, 4, 16));
    EXPECT_EQ(choice.form, Form::GROUPED_VECTORS);
    EXPECT_EQ(choice.lost.toString(),
              "float GEMM: costs 1408 vectors for a spatial position, and the other 416");
}

TEST(GroupedChoices, LeaveGroupsThatFillVectorsToTheGemm) {
    EXPECT_EQ(chooseGrouped(groupsOf(4, 4, 4)).form, Form::FLOAT_GEMM);
    EXPECT_EQ(chooseGrouped(groupsOf(4, 16, 16)).form, Form::FLOAT_GEMM);
    EXPECT_EQ(chooseGrouped(groupsOf(16, 4, 16)).lost.toString(),
              "grouped vectors: a vector of 16 lanes has the channels of one group");
}

TEST(GroupedChoices, HaveTwoChannelsOfBytesInALane) {
    EXPECT_EQ(chooseGrouped(groupsOf(4, 4, 8).ofInt8()).lost.toString(),
              "int8 GEMM by 16-bit products: costs 832 vectors for a spatial position, and the "
              "other 480");
}

TEST(GroupedChoices, LeaveBytesToTheGemmWherePairsOfProductsHaveNoInstruction) {
    GemmLayer layer = groupsOf(4, 4, 4).ofInt8();
    layer.groupedTogether = 0;
    EXPECT_EQ(chooseGrouped(layer).lost.toString(),
              "grouped vectors: the processor adds no pairs of 16-bit products");
}

}  // namespace
}  // namespace halyard::engine
