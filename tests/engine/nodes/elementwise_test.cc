// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <limits>

#include "tests/engine/nodes/inference.h"

namespace halyard::engine::nodes_test {
namespace {

TEST(BroadcastShapes, StretchesOnesAndPrepends) {
    EXPECT_TRUE(gives(broadcastShapes({2, 1, 3}, {4, 1}), {2, 4, 3}));
    EXPECT_TRUE(gives(broadcastShapes({4, 1}, {2, 1, 3}), {2, 4, 3}));
    EXPECT_TRUE(gives(broadcastShapes({}, {5}), {5}));
    EXPECT_TRUE(gives(broadcastShapes({}, {}), {}));
}

TEST(BroadcastShapes, ZeroIsAnOrdinaryExtent) {
    EXPECT_TRUE(gives(broadcastShapes({0, 3}, {1, 3}), {0, 3}));
    EXPECT_TRUE(rejects(broadcastShapes({0}, {3}), "can't be broadcast"));
}

TEST(BroadcastShapes, AnExtentAboveOneDecidesForAnUnknownOne) {
    EXPECT_TRUE(gives(broadcastShapes({kUnknown, 3}, {5, kUnknown}), {5, 3}));
    EXPECT_TRUE(gives(broadcastShapes({kUnknown, 1}, {1, kUnknown}), {kUnknown, kUnknown}));
    EXPECT_TRUE(gives(broadcastShapes({kUnknown}, {0}), {0}));
    EXPECT_TRUE(gives(broadcastShapes(Shape::unknownRank(), {3}), Shape::unknownRank()));
}

TEST(BroadcastShapes, RejectsDifferentExtents) {
    EXPECT_TRUE(rejects(broadcastShapes({2, 3}, {2, 4}), "[2, 3] and [2, 4]"));
}

TEST(ActivateShapes, AreTheInputs) {
    EXPECT_TRUE(gives(infer(Activate(), {.inputs = {floats({2, kUnknown})}}), {2, kUnknown}));
    EXPECT_TRUE(gives(infer(Activate(), {.inputs = {floats(Shape::unknownRank())}}),
                      Shape::unknownRank()));
}

TEST(ActivateShapes, RejectsOtherElementTypes) {
    EXPECT_TRUE(rejects(infer(Activate(), {.inputs = {bytes({2})}}), "same element type"));
    EXPECT_EQ(acceptedAlone(Activate()), kRealNames);
}

TEST(ActivateShapes, AllowAnotherScale) {
    EXPECT_TRUE(gives(
            infer(Activate(), {.inputs = {bytes({2}, 0.5F)}, .output = bytes({}, 1.0F / 256, 0)}),
            {2}));
}

TEST(ActivateShapes, RejectsWrongCountsAndOmittedInputs) {
    EXPECT_TRUE(rejects(infer(Activate(), {.inputs = {}}), "takes 1 inputs"));
    EXPECT_TRUE(
            rejects(infer(Activate(), {.inputs = {floats({1}), floats({1})}}), "takes 1 inputs"));
    EXPECT_TRUE(rejects(Asking(Activate()).without().shape(), "input 0, the x, can't be left out"));
    EXPECT_TRUE(rejects(
            Asking(Activate()).with(floats({1})).giving(floats({})).giving(floats({})).shape(),
            "takes 1 outputs"));
}

TEST(BinaryShapes, Broadcast) {
    EXPECT_TRUE(gives(infer(Binary(), {.inputs = {floats({2, 1}), floats({3})}}), {2, 3}));
}

TEST(BinaryShapes, RejectsMixedTypes) {
    EXPECT_TRUE(rejects(infer(Binary(), {.inputs = {floats({2}), ints({2})}}), "input 1"));
    EXPECT_TRUE(rejects(infer(Binary(), {.inputs = {floats({2}), floats({2})}, .output = ints({})}),
                        "the output"));
    EXPECT_TRUE(rejects(infer(Binary(), {.inputs = {floats({2}), floats({3})}}), "broadcast"));
}

TEST(BinaryShapes, RejectsAnActivatedInt32) {
    const Question question = {.inputs = {ints({2}), ints({2})}, .output = ints({})};
    EXPECT_TRUE(gives(infer(Binary(), question), {2}));
    EXPECT_TRUE(rejects(infer(Binary{.activation = Activation::RELU}, question), "no activation"));
}

std::string acceptedByBinary(Binary::Function function) {
    return accepted([&](DataType type) {
        return infer(Binary{.function = function},
                     {.inputs = {typed(type, {2}), typed(type, {2})}, .output = typed(type, {2})});
    });
}

TEST(BinaryShapes, TakeTheTypesThatTheFunctionIsDefinedFor) {
    using Function = Binary::Function;
    for (const Function function : {Function::ADD, Function::MUL, Function::SUB, Function::DIV,
                                    Function::MAXIMUM, Function::MINIMUM}) {
        EXPECT_EQ(acceptedByBinary(function), kNumberNames);
    }
    EXPECT_EQ(acceptedByBinary(Function::POW), kFloatNames);
    EXPECT_EQ(acceptedByBinary(Function::PRELU), kRealNames);
    EXPECT_EQ(acceptedByBinary(Function::LOGICAL_AND), "BOOL8");
    EXPECT_EQ(acceptedByBinary(Function::LOGICAL_OR), "BOOL8");
}

TEST(UnaryShapes, TakeTheTypesThatTheFunctionIsDefinedFor) {
    using Function = Unary::Function;
    EXPECT_EQ(acceptedAlone(Unary{.function = Function::ABS}), "FLOAT32 FLOAT16 INT32");
    EXPECT_EQ(acceptedAlone(Unary{.function = Function::NEG}), "FLOAT32 FLOAT16 INT32");
    EXPECT_EQ(acceptedAlone(Unary{.function = Function::LOGICAL_NOT}), "BOOL8");
    EXPECT_EQ(acceptedAlone(Unary{.function = Function::RSQRT}), kRealNames);
    for (const Function function : {Function::EXP, Function::FLOOR, Function::LOG, Function::SIN,
                                    Function::SQRT, Function::ERF}) {
        EXPECT_EQ(acceptedAlone(Unary{.function = function}), kFloatNames);
    }
}

TEST(UnaryShapes, AreTheInputs) {
    EXPECT_TRUE(gives(infer(Unary(), {.inputs = {floats({0, kUnknown})}}), {0, kUnknown}));
    EXPECT_TRUE(
            rejects(infer(Unary(), {.inputs = {floats({2})}, .output = ints({})}), "same element"));
}

TEST(ActivateShapes, RejectAnAlphaThatIsNoNumber) {
    const Activate elu = {.function = Activate::Function::ELU,
                          .alpha = std::numeric_limits<float>::quiet_NaN()};
    EXPECT_TRUE(rejects(infer(elu, {.inputs = {floats({2})}}), "alpha"));
}

TEST(CompareShapes, BroadcastToBools) {
    EXPECT_TRUE(
            gives(infer(Compare(), {.inputs = {floats({2, 1}), floats({3})}, .output = bools({})}),
                  {2, 3}));
    EXPECT_TRUE(gives(infer(Compare(),
                            {.inputs = {bytes({2}, 0.5F), bytes({2}, 0.25F)}, .output = bools({})}),
                      {2}))
            << "quantised types compare as real numbers";
    EXPECT_TRUE(rejects(infer(Compare(), {.inputs = {floats({2}), floats({2})}}), "must be BOOL8"));
    EXPECT_TRUE(rejects(infer(Compare(), {.inputs = {floats({2}), ints({2})}, .output = bools({})}),
                        "input 1"));
}

TEST(CompareShapes, TakeNumbersAndBools) {
    EXPECT_EQ(accepted([](DataType type) {
                  return infer(Compare(), {.inputs = {typed(type, {2}), typed(type, {2})},
                                           .output = bools({})});
              }),
              "FLOAT32 FLOAT16 INT32 BOOL8 QUANT8_ASYMM QUANT8_ASYMM_SIGNED");
}

Asking select(Shape condition, Shape a, Shape b) {
    return Asking(Select()).with(bools(condition)).with(floats(a)).with(floats(b));
}

TEST(SelectShapes, AreWhatAllThreeAgreeOn) {
    EXPECT_TRUE(gives(select({2, kUnknown}, {kUnknown, 3}, Shape::unknownRank()).shape(), {2, 3}));
    EXPECT_TRUE(rejects(select({2, 3}, {2, 3}, {2, 1}).shape(), "contradicts"));
    EXPECT_TRUE(rejects(select({3}, {2, 3}, {2, 3}).shape(), "contradicts"));
}

TEST(SelectShapes, RejectConditionsThatAreNoBools) {
    EXPECT_TRUE(rejects(infer(Select(), {.inputs = {ints({2}), floats({2}), floats({2})}}),
                        "the condition"));
    EXPECT_TRUE(rejects(infer(Select(), {.inputs = {bools({2}), floats({2}), ints({2})}}),
                        "same element type"));
}

}  // namespace
}  // namespace halyard::engine::nodes_test
