// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "tests/engine/nodes/inference.h"

namespace halyard::engine::nodes_test {
namespace {

const Reduce kDrop = {.keepDims = false};
const Reduce kKeep = {.keepDims = true};

Result<Shape> reduce(const Reduce& node, Shape x, const std::vector<int32_t>& axes) {
    return infer(node, {.inputs = {floats(x), ints({static_cast<int32_t>(axes.size())})},
                        .values = &axes});
}

TEST(ReduceShapes, DropOrKeepTheAxes) {
    EXPECT_TRUE(gives(reduce(kDrop, {2, 3, 4}, {1}), {2, 4}));
    EXPECT_TRUE(gives(reduce(kKeep, {2, 3, 4}, {1}), {2, 1, 4}));
    EXPECT_TRUE(gives(reduce(kDrop, {2, 3, 4}, {-1, 0}), {3}));
}

TEST(ReduceShapes, CountRepeatedAxesOnce) {
    EXPECT_TRUE(gives(reduce(kDrop, {2, 3, 4}, {1, -2, 1, 1, 1, 1, 1, 1, 1, 1}), {2, 4}));
}

TEST(ReduceShapes, WithoutAxesAreTheInputs) {
    EXPECT_TRUE(gives(reduce(kDrop, {2, 3}, {}), {2, 3}));
    EXPECT_TRUE(gives(reduce(kDrop, {}, {}), {}));
}

// As NNAPI's MEAN has it.
TEST(ReduceShapes, OfEveryAxisAreOneElement) {
    EXPECT_TRUE(gives(reduce(kDrop, {2, 3}, {0, 1}), {1}));
    EXPECT_TRUE(gives(reduce(kKeep, {2, 3}, {0, 1}), {1, 1}));
}

TEST(ReduceShapes, KeepWhatIsUnknown) {
    EXPECT_TRUE(gives(reduce(kDrop, {kUnknown, 3}, {1}), {kUnknown}));
    EXPECT_TRUE(gives(reduce(kKeep, {kUnknown, 3}, {0}), {1, 3}));
    EXPECT_TRUE(gives(reduce(kDrop, kNoRank, {1}), kNoRank));
    EXPECT_TRUE(gives(infer(kDrop, {.inputs = {floats({2, 3}), ints({1})}}), kNoRank));
    EXPECT_TRUE(gives(infer(kKeep, {.inputs = {floats({2, 3}), ints({1})}}), {kUnknown, kUnknown}));
    EXPECT_TRUE(gives(infer(kDrop, {.inputs = {floats({2, 3}), ints(kNoRank)}}), kNoRank));
}

TEST(ReduceShapes, RejectAxesOutOfRange) {
    EXPECT_TRUE(rejects(reduce(kDrop, {2, 3}, {2}), "axis 2"));
    EXPECT_TRUE(rejects(reduce(kDrop, {2, 3}, {-3}), "axis -3"));
    EXPECT_TRUE(rejects(reduce(kDrop, {}, {0}), "axis 0"));
}

TEST(ReduceShapes, RejectOtherInputs) {
    EXPECT_TRUE(rejects(infer(kDrop, {.inputs = {floats({2}), floats({1})}}), "INT32"));
    EXPECT_TRUE(rejects(infer(kDrop, {.inputs = {floats({2}), ints({1, 1})}}), "rank 1"));
    EXPECT_TRUE(rejects(infer(kDrop, {.inputs = {bytes({2}), ints({1})}}), "same element type"));
    EXPECT_TRUE(rejects(infer(kDrop, {.inputs = {floats({2})}}), "takes 2 inputs"));
}

TEST(ReduceShapes, TakeTheTypesThatTheFunctionIsDefinedFor) {
    const auto acceptedBy = [](Reduce::Function function) {
        return accepted([&](DataType type) {
            return infer(Reduce{.function = function},
                         {.inputs = {typed(type, {2}), ints({1})}, .output = typed(type, {2})});
        });
    };
    using Function = Reduce::Function;
    EXPECT_EQ(acceptedBy(Function::MEAN), kRealNames);
    EXPECT_EQ(acceptedBy(Function::MAX), kRealNames);
    EXPECT_EQ(acceptedBy(Function::MIN), kRealNames);
    EXPECT_EQ(acceptedBy(Function::SUM), kFloatNames);
    EXPECT_EQ(acceptedBy(Function::PROD), kFloatNames);
    EXPECT_EQ(acceptedBy(Function::ALL), "BOOL8");
    EXPECT_EQ(acceptedBy(Function::ANY), "BOOL8");
}

Result<Shape> argMax(int32_t axis, Shape x) {
    return infer(ArgMinMax{.axis = axis}, {.inputs = {floats(x)}, .output = ints({})});
}

TEST(ArgMinMaxShapes, LoseTheAxis) {
    EXPECT_TRUE(gives(argMax(1, {2, 3, 4}), {2, 4}));
    EXPECT_TRUE(gives(argMax(-1, {2, kUnknown, 4}), {2, kUnknown}));
    EXPECT_TRUE(gives(argMax(0, kNoRank), kNoRank));
}

// As NNAPI's ARGMAX has it.
TEST(ArgMinMaxShapes, OfAListAreOneElement) {
    EXPECT_TRUE(gives(argMax(0, {3}), {1}));
}

TEST(ArgMinMaxShapes, RejectAnAxisWithoutElements) {
    EXPECT_TRUE(rejects(argMax(1, {2, 0}), "no elements along axis 1"));
    EXPECT_TRUE(gives(argMax(1, {0, 0}), {0}));
    EXPECT_TRUE(rejects(argMax(2, {2, 3}), "axis 2"));
}

TEST(ArgMinMaxShapes, AreInt32OfNumbers) {
    EXPECT_TRUE(rejects(infer(ArgMinMax(), {.inputs = {floats({2})}}), "must be INT32"));
    EXPECT_EQ(accepted([](DataType type) {
                  return infer(ArgMinMax(), {.inputs = {typed(type, {2})}, .output = ints({})});
              }),
              kNumberNames);
}

}  // namespace
}  // namespace halyard::engine::nodes_test
