// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <vector>

#include "tests/engine/nodes/inference.h"

namespace halyard::engine::nodes_test {
namespace {

// b 2, k 3, n 4.
std::vector<TensorType> rnnInputs() {
    return {floats({2, 3}), floats({4, 3}), floats({4, 4}), floats({4}), floats({2, 4})};
}

Asking ask(const NodeDescriptor& node, const std::vector<TensorType>& inputs, size_t outputs) {
    Asking asking(node);
    for (const TensorType& input : inputs) {
        asking.with(input);
    }
    for (size_t i = 0; i < outputs; ++i) {
        asking.giving(floats(kNoRank));
    }
    return asking;
}

TEST(RnnShapes, AreBatchByUnits) {
    EXPECT_TRUE(gives(ask(Rnn(), rnnInputs(), 2).shapes(), {{2, 4}, {2, 4}}));
    std::vector<TensorType> inputs = rnnInputs();
    inputs[0] = floats(kNoRank);
    inputs[3] = floats({kUnknown});
    EXPECT_TRUE(gives(ask(Rnn(), inputs, 2).shapes(), {{2, 4}, {2, 4}})) << "from the others";
}

TEST(RnnShapes, RejectAnyShapeThatDisagrees) {
    for (size_t input = 0; input < rnnInputs().size(); ++input) {
        for (size_t axis = 0; axis < rnnInputs()[input].shape.rank(); ++axis) {
            std::vector<TensorType> inputs = rnnInputs();
            inputs[input].shape[axis] = 9;
            EXPECT_TRUE(rejects(ask(Rnn(), inputs, 2).shapes(), "must be"))
                    << "input " << input << ", axis " << axis;
        }
    }
}

TEST(RnnShapes, AreOfOneFloatType) {
    std::vector<TensorType> inputs = rnnInputs();
    inputs[3].type = DataType::FLOAT16;
    EXPECT_TRUE(rejects(ask(Rnn(), inputs, 2).shapes(), "input 3"));
    inputs.assign(5, ints({1}));
    EXPECT_TRUE(rejects(ask(Rnn(), inputs, 2).shapes(), "FLOAT32 or FLOAT16"));
    EXPECT_TRUE(rejects(ask(Rnn(), rnnInputs(), 0).giving(floats({})).giving(ints({})).shapes(),
                        "output 1"));
}

// t 5.
Asking sequence(bool timeMajor) {
    std::vector<TensorType> inputs = rnnInputs();
    inputs[0] = floats(timeMajor ? Shape{5, 2, 3} : Shape{2, 5, 3});
    return ask(RnnSequence{.timeMajor = timeMajor}, inputs, 2);
}

TEST(RnnSequenceShapes, HaveTimeFirstOrSecond) {
    EXPECT_TRUE(gives(sequence(true).without().without().shapes(), {{5, 2, 4}, {2, 4}}));
    EXPECT_TRUE(gives(sequence(false).without().without().shapes(), {{2, 5, 4}, {2, 4}}));
}

TEST(RnnSequenceShapes, AddAnAuxiliaryInput) {
    EXPECT_TRUE(gives(sequence(true).with(floats({5, 2, 6})).with(floats({4, 6})).shapes(),
                      {{5, 2, 4}, {2, 4}}));
    EXPECT_TRUE(
            rejects(sequence(true).without().with(floats({4, 6})).shapes(), "no auxiliary input"));
    EXPECT_TRUE(rejects(sequence(true).with(floats({5, 2, 6})).with(floats({4, 7})).shapes(),
                        "the auxiliary weights"));
    EXPECT_TRUE(rejects(sequence(true).with(floats({6, 2, 6})).with(floats({4, 6})).shapes(),
                        "the auxiliary input"));
}

// As models declare what no request brings.
TEST(RnnSequenceShapes, TakeAnyRankOfWhatMayBeLeftOut) {
    const TensorType unsaid = floats({kUnknown});
    EXPECT_TRUE(gives(sequence(true).with(unsaid).with(unsaid).shapes(), {{5, 2, 4}, {2, 4}}));
    EXPECT_TRUE(rejects(sequence(true).with(floats({3})).with(floats({4, 6})).shapes(),
                        "the auxiliary input"));
    EXPECT_TRUE(rejects(sequence(true).with(unsaid).with(floats({3})).shapes(),
                        "the auxiliary weights"));
}

// k 3 of the weights.
TEST(RnnSequenceShapes, ReadTheAuxiliaryInputAloneBackwards) {
    const auto reading = [](bool backward, Shape x, Shape aux) {
        std::vector<TensorType> inputs = rnnInputs();
        inputs[0] = floats(x);
        return ask(RnnSequence{.backward = backward}, inputs, 2).with(floats(aux)).without();
    };
    EXPECT_TRUE(gives(reading(true, {2, 5, 9}, {2, 5, 3}).shapes(), {{2, 5, 4}, {2, 4}}));
    EXPECT_TRUE(rejects(reading(true, {2, 5, 3}, {2, 5, 9}).shapes(), "the weights"));
    EXPECT_TRUE(rejects(reading(true, {2, 5, 9}, {2, 6, 3}).shapes(), "the auxiliary input"));
    EXPECT_TRUE(gives(reading(false, {2, 5, 3}, {2, 5, 9}).shapes(), {{2, 5, 4}, {2, 4}}));
    EXPECT_TRUE(rejects(reading(false, {2, 5, 9}, {2, 5, 3}).shapes(), "the weights"));
}

// Whether there are auxiliary weights only a run tells: without them aux has k 3, with them l 6.
TEST(RnnSequenceShapes, FitOneUseOfAnAuxiliaryInputWhoseWeightsMayBeLeftOut) {
    const auto reading = [](bool backward, int32_t x, int32_t aux) {
        std::vector<TensorType> inputs = rnnInputs();
        inputs[0] = floats({2, 5, x});
        return ask(RnnSequence{.backward = backward}, inputs, 2).with(floats({2, 5, aux}));
    };
    const TensorType weights = floats({4, 6});
    const std::vector<Shape> shapes = {{2, 5, 4}, {2, 4}};
    EXPECT_TRUE(gives(reading(true, 9, 3).withPerhaps(weights).shapes(), shapes));
    EXPECT_TRUE(gives(reading(true, 3, 6).withPerhaps(weights).shapes(), shapes));
    EXPECT_TRUE(gives(reading(false, 3, 9).withPerhaps(weights).shapes(), shapes));
    EXPECT_TRUE(rejects(reading(true, 9, 6).withPerhaps(weights).shapes(), "the weights"));
    EXPECT_TRUE(rejects(reading(true, 9, 3).with(weights).shapes(), "the auxiliary weights"));
    EXPECT_TRUE(rejects(reading(false, 3, 9).with(weights).shapes(), "the auxiliary weights"));
}

// Rank 2 of 4 filters: 2 units; memory 5.
Asking svdf(int32_t rank, Shape state) {
    return Asking(Svdf{.rank = rank})
            .with(floats({3, 7}))
            .with(floats({4, 7}))
            .with(floats({4, 5}))
            .with(floats({2}))
            .with(floats(state))
            .giving(floats(kNoRank))
            .giving(floats(kNoRank));
}

TEST(SvdfShapes, AreTheStateAndTheUnits) {
    EXPECT_TRUE(gives(svdf(2, {3, 20}).shapes(), {{3, 20}, {3, 2}}));
    EXPECT_TRUE(gives(svdf(2, kNoRank).shapes(), {{3, 20}, {3, 2}}));
}

TEST(SvdfShapes, RejectWhatDisagrees) {
    EXPECT_TRUE(rejects(svdf(2, {3, 21}).shapes(), "the state"));
    EXPECT_TRUE(rejects(svdf(3, {3, 20}).shapes(), "multiple of 3"));
    EXPECT_TRUE(rejects(svdf(1, {3, 20}).shapes(), "the bias"));
    EXPECT_TRUE(rejects(svdf(0, {3, 20}).shapes(), "the rank (0)"));
}

}  // namespace
}  // namespace halyard::engine::nodes_test
