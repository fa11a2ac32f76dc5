// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/engine/nodes/inference.h"

namespace halyard::engine::nodes_test {
namespace {

constexpr int32_t kMin = std::numeric_limits<int32_t>::min();

Result<Shape> pad(Shape x, const std::vector<int32_t>& paddings) {
    return infer(Pad(),
                 {.inputs = {floats(x), ints({static_cast<int32_t>(paddings.size() / 2), 2})},
                  .values = &paddings});
}

TEST(PadShapes, AddBeforeAndAfter) {
    EXPECT_TRUE(gives(pad({2, 3}, {1, 2, 0, 4}), {5, 7}));
    EXPECT_TRUE(gives(pad({0}, {1, 1}), {2}));
    EXPECT_TRUE(gives(pad({}, {}), {}));
}

TEST(PadShapes, KeepWhatIsUnknown) {
    EXPECT_TRUE(gives(pad({kUnknown, 3}, {1, 2, 0, 4}), {kUnknown, 7}));
    EXPECT_TRUE(gives(pad(kNoRank, {1, 2, 0, 4}), {kUnknown, kUnknown}));
    EXPECT_TRUE(
            gives(infer(Pad(), {.inputs = {floats({2, 3}), ints({2, 2})}}), {kUnknown, kUnknown}));
    EXPECT_TRUE(
            gives(infer(Pad(), {.inputs = {floats({2, 3}), ints(kNoRank)}}), {kUnknown, kUnknown}));
    EXPECT_TRUE(gives(infer(Pad(), {.inputs = {floats(kNoRank), ints({kUnknown, 2})}}), kNoRank));
}

TEST(PadShapes, RejectNegativeAndHugePaddings) {
    EXPECT_TRUE(rejects(pad({2, 3}, {1, -1, 0, 0}), "axis 0 is negative"));
    EXPECT_TRUE(rejects(pad({2, 3}, {0, 0, kMax, kMax}), "axis 1 (2147483650) is too large"));
}

TEST(PadShapes, RejectPaddingsOfAnotherForm) {
    EXPECT_TRUE(rejects(pad({2, 3}, {1, 1}), "rank"));
    EXPECT_TRUE(rejects(infer(Pad(), {.inputs = {floats({2}), ints({1, 3})}}), "columns"));
    EXPECT_TRUE(rejects(infer(Pad(), {.inputs = {floats({2}), ints({2})}}), "rank 2"));
    EXPECT_TRUE(rejects(infer(Pad(), {.inputs = {floats({2}), floats({1, 2})}}), "INT32"));
    EXPECT_TRUE(rejects(infer(Pad(), {.inputs = {floats({2})}}), "takes 3 inputs"));
    EXPECT_EQ(infer(Pad(), {.inputs = {floats(kNoRank), ints({kMostAxes + 1, 2})}}).status().code(),
              StatusCode::UNSUPPORTED);
}

TEST(PadShapes, RejectAnotherScale) {
    EXPECT_TRUE(rejects(
            infer(Pad(), {.inputs = {bytes({2}, 0.5F), ints({1, 2})}, .output = bytes({}, 0.25F)}),
            "same scale"));
}

TEST(PadShapes, MirrorNoMoreThanThereIs) {
    const auto mirror = [](Pad::Mode mode, Shape x, const std::vector<int32_t>& paddings) {
        return Asking(Pad{.mode = mode}).with(floats(x)).with(ints({1, 2}), paddings).shape();
    };
    EXPECT_TRUE(gives(mirror(Pad::Mode::REFLECT, {3}, {2, 1}), {6}));
    EXPECT_TRUE(rejects(mirror(Pad::Mode::REFLECT, {3}, {0, 3}), "more than the 2"));
    EXPECT_TRUE(gives(mirror(Pad::Mode::SYMMETRIC, {3}, {3, 3}), {9}));
    EXPECT_TRUE(rejects(mirror(Pad::Mode::SYMMETRIC, {3}, {4, 0}), "more than the 3"));
    EXPECT_TRUE(gives(mirror(Pad::Mode::REFLECT, {kUnknown}, {9, 9}), {kUnknown}));
    EXPECT_TRUE(gives(mirror(Pad::Mode::REFLECT, {0}, {0, 0}), {0}));
}

TEST(PadShapes, TakeOneElementAsTheirValue) {
    const auto pad = [](const Pad& node, const TensorType& x, const TensorType& value) {
        return Asking(node).with(x).with(ints({1, 2}), {0, 1}).with(value).giving(x).shape();
    };
    EXPECT_TRUE(gives(pad(Pad(), floats({2}), floats({})), {3}));
    EXPECT_TRUE(gives(pad(Pad(), ints({2}), ints({1, 1})), {3}));
    EXPECT_TRUE(gives(pad(Pad(), bytes({2}, 0.5F), ints({})), {3}));
    EXPECT_TRUE(rejects(pad(Pad(), bytes({2}, 0.5F), floats({})), "must be INT32"));
    EXPECT_TRUE(rejects(pad(Pad(), floats({2}), ints({})), "the value"));
    EXPECT_TRUE(rejects(pad(Pad(), floats({2}), floats({2})), "must be one element"));
    EXPECT_TRUE(rejects(pad({.mode = Pad::Mode::REFLECT}, floats({2}), floats({})),
                        "a mirror takes no value"));
}

TEST(PadShapes, FillNumbersAndMirrorAnythingThatMoves) {
    const auto acceptedBy = [](Pad::Mode mode) {
        return accepted([&](DataType type) {
            return infer(Pad{.mode = mode},
                         {.inputs = {typed(type, {2}), ints({1, 2})}, .output = typed(type, {2})});
        });
    };
    EXPECT_EQ(acceptedBy(Pad::Mode::CONSTANT), kNumberNames);
    EXPECT_EQ(acceptedBy(Pad::Mode::REFLECT), kMovableNames);
    EXPECT_EQ(acceptedBy(Pad::Mode::SYMMETRIC), kMovableNames);
}

Result<Shape> slice(Shape x, const std::vector<int32_t>& begin, const std::vector<int32_t>& size) {
    return Asking(Slice()).with(floats(x)).withList(begin).withList(size).shape();
}

TEST(SliceShapes, AreTheSizes) {
    EXPECT_TRUE(gives(slice({4, 5}, {1, 0}, {2, 5}), {2, 5}));
    EXPECT_TRUE(gives(slice({4, 5}, {1, 5}, {-1, -1}), {3, 0}));
    EXPECT_TRUE(gives(slice({0, 5}, {0, 1}, {-1, 1}), {0, 1}));
}

TEST(SliceShapes, KeepWhatIsUnknown) {
    EXPECT_TRUE(gives(slice({kUnknown, 5}, {1, 0}, {2, -1}), {2, kUnknown}));
    EXPECT_TRUE(
            gives(Asking(Slice()).with(floats(kNoRank)).with(ints({2})).with(ints(kNoRank)).shape(),
                  {kUnknown, kUnknown}));
    EXPECT_TRUE(gives(
            Asking(Slice()).with(floats(kNoRank)).with(ints(kNoRank)).with(ints(kNoRank)).shape(),
            kNoRank));
}

TEST(SliceShapes, RejectWhatIsOutside) {
    EXPECT_TRUE(rejects(slice({4}, {-1}, {1}), "begin -1 is not in axis 0"));
    EXPECT_TRUE(rejects(slice({4}, {5}, {-1}), "begin 5 is not in axis 0"));
    EXPECT_TRUE(rejects(slice({4}, {2}, {3}), "size 3 from 2 on does not fit"));
    EXPECT_TRUE(rejects(slice({4}, {2}, {-2}), "size -2"));
    EXPECT_TRUE(rejects(slice({4}, {1}, {kMax}), "size 2147483647"));
    EXPECT_TRUE(rejects(slice({4}, {0, 0}, {1}), "the length of the list of beginnings"));
    EXPECT_TRUE(rejects(slice(kNoRank, {0, 0}, {1}), "the length of the list of sizes"));
}

Result<Shape> stridedSlice(const StridedSlice& node, Shape x, const std::vector<int32_t>& begin,
                           const std::vector<int32_t>& end, const std::vector<int32_t>& strides) {
    return Asking(node).with(floats(x)).withList(begin).withList(end).withList(strides).shape();
}

// len(range(n)[begin:end:stride]) of Python.
TEST(StridedSliceShapes, AreThoseOfPythonsSlices) {
    EXPECT_TRUE(gives(stridedSlice({}, {4}, {1}, {-2}, {1}), {1}));
    EXPECT_TRUE(gives(stridedSlice({}, {5}, {0}, {5}, {2}), {3}));
    EXPECT_TRUE(gives(stridedSlice({}, {5}, {-9}, {9}, {3}), {2}));
    EXPECT_TRUE(gives(stridedSlice({}, {5}, {3}, {1}, {1}), {0}));
    EXPECT_TRUE(gives(stridedSlice({}, {5}, {-1}, {-9}, {-2}), {3}));
    EXPECT_TRUE(gives(stridedSlice({}, {5}, {4}, {0}, {-1}), {4}));
    EXPECT_TRUE(gives(stridedSlice({}, {0}, {0}, {9}, {1}), {0}));
    EXPECT_TRUE(gives(stridedSlice({}, {5}, {0}, {kMax}, {kMax}), {1}));
    EXPECT_TRUE(gives(stridedSlice({}, {5}, {kMax}, {kMin}, {kMin}), {1}));
}

TEST(StridedSliceShapes, WithMasksGoToTheEnds) {
    EXPECT_TRUE(gives(stridedSlice({.beginMask = 1, .endMask = 2}, {5, 6}, {4, 2}, {2, 3}, {1, 1}),
                      {2, 4}));
    EXPECT_TRUE(gives(stridedSlice({.beginMask = 1, .endMask = 1}, {5}, {1}, {1}, {-1}), {5}));
}

TEST(StridedSliceShapes, LoseTheAxesThatShrink) {
    EXPECT_TRUE(gives(stridedSlice({.shrinkMask = 1}, {5, 6}, {-5, 2}, {1, 3}, {1, 1}), {1}));
    EXPECT_TRUE(gives(stridedSlice({.shrinkMask = 2}, {5, 6}, {0, 2}, {5, 3}, {1, 1}), {5}));
    EXPECT_TRUE(gives(stridedSlice({.shrinkMask = 1}, {4}, {0}, {1}, {1}), {1}))
            << "one element, not a scalar";
}

// Clamped as those of other axes are.
TEST(StridedSliceShapes, ShrinkSlicesOfOneElement) {
    const auto shrunk = [](int32_t begin, int32_t end, int32_t stride, StridedSlice node = {}) {
        node.shrinkMask = 1;
        return stridedSlice(node, {5, 2}, {begin, 0}, {end, 2}, {stride, 1});
    };
    for (const auto& one :
         {shrunk(-9, 1, 1), shrunk(-9, -4, 1), shrunk(4, 9, 1), shrunk(-1, 5, 1), shrunk(2, 5, 3),
          shrunk(0, 9, 9), shrunk(4, 4, 1, {.endMask = 1}), shrunk(3, 1, 1, {.beginMask = 1})}) {
        EXPECT_TRUE(gives(one, {2}));
    }
    for (const auto& none : {shrunk(2, 2, 1), shrunk(-1, 0, 1), shrunk(5, 6, 1), shrunk(-9, -6, 1),
                             shrunk(3, 0, 1, {.beginMask = 1})}) {
        EXPECT_TRUE(rejects(none, "has 0 elements, not 1"));
    }
    EXPECT_TRUE(rejects(shrunk(1, 3, 1), "has 2 elements, not 1"));
    EXPECT_TRUE(rejects(shrunk(0, 1, 1, {.endMask = 1}), "has 5 elements, not 1"));
    EXPECT_TRUE(rejects(shrunk(1, 0, -1), "must be positive"));
    EXPECT_TRUE(rejects(stridedSlice({.shrinkMask = 1}, {0}, {0}, {1}, {1}), "has 0 elements"));
}

TEST(StridedSliceShapes, KeepWhatIsUnknown) {
    const auto unknown = [](int32_t shrinkMask, Shape x) {
        return Asking(StridedSlice{.shrinkMask = shrinkMask})
                .with(floats(x))
                .with(ints({2}))
                .with(ints({2}))
                .with(ints({2}))
                .shape();
    };
    EXPECT_TRUE(gives(unknown(0, {2, 3}), {kUnknown, kUnknown}));
    EXPECT_TRUE(gives(unknown(1, kNoRank), {kUnknown}));
}

TEST(StridedSliceShapes, RejectAStrideOfZero) {
    EXPECT_TRUE(rejects(stridedSlice({}, {5}, {0}, {5}, {0}), "the stride of axis 0 is 0"));
    EXPECT_TRUE(rejects(stridedSlice({}, {5}, {0}, {5, 5}, {1}), "the length of the list of ends"));
}

Result<Shape> tile(Shape x, const std::vector<int32_t>& multiples) {
    return Asking(Tile()).with(floats(x)).withList(multiples).shape();
}

TEST(TileShapes, AreMultiples) {
    EXPECT_TRUE(gives(tile({2, 3, 0}, {1, 2, 4}), {2, 6, 0}));
    EXPECT_TRUE(gives(tile({2, kUnknown}, {0, 2}), {0, kUnknown}));
    EXPECT_TRUE(gives(tile(kNoRank, {2, 2}), {kUnknown, kUnknown}));
    EXPECT_TRUE(gives(Asking(Tile()).with(floats({2})).with(ints({1})).shape(), {kUnknown}));
}

TEST(TileShapes, RejectNegativeAndHugeMultiples) {
    EXPECT_TRUE(rejects(tile({2}, {-1}), "at least 0, not -1"));
    EXPECT_TRUE(rejects(tile({2}, {kMax}), "too large"));
    EXPECT_TRUE(rejects(tile({2}, {1, 1}), "the length of the list of multiples"));
}

}  // namespace
}  // namespace halyard::engine::nodes_test
