// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "tests/importers/tflite/one_operator.h"

namespace halyard::tflite {
namespace {

using Options = StridedSliceOptions;

// STRIDED_SLICE of an input that counts from 0.
struct Slicing : OfOne {
    Slicing(const Extents& shape, const Ints& begin, const Ints& end, const Ints& strides,
            const std::map<size_t, int32_t>& masks = {})
        : OfOne(shape) {
        std::map<size_t, OptionValue> options;
        for (const auto& [place, mask] : masks) {
            options[place] = integer(mask);
        }
        std::vector<int32_t> inputs = {x};
        for (const Ints* list : {&begin, &end, &strides}) {
            inputs.push_back(builder.ints({static_cast<int32_t>(list->size())}, *list));
        }
        builder.add(OperatorCode::STRIDED_SLICE, inputs, outputs, options);
    }
    Floats values() {
        const Outcome found = run();
        EXPECT_TRUE(found.status.ok()) << found.status.toString();
        return found.status.ok() ? found.floats(outputs[0]) : Floats();
    }
    Extents shape() {
        const Outcome found = run();
        return found.status.ok() ? found[outputs[0]].shape : Extents{-1};
    }
};

TEST(StridedSliceTest, TakesEveryOtherElementInBothDirections) {
    EXPECT_EQ(Slicing({6}, {1}, {6}, {2}).values(), (Floats{1, 3, 5}));
    EXPECT_EQ(Slicing({6}, {-1}, {-7}, {-2}).values(), (Floats{5, 3, 1}));
    EXPECT_EQ(Slicing({6}, {4}, {2}, {1}).values(), (Floats{}));
}

TEST(StridedSliceTest, MasksOpenEnds) {
    EXPECT_EQ(Slicing({4}, {2}, {3}, {1}, {{Options::kBeginMask, 1}}).values(), (Floats{0, 1, 2}));
    EXPECT_EQ(Slicing({4}, {2}, {3}, {1}, {{Options::kEndMask, 1}}).values(), (Floats{2, 3}));
    EXPECT_EQ(Slicing({4}, {2}, {3}, {-1}, {{Options::kBeginMask, 1}, {Options::kEndMask, 1}})
                      .values(),
              (Floats{3, 2, 1, 0}));
}

TEST(StridedSliceTest, AnAxisThatGoesTakesOneElementWhateverItsEnd) {
    Slicing last({2, 3}, {0, -1}, {2, 0}, {1, 1}, {{Options::kShrinkAxisMask, 2}});
    EXPECT_EQ(last.values(), (Floats{2, 5}));
    EXPECT_EQ(last.shape(), (Extents{2}));
    Slicing first({2, 3}, {1, 0}, {0, 3}, {1, 1}, {{Options::kShrinkAxisMask, 1}});
    EXPECT_EQ(first.values(), (Floats{3, 4, 5}));
    Slicing scalar({3}, {1}, {2}, {1}, {{Options::kShrinkAxisMask, 1}});
    EXPECT_EQ(scalar.shape(), Extents{});
    EXPECT_EQ(scalar.values(), (Floats{1}));
}

TEST(StridedSliceTest, BoundsOfFewerAxesLeaveTheOthersWhole) {
    EXPECT_EQ(Slicing({2, 2}, {1}, {2}, {1}).values(), (Floats{2, 3}));
}

TEST(StridedSliceTest, AnEllipsisStandsForTheAxesBetween) {
    Slicing model({2, 2, 2}, {1, 0, 0}, {2, 0, 1}, {1, 1, 1}, {{Options::kEllipsisMask, 2}});
    EXPECT_EQ(model.shape(), (Extents{1, 2, 1}));
    EXPECT_EQ(model.values(), (Floats{4, 6}));
    Slicing last({2, 2, 2}, {0, 1}, {0, 2}, {1, 1},
                 {{Options::kEllipsisMask, 1}, {Options::kShrinkAxisMask, 2}});
    EXPECT_EQ(last.values(), (Floats{1, 3, 5, 7}));
}

TEST(StridedSliceTest, NewAxesComeWhereTheyStand) {
    Slicing model({2, 2}, {1, 0, 0}, {2, 0, 2}, {1, 1, 1}, {{Options::kNewAxisMask, 2}});
    EXPECT_EQ(model.shape(), (Extents{1, 1, 2}));
    EXPECT_EQ(model.values(), (Floats{2, 3}));
    Slicing behind({2, 2}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1},
                   {{Options::kEllipsisMask, 1},
                    {Options::kNewAxisMask, 4},
                    {Options::kShrinkAxisMask, 2}});
    EXPECT_EQ(behind.shape(), (Extents{2, 1}));
    EXPECT_EQ(behind.values(), (Floats{0, 2}));
}

TEST(StridedSliceTest, OffsetsCountFromTheBeginning) {
    EXPECT_EQ(Slicing({6}, {-4}, {3}, {1}, {{Options::kOffset, 1}}).values(), (Floats{2, 3, 4}));
    EXPECT_EQ(Slicing({6}, {4}, {-3}, {-1}, {{Options::kOffset, 1}}).values(), (Floats{4, 3, 2}));
}

TEST(StridedSliceTest, RefusesWhatIsNotDefined) {
    EXPECT_TRUE(has(Slicing({4}, {0}, {4}, {0}).reason(), "stride of axis 0 is 0"));
    EXPECT_TRUE(has(Slicing({4}, {4}, {5}, {1}, {{Options::kShrinkAxisMask, 1}}).reason(),
                    "index 4 is not in axis 0"));
    EXPECT_TRUE(has(Slicing({4}, {1}, {0}, {-1}, {{Options::kShrinkAxisMask, 1}}).reason(),
                    "which goes, is negative"));
    EXPECT_TRUE(has(Slicing({4}, {0, 0}, {4, 4}, {1, 1}).reason(), "bounds are of 2 axes"));
    EXPECT_TRUE(has(Slicing({4}, {0, 0}, {4}, {1, 1}).reason(), "of different lengths"));
    EXPECT_TRUE(has(Slicing({4, 4}, {0, 0}, {4, 4}, {1, 1}, {{Options::kEllipsisMask, 3}}).reason(),
                    "several ellipses"));
    EXPECT_TRUE(has(Slicing({4}, {0, 0}, {4, 4}, {1, 1}, {{Options::kEllipsisMask, 1}}).reason(),
                    "stands for no axis"));
}

TEST(StridedSliceTest, TakesBoundsThatAreComputedWithoutAxesThatComeOrGo) {
    for (const bool shrinks : {false, true}) {
        OfOne model({4});
        std::vector<int32_t> inputs = {model.x};
        for (int i = 0; i < 3; ++i) {
            inputs.push_back(model.builder.input(ElementType::INT32, {1}));
        }
        model.builder.add(OperatorCode::STRIDED_SLICE, inputs, model.outputs,
                          {{Options::kShrinkAxisMask, integer(shrinks ? 1 : 0)}});
        if (shrinks) {
            EXPECT_TRUE(has(model.reason(), "its bounds are computed"));
            continue;
        }
        const Outcome found = run(model.builder.model(), {{model.x, bytesOf(counted(4))},
                                                          {inputs[1], bytesOf(Ints{1})},
                                                          {inputs[2], bytesOf(Ints{3})},
                                                          {inputs[3], bytesOf(Ints{1})}});
        ASSERT_TRUE(found.status.ok()) << found.status.toString();
        EXPECT_EQ(found.floats(model.outputs[0]), (Floats{1, 2}));
    }
}

TEST(SlicingTest, SliceTakesASizeOrTheRest) {
    OfOne model({2, 3});
    const int32_t begin = model.builder.longs({2}, {1, 1});
    const int32_t size = model.builder.ints({2}, {-1, 1});
    model.builder.add(OperatorCode::SLICE, {model.x, begin, size}, model.outputs);
    EXPECT_EQ(model.run().floats(model.outputs[0]), (Floats{4}));
    OfOne outside({2});
    const int32_t at = outside.builder.ints({1}, {1});
    const int32_t count = outside.builder.ints({1}, {2});
    outside.builder.add(OperatorCode::SLICE, {outside.x, at, count}, outside.outputs);
    EXPECT_TRUE(has(outside.reason(), "does not fit axis 0")) << outside.reason();
}

TEST(SlicingTest, GatherTakesAListAndASingleIndex) {
    OfOne model({2, 3});
    const int32_t indices = model.builder.longs({2}, {2, 0});
    model.builder.add(OperatorCode::GATHER, {model.x, indices}, model.outputs,
                      {{GatherOptions::kAxis, integer(-1)}});
    EXPECT_EQ(model.run().floats(model.outputs[0]), (Floats{2, 0, 5, 3}));
    OfOne single({2, 3});
    const int32_t index = single.builder.ints({}, {1});
    single.builder.add(OperatorCode::GATHER, {single.x, index}, single.outputs);
    const Outcome found = single.run();
    ASSERT_TRUE(found.status.ok()) << found.status.toString();
    EXPECT_EQ(found[single.outputs[0]].shape, (Extents{3}));
    EXPECT_EQ(found.floats(single.outputs[0]), (Floats{3, 4, 5}));
}

TEST(SlicingTest, GatherRefusesBatchDimensions) {
    OfOne model({2, 3});
    const int32_t indices = model.builder.ints({2, 1}, {2, 0});
    model.builder.add(
            OperatorCode::GATHER, {model.x, indices}, model.outputs,
            {{GatherOptions::kAxis, integer(1)}, {GatherOptions::kBatchDims, integer(1)}});
    EXPECT_TRUE(has(model.reason(), "1 batch dimensions")) << model.reason();
}

TEST(SlicingTest, ReverseTakesSeveralAxesOrNone) {
    OfOne model({2, 2});
    const int32_t axes = model.builder.ints({2}, {0, -1});
    model.builder.add(OperatorCode::REVERSE_V2, {model.x, axes}, model.outputs);
    EXPECT_EQ(model.run().floats(model.outputs[0]), (Floats{3, 2, 1, 0}));
    OfOne none({2});
    const int32_t empty = none.builder.ints({0}, {});
    none.builder.add(OperatorCode::REVERSE_V2, {none.x, empty}, none.outputs);
    EXPECT_EQ(none.run().floats(none.outputs[0]), (Floats{0, 1}));
    OfOne twice({2});
    const int32_t same = twice.builder.ints({2}, {0, -1});
    twice.builder.add(OperatorCode::REVERSE_V2, {twice.x, same}, twice.outputs);
    EXPECT_TRUE(has(twice.reason(), "reverses axis 0 twice")) << twice.reason();
}

TEST(SlicingTest, PadAddsZerosAndPadV2AValue) {
    OfOne zeros({2});
    const int32_t paddings = zeros.builder.longs({1, 2}, {1, 2});
    zeros.builder.add(OperatorCode::PAD, {zeros.x, paddings}, zeros.outputs);
    EXPECT_EQ(zeros.run().floats(zeros.outputs[0]), (Floats{0, 0, 1, 0, 0}));
    OfOne sevens({2});
    const int32_t one = sevens.builder.ints({1, 2}, {1, 0});
    const int32_t value = sevens.builder.floats({}, {7});
    sevens.builder.add(OperatorCode::PADV2, {sevens.x, one, value}, sevens.outputs);
    EXPECT_EQ(sevens.run().floats(sevens.outputs[0]), (Floats{7, 0, 1}));
}

// The element 5 of a scale of a half and a zero point of 3 is the real 1.
TEST(SlicingTest, PadV2OfQuantisedNumbersAddsAnElement) {
    const TensorQuantization quantization = {.scales = {0.5F}, .zeroPoints = {3}};
    ModelBuilder builder;
    const int32_t x = builder.input(ElementType::INT8, {2}, quantization);
    const int32_t paddings = builder.ints({1, 2}, {1, 0});
    const int32_t value = builder.constant(ElementType::INT8, {}, {5}, quantization);
    const int32_t output = builder.tensor(ElementType::INT8, {3}, quantization);
    builder.add(OperatorCode::PADV2, {x, paddings, value}, {output});
    builder.output(output);
    const Outcome found = run(builder.model(), {{x, Bytes{1, 2}}});
    ASSERT_TRUE(found.status.ok()) << found.status.toString();
    EXPECT_EQ(found[output].bytes, (Bytes{5, 1, 2}));
}

TEST(SlicingTest, PadV2RefusesAValueOfAnotherScale) {
    ModelBuilder builder;
    const int32_t x = builder.input(ElementType::INT8, {2}, {.scales = {0.5F}, .zeroPoints = {3}});
    const int32_t paddings = builder.ints({1, 2}, {1, 0});
    const int32_t value =
            builder.constant(ElementType::INT8, {}, {5}, {.scales = {0.25F}, .zeroPoints = {3}});
    const int32_t output =
            builder.tensor(ElementType::INT8, {3}, {.scales = {0.5F}, .zeroPoints = {3}});
    builder.add(OperatorCode::PADV2, {x, paddings, value}, {output});
    EXPECT_TRUE(has(reasonOf(builder.model()), "its value is")) << reasonOf(builder.model());
}

TEST(SlicingTest, MirrorPadShowsTheEdgeOrNot) {
    const auto padded = [](MirrorMode mode) {
        OfOne model({3});
        const int32_t paddings = model.builder.ints({1, 2}, {2, 0});
        model.builder.add(OperatorCode::MIRROR_PAD, {model.x, paddings}, model.outputs,
                          {{MirrorPadOptions::kMode, integer(static_cast<int64_t>(mode))}});
        return model;
    };
    OfOne reflected = padded(MirrorMode::REFLECT);
    EXPECT_EQ(reflected.run().floats(reflected.outputs[0]), (Floats{2, 1, 0, 1, 2}));
    OfOne symmetric = padded(MirrorMode::SYMMETRIC);
    EXPECT_EQ(symmetric.run().floats(symmetric.outputs[0]), (Floats{1, 0, 0, 1, 2}));
    EXPECT_TRUE(has(padded(MirrorMode::UNKNOWN).reason(), "its mode is 0"));
}

}  // namespace
}  // namespace halyard::tflite
