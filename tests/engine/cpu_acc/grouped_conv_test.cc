// SPDX-License-Identifier: Apache-2.0
//
// CpuAcc's convolutions in groups of few channels against CpuRef's, in every form that this
// processor runs.

#include <gtest/gtest.h>

#include <string>
#include <variant>

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

Layer layerOf(RandomValues& random, DataType type, const Groups& of,
              Activation activation = Activation::NONE) {
    Layer layer;
    layer.descriptor = Conv2d{.window = of.window, .groups = of.groups, .activation = activation};
    layer.x = random.values(
            typeOf(type, {of.extents[0], of.extents[1], of.extents[2], of.groups * of.depth}));
    layer.weights =
            random.values(typeOf(type, {of.groups * of.columns, of.filterH, of.filterW, of.depth}));
    layer.bias = random.values(typeOf(type, {of.groups * of.columns}));
    layer.output = typeOf(type, {});
    return layer;
}

class GroupedConvolutions : public testing::TestWithParam<DataType> {};

TEST_P(GroupedConvolutions, AreTheReferences) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 30 && !HasFailure(); ++round) {
        const Groups of = {
                .groups = random.integer(2, 19),
                .depth = random.integer(1, 8),
                .columns = random.integer(1, 8),
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

INSTANTIATE_TEST_SUITE_P(, GroupedConvolutions,
                         testing::Values(DataType::FLOAT32, DataType::FLOAT16),
                         [](const testing::TestParamInfo<DataType>& instance) {
                             return std::string(toString(instance.param));
                         });

// What is not finite stays in its group.
TEST(GroupedConvolutionsOfFloats, KeepWhatIsNotFiniteInItsGroup) {
    RandomValues random;
    Layer layer = layerOf(random, DataType::FLOAT32, {});
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
    EXPECT_EQ(chooseGrouped(groupsOf(4, 4, 16).ofInt8()).lost.toString(),
              "grouped vectors: takes floats");
}

}  // namespace
}  // namespace halyard::engine
