// SPDX-License-Identifier: Apache-2.0

#include "engine/passes/move_transposes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/passes/pass_testing.h"

namespace halyard::engine::pass_test {
namespace {

const std::vector<int32_t> kToNchw = {0, 3, 1, 2};
const std::vector<int32_t> kToNhwc = {0, 2, 3, 1};

TensorId transpose(TestGraph& test, TensorId x, const std::vector<int32_t>& order) {
    return test.node(Transpose(), {x, test.ints(order)});
}

// A convolution of an NCHW model, as the driver lowers it.
TensorId convolveNchw(TestGraph& test, TensorId x) {
    const TensorId nhwc = transpose(test, x, kToNhwc);
    const TensorId y = test.node(
            Conv2d{.window = {.padding = PaddingScheme::SAME}},
            {nhwc, test.constant(floatType({2, 3, 3, 2})), test.constant(floatType({2}))});
    return transpose(test, y, kToNchw);
}

size_t transposesLeft(TestGraph& test, const Graph& before) {
    const Graph graph = after(moveTransposes, before);
    EXPECT_TRUE(computeTheSame(before, graph, test.random()));
    return static_cast<size_t>(std::ranges::count(kindsOf(graph), "Transpose"));
}

TEST(MoveTransposes, LeavesTwoOfAChainOfNchwConvolutions) {
    TestGraph test;
    TensorId x = test.input(floatType({1, 2, 5, 6}));
    for (int i = 0; i < 4; ++i) {
        x = convolveNchw(test, x);
    }
    const Graph before = test.build({x});
    EXPECT_EQ(transposesLeft(test, before), 2U);
    EXPECT_EQ(fateOf(after(moveTransposes, before), 3),
              "removed: the axes are in this order without it");
}

TEST(MoveTransposes, GoesThroughElementwiseNodesAndResidualConnections) {
    TestGraph test;
    TensorId x = convolveNchw(test, test.input(floatType({1, 2, 5, 6})));
    for (int i = 0; i < 3; ++i) {
        TensorId y = test.node(Activate(), {convolveNchw(test, x)});
        y = test.node(Binary{.function = Binary::Function::MUL},
                      {y, test.constant(floatType({1, 2, 1, 1}))});
        y = test.node(Binary(), {test.constant(floatType({2, 1, 1})), y}, floatType({}));
        y = test.node(Binary(), {y, test.constant(floatType({}))});
        x = test.node(Binary(), {x, y});
    }
    EXPECT_EQ(transposesLeft(test, test.build({convolveNchw(test, x)})), 2U);
}

TEST(MoveTransposes, GoesThroughConcatPadSplitSoftmaxAndReduce) {
    TestGraph test;
    const TensorId x = test.input(floatType({1, 2, 5, 6}));
    TensorId y = test.node(Concat{.axis = 1}, {convolveNchw(test, x), convolveNchw(test, x)});
    y = test.node(Pad(), {y, test.paddings({0, 0, 0, 0, 1, 2, 3, 0}), kNoTensor});
    y = test.node(Softmax{.axis = 1}, {y});
    y = test.node(Reduce{.function = Reduce::Function::MEAN, .keepDims = true},
                  {y, test.ints({2, -1})});
    const Graph before = test.build({transpose(test, y, kToNhwc)});
    EXPECT_EQ(transposesLeft(test, before), 2U) << "each convolution's, of the input";
}

TEST(MoveTransposes, LeavesNoneWhereAReductionTakesTheAxes) {
    TestGraph test;
    const TensorId y = convolveNchw(test, test.input(floatType({1, 2, 5, 6})));
    const TensorId mean = test.node(Reduce(), {y, test.ints({2, 3})});
    EXPECT_EQ(transposesLeft(test, test.build({mean})), 1U);
    TestGraph other;
    const TensorId z = convolveNchw(other, other.input(floatType({1, 2, 5, 6})));
    const TensorId rows =
            other.node(Reduce{.function = Reduce::Function::MAX}, {z, other.ints({3})});
    EXPECT_EQ(transposesLeft(other, other.build({rows})), 2U) << "three axes are left to order";
}

TEST(MoveTransposes, KeepsTheOrderInWhichASumIsRounded) {
    TestGraph test;
    const TensorId x = test.node(Unary(), {test.input(floatType({3, 5, 7}))});
    const TensorId turned = transpose(test, x, {1, 0, 2});
    const TensorId sum =
            test.node(Reduce{.function = Reduce::Function::SUM}, {turned, test.ints({0, 1})});
    const Graph graph = after(moveTransposes, test.build({sum}));
    EXPECT_EQ(kindsOf(graph), (Kinds{"Unary", "Transpose", "Reduce"}));
}

TEST(MoveTransposes, ComposesWhatDoesNotUndoItself) {
    TestGraph test;
    const TensorId x = test.input(floatType({2, 3, 4}));
    const TensorId y = transpose(test, transpose(test, x, {1, 2, 0}), {1, 2, 0});
    EXPECT_EQ(transposesLeft(test, test.build({y})), 1U);
    TestGraph reversed;
    const TensorId z = reversed.node(Unary(), {reversed.input(floatType({2, 3, 4}))});
    const TensorId back =
            reversed.node(Transpose(), {reversed.node(Transpose(), {z, kNoTensor}), kNoTensor});
    EXPECT_EQ(transposesLeft(reversed, reversed.build({back})), 0U);
}

TEST(MoveTransposes, MeetsQuantizedConstantsOfAnyShape) {
    TestGraph test;
    const TensorType type = typeOf(DataType::QUANT8_ASYMM, {2, 3, 4}, 0.5F, 3);
    const TensorId x = test.node(Activate(), {test.input(type)});
    TensorId y = transpose(test, x, {2, 0, 1});
    TensorType constant = type;
    constant.shape = {4, 1, 3};
    y = test.node(Binary(), {y, test.constant(constant)}, type);
    const Graph before = test.build({transpose(test, y, {1, 2, 0})});
    const Graph graph = after(moveTransposes, before);
    EXPECT_TRUE(computeTheSame(before, graph, test.random()));
    EXPECT_EQ(kindsOf(graph), (Kinds{"Activate", "Transpose", "Binary"}))
            << "what is left is of the constant, which folds";
    EXPECT_EQ(graph.node(1).sources, graph.node(2).sources);
}

TEST(MoveTransposes, StaysWhereAReaderNeedsIt) {
    TestGraph test;
    const TensorId x = test.input(floatType({1, 2, 4, 4}));
    const TensorId y = transpose(test, x, kToNhwc);
    const TensorId relu = test.node(Activate(), {y});
    const TensorId pooled = test.node(Pool2d{.filterH = 2, .filterW = 2}, {y});
    const Graph before = test.build({relu, pooled});
    EXPECT_EQ(kindsOf(after(moveTransposes, before)), kindsOf(before));
    TestGraph output;
    const TensorId z = transpose(output, output.input(floatType({2, 3})), {1, 0});
    const Graph shown = output.build({z, output.node(Activate(), {z})});
    EXPECT_EQ(kindsOf(after(moveTransposes, shown)), kindsOf(shown));
}

TEST(MoveTransposes, StaysInFrontOfACastToLargerElements) {
    TestGraph test;
    const TensorId x = transpose(test, test.input(typeOf(DataType::FLOAT16, {2, 3})), {1, 0});
    const Graph before = test.build({test.node(Cast(), {x}, floatType({}))});
    EXPECT_EQ(kindsOf(after(moveTransposes, before)), kindsOf(before));
}

TEST(MoveTransposes, StaysWithUnknownExtents) {
    TestGraph test;
    const TensorId x = transpose(test, test.input(floatType({-1, 3})), {1, 0});
    const Graph before = test.build({transpose(test, test.node(Activate(), {x}), {1, 0})});
    EXPECT_EQ(kindsOf(after(moveTransposes, before)), kindsOf(before));
}

}  // namespace
}  // namespace halyard::engine::pass_test
