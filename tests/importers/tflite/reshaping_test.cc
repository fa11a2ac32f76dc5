// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "tests/importers/tflite/one_operator.h"

namespace halyard::tflite {
namespace {

TEST(ReshapingTest, ReshapeTakesItsShapeFromAListOfInt32) {
    OfOne model({2, 3});
    const int32_t shape = model.builder.ints({2}, {-1, 2});
    model.builder.add(OperatorCode::RESHAPE, {model.x, shape}, model.outputs,
                      {{ReshapeOptions::kNewShape, list({6})}});
    const Outcome found = model.run();
    ASSERT_TRUE(found.status.ok()) << found.status.toString();
    EXPECT_EQ(found[model.outputs[0]].shape, (Extents{3, 2}));
    EXPECT_EQ(found.floats(model.outputs[0]), counted(6));
}

TEST(ReshapingTest, ReshapeTakesItsShapeFromTheOptionWhereThereIsNoList) {
    OfOne model({2, 3});
    model.builder.add(OperatorCode::RESHAPE, {model.x}, model.outputs,
                      {{ReshapeOptions::kNewShape, list({3, 2})}});
    EXPECT_EQ(model.run()[model.outputs[0]].shape, (Extents{3, 2}));
}

TEST(ReshapingTest, AnOptionOfZeroIsAScalarsShape) {
    OfOne model({1, 1});
    model.builder.add(OperatorCode::RESHAPE, {model.x}, model.outputs,
                      {{ReshapeOptions::kNewShape, list({0})}});
    EXPECT_EQ(model.run()[model.outputs[0]].shape, Extents{});
}

TEST(ReshapingTest, ReshapeDoesNotReadAShapeOfInt64) {
    OfOne model({2, 3});
    const int32_t shape = model.builder.longs({1}, {6});
    model.builder.add(OperatorCode::RESHAPE, {model.x, shape}, model.outputs);
    EXPECT_TRUE(has(model.reason(), "is no list of INT32")) << model.reason();
}

TEST(ReshapingTest, ReshapeTakesAShapeThatIsComputed) {
    OfOne model({2, 3});
    const int32_t shape = model.builder.input(ElementType::INT32, {2});
    model.builder.add(OperatorCode::RESHAPE, {model.x, shape}, model.outputs);
    const Outcome found = run(model.builder.model(),
                              {{model.x, bytesOf(counted(6))}, {shape, bytesOf(Ints{3, 2})}});
    ASSERT_TRUE(found.status.ok()) << found.status.toString();
    EXPECT_EQ(found[model.outputs[0]].shape, (Extents{3, 2}));
}

TEST(ReshapingTest, AShapeThatDoesNotFitIsRefused) {
    OfOne model({2, 3});
    model.builder.add(OperatorCode::RESHAPE, {model.x}, model.outputs,
                      {{ReshapeOptions::kNewShape, list({4})}});
    EXPECT_TRUE(has(model.reason(), "6 elements")) << model.reason();
}

TEST(ReshapingTest, SqueezeRemovesTheAxesThatItNamesOrAllOfOne) {
    OfOne some({1, 2, 1});
    some.builder.add(OperatorCode::SQUEEZE, {some.x}, some.outputs,
                     {{SqueezeOptions::kSqueezeDims, list({-1})}});
    EXPECT_EQ(some.run()[some.outputs[0]].shape, (Extents{1, 2}));
    OfOne all({1, 2, 1});
    all.builder.add(OperatorCode::SQUEEZE, {all.x}, all.outputs);
    EXPECT_EQ(all.run()[all.outputs[0]].shape, (Extents{2}));
    OfOne whole({1, 1});
    whole.builder.add(OperatorCode::SQUEEZE, {whole.x}, whole.outputs);
    EXPECT_EQ(whole.run()[whole.outputs[0]].shape, Extents{});
    OfOne none({2, 3});
    none.builder.add(OperatorCode::SQUEEZE, {none.x}, none.outputs);
    EXPECT_EQ(none.run()[none.outputs[0]].shape, (Extents{2, 3}));
}

TEST(ReshapingTest, SqueezeRefusesAnAxisThatIsNotOne) {
    OfOne model({1, 2});
    model.builder.add(OperatorCode::SQUEEZE, {model.x}, model.outputs,
                      {{SqueezeOptions::kSqueezeDims, list({1})}});
    EXPECT_TRUE(has(model.reason(), "has not the extent 1")) << model.reason();
    OfOne outside({1, 2});
    outside.builder.add(OperatorCode::SQUEEZE, {outside.x}, outside.outputs,
                        {{SqueezeOptions::kSqueezeDims, list({2})}});
    EXPECT_TRUE(has(outside.reason(), "axis is 2, of 2")) << outside.reason();
}

TEST(ReshapingTest, ExpandDimsCountsAnAxisFromTheEnd) {
    OfOne model({2, 3});
    const int32_t axis = model.builder.longs({}, {-1});
    model.builder.add(OperatorCode::EXPAND_DIMS, {model.x, axis}, model.outputs);
    EXPECT_EQ(model.run()[model.outputs[0]].shape, (Extents{2, 3, 1}));
}

TEST(ReshapingTest, ExpandDimsRefusesAnAxisThatIsComputed) {
    OfOne model({2, 3});
    const int32_t axis = model.builder.input(ElementType::INT32, {1});
    model.builder.add(OperatorCode::EXPAND_DIMS, {model.x, axis}, model.outputs);
    EXPECT_TRUE(has(model.reason(), "its axis is computed")) << model.reason();
}

TEST(ReshapingTest, TransposeChangesTheOrderOfAxes) {
    OfOne model({2, 3});
    const int32_t permutation = model.builder.ints({2}, {1, 0});
    model.builder.add(OperatorCode::TRANSPOSE, {model.x, permutation}, model.outputs);
    EXPECT_EQ(model.run().floats(model.outputs[0]), (Floats{0, 3, 1, 4, 2, 5}));
}

TEST(ReshapingTest, PackStacksAndUnpackTakesApart) {
    OfOne packing({2});
    const int32_t other = packing.builder.floats({2}, {8, 9});
    packing.builder.add(
            OperatorCode::PACK, {packing.x, other}, packing.outputs,
            {{PackOptions::kValuesCount, integer(2)}, {PackOptions::kAxis, integer(-1)}});
    const Outcome packed = packing.run();
    EXPECT_EQ(packed[packing.outputs[0]].shape, (Extents{2, 2}));
    EXPECT_EQ(packed.floats(packing.outputs[0]), (Floats{0, 8, 1, 9}));

    OfOne unpacking({2, 3}, 3);
    unpacking.builder.add(OperatorCode::UNPACK, {unpacking.x}, unpacking.outputs,
                          {{UnpackOptions::kNum, integer(3)}, {UnpackOptions::kAxis, integer(1)}});
    const Outcome unpacked = unpacking.run();
    ASSERT_TRUE(unpacked.status.ok()) << unpacked.status.toString();
    EXPECT_EQ(unpacked[unpacking.outputs[2]].shape, (Extents{2}));
    EXPECT_EQ(unpacked.floats(unpacking.outputs[2]), (Floats{2, 5}));
}

TEST(ReshapingTest, UnpackOfAListGivesScalars) {
    OfOne model({2}, 2);
    model.builder.add(OperatorCode::UNPACK, {model.x}, model.outputs,
                      {{UnpackOptions::kNum, integer(2)}});
    const Outcome found = model.run();
    EXPECT_EQ(found[model.outputs[1]].shape, Extents{});
    EXPECT_EQ(found.floats(model.outputs[1]), (Floats{1}));
}

TEST(ReshapingTest, PackAndUnpackRefuseACountThatIsNotTheirs) {
    OfOne packing({2});
    packing.builder.add(OperatorCode::PACK, {packing.x}, packing.outputs,
                        {{PackOptions::kValuesCount, integer(2)}});
    EXPECT_TRUE(has(packing.reason(), "1 inputs, and packs 2")) << packing.reason();
    OfOne unpacking({2, 3}, 2);
    unpacking.builder.add(OperatorCode::UNPACK, {unpacking.x}, unpacking.outputs,
                          {{UnpackOptions::kNum, integer(2)}, {UnpackOptions::kAxis, integer(1)}});
    EXPECT_TRUE(has(unpacking.reason(), "2 outputs for axis 1")) << unpacking.reason();
}

TEST(ReshapingTest, ConcatenationJoinsAlongAnAxis) {
    OfOne model({2, 1});
    const int32_t other = model.builder.floats({2, 2}, {5, 6, 7, 8});
    model.builder.add(OperatorCode::CONCATENATION, {model.x, other}, model.outputs,
                      {{ConcatenationOptions::kAxis, integer(-1)}});
    EXPECT_EQ(model.run().floats(model.outputs[0]), (Floats{0, 5, 6, 1, 7, 8}));
}

TEST(ReshapingTest, ConcatenationRefusesAnActivationThatTfliteLeavesAway) {
    OfOne model({2, 1});
    model.builder.add(OperatorCode::CONCATENATION, {model.x}, model.outputs,
                      {{ConcatenationOptions::kFusedActivationFunction, integer(1)}});
    EXPECT_TRUE(has(model.reason(), "leaves away")) << model.reason();
}

TEST(ReshapingTest, SplitMakesEqualParts) {
    OfOne model({2, 4}, 2);
    const int32_t axis = model.builder.ints({}, {-1});
    model.builder.add(OperatorCode::SPLIT, {axis, model.x}, model.outputs,
                      {{SplitOptions::kNumSplits, integer(2)}});
    EXPECT_EQ(model.run().floats(model.outputs[1]), (Floats{2, 3, 6, 7}));
    OfOne uneven({2, 3}, 2);
    const int32_t last = uneven.builder.ints({}, {1});
    uneven.builder.add(OperatorCode::SPLIT, {last, uneven.x}, uneven.outputs,
                       {{SplitOptions::kNumSplits, integer(2)}});
    EXPECT_NE(uneven.reason(), "");
}

TEST(ReshapingTest, SplitVMakesPartsOfTheSizesThatItIsGiven) {
    OfOne model({5}, 3);
    const int32_t sizes = model.builder.longs({3}, {1, -1, 2});
    const int32_t axis = model.builder.ints({}, {0});
    model.builder.add(OperatorCode::SPLIT_V, {model.x, sizes, axis}, model.outputs,
                      {{SplitVOptions::kNumSplits, integer(3)}});
    const Outcome found = model.run();
    ASSERT_TRUE(found.status.ok()) << found.status.toString();
    EXPECT_EQ(found.floats(model.outputs[0]), (Floats{0}));
    EXPECT_EQ(found.floats(model.outputs[1]), (Floats{1, 2}));
    EXPECT_EQ(found.floats(model.outputs[2]), (Floats{3, 4}));
}

TEST(ReshapingTest, SplitVRefusesSizesThatDoNotComeToTheExtent) {
    for (const Ints& sizes : {Ints{1, 3}, Ints{-1, -1}, Ints{6, -1}, Ints{-2, 7}}) {
        OfOne model({5}, 2);
        const int32_t list = model.builder.ints({2}, sizes);
        const int32_t axis = model.builder.ints({}, {0});
        model.builder.add(OperatorCode::SPLIT_V, {model.x, list, axis}, model.outputs,
                          {{SplitVOptions::kNumSplits, integer(2)}});
        EXPECT_TRUE(has(model.reason(), "its sizes come") ||
                    has(model.reason(), "its list of sizes"))
                << model.reason();
    }
}

TEST(ReshapingTest, TileRepeats) {
    OfOne model({2});
    const int32_t multiples = model.builder.longs({1}, {2});
    model.builder.add(OperatorCode::TILE, {model.x, multiples}, model.outputs);
    EXPECT_EQ(model.run().floats(model.outputs[0]), (Floats{0, 1, 0, 1}));
}

TEST(ReshapingTest, BroadcastToRepeatsAxesOfOneAndAddsAxesBefore) {
    OfOne model({2, 1});
    const int32_t shape = model.builder.ints({3}, {2, 2, 2});
    model.builder.add(OperatorCode::BROADCAST_TO, {model.x, shape}, model.outputs);
    const Outcome found = model.run();
    ASSERT_TRUE(found.status.ok()) << found.status.toString();
    EXPECT_EQ(found[model.outputs[0]].shape, (Extents{2, 2, 2}));
    EXPECT_EQ(found.floats(model.outputs[0]), (Floats{0, 0, 1, 1, 0, 0, 1, 1}));
}

TEST(ReshapingTest, BroadcastToRefusesAnExtentThatIsNotOne) {
    OfOne model({2});
    const int32_t shape = model.builder.ints({1}, {4});
    model.builder.add(OperatorCode::BROADCAST_TO, {model.x, shape}, model.outputs);
    EXPECT_TRUE(has(model.reason(), "4 elements along an axis of 2")) << model.reason();
    OfOne fewer({2, 2});
    const int32_t one = fewer.builder.ints({1}, {2});
    fewer.builder.add(OperatorCode::BROADCAST_TO, {fewer.x, one}, fewer.outputs);
    EXPECT_TRUE(has(fewer.reason(), "1 axes for")) << fewer.reason();
}

TEST(ReshapingTest, DepthAndSpaceAreExchanged) {
    OfOne deep({1, 1, 1, 4});
    deep.builder.add(OperatorCode::DEPTH_TO_SPACE, {deep.x}, deep.outputs,
                     {{DepthToSpaceOptions::kBlockSize, integer(2)}});
    EXPECT_EQ(deep.run()[deep.outputs[0]].shape, (Extents{1, 2, 2, 1}));
    OfOne wide({1, 2, 2, 1});
    wide.builder.add(OperatorCode::SPACE_TO_DEPTH, {wide.x}, wide.outputs,
                     {{SpaceToDepthOptions::kBlockSize, integer(2)}});
    EXPECT_EQ(wide.run()[wide.outputs[0]].shape, (Extents{1, 1, 1, 4}));
    OfOne odd({1, 3, 2, 1});
    odd.builder.add(OperatorCode::SPACE_TO_DEPTH, {odd.x}, odd.outputs,
                    {{SpaceToDepthOptions::kBlockSize, integer(2)}});
    EXPECT_NE(odd.reason(), "");
}

TEST(ReshapingTest, SpaceToBatchPadsAndTakesThreeAxesAsWell) {
    OfOne model({1, 3, 1});
    const int32_t block = model.builder.ints({1}, {2});
    const int32_t paddings = model.builder.ints({1, 2}, {0, 1});
    model.builder.add(OperatorCode::SPACE_TO_BATCH_ND, {model.x, block, paddings}, model.outputs);
    const Outcome found = model.run();
    ASSERT_TRUE(found.status.ok()) << found.status.toString();
    EXPECT_EQ(found[model.outputs[0]].shape, (Extents{2, 2, 1}));
    EXPECT_EQ(found.floats(model.outputs[0]), (Floats{0, 2, 1, 0}));
}

TEST(ReshapingTest, BatchToSpaceCrops) {
    OfOne model({4, 1, 1, 1});
    const int32_t block = model.builder.ints({2}, {2, 2});
    const int32_t crops = model.builder.ints({2, 2}, {0, 1, 1, 0});
    model.builder.add(OperatorCode::BATCH_TO_SPACE_ND, {model.x, block, crops}, model.outputs);
    const Outcome found = model.run();
    ASSERT_TRUE(found.status.ok()) << found.status.toString();
    EXPECT_EQ(found[model.outputs[0]].shape, (Extents{1, 1, 1, 1}));
    EXPECT_EQ(found.floats(model.outputs[0]), (Floats{1}));
    OfOne flat({2, 2, 1});
    const int32_t two = flat.builder.ints({1}, {2});
    const int32_t first = flat.builder.ints({1, 2}, {1, 0});
    flat.builder.add(OperatorCode::BATCH_TO_SPACE_ND, {flat.x, two, first}, flat.outputs);
    EXPECT_EQ(flat.run().floats(flat.outputs[0]), (Floats{2, 1, 3}));
}

TEST(ReshapingTest, BlocksRefuseWhatTheyCantBe) {
    const auto reason = [](const Extents& shape, const Ints& block, const Ints& crops) {
        OfOne model(shape);
        const int32_t sizes = model.builder.ints({static_cast<int32_t>(block.size())}, block);
        const int32_t ends = model.builder.ints({static_cast<int32_t>(crops.size() / 2), 2}, crops);
        model.builder.add(OperatorCode::BATCH_TO_SPACE_ND, {model.x, sizes, ends}, model.outputs);
        return model.reason();
    };
    EXPECT_TRUE(has(reason({4, 1, 1, 1}, {2}, {0, 0}), "it is of 4 axes"));
    EXPECT_TRUE(has(reason({4, 1, 1, 1}, {2, 2}, {-1, 0, 0, 0}), "crops is negative"));
    EXPECT_TRUE(has(reason({4, 1, 1, 1}, {2, 2}, {2, 1, 0, 0}), "leave nothing"));
}

TEST(ReshapingTest, ConstantsOfInt64AreMovedBeforeARun) {
    ModelBuilder builder;
    const int32_t a = builder.longs({1}, {2});
    const int32_t b = builder.longs({1}, {3});
    const int32_t both = builder.tensor(ElementType::INT64, {2});
    builder.add(OperatorCode::CONCATENATION, {a, b}, {both});
    builder.output(both);
    EXPECT_TRUE(isFolded(builder.model()));
    EXPECT_EQ(run(builder.model()).ints(both), (Ints{2, 3}));
}

}  // namespace
}  // namespace halyard::tflite
