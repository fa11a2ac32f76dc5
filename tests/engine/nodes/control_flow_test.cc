// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "engine/graph/graph.h"
#include "tests/engine/nodes/inference.h"

namespace halyard::engine::nodes_test {
namespace {

// A graph that hands its inputs on, the first `outputs` of them, changed to the given types.
NestedGraph passing(const std::vector<TensorType>& inputs, const std::vector<TensorType>& outputs) {
    Graph graph;
    std::vector<TensorId> ids;
    for (const TensorType& input : inputs) {
        ids.push_back(graph.addTensor(input));
    }
    graph.setInputs(ids);
    ids.clear();
    for (const TensorType& output : outputs) {
        ids.push_back(graph.addTensor(output));
    }
    graph.setOutputs(ids);
    return {.graph = std::make_shared<const Graph>(std::move(graph))};
}

Asking branch(const NestedGraph& then, const NestedGraph& otherwise, Shape condition = {1}) {
    return Asking(If{.then = then, .otherwise = otherwise}).with(bools(condition));
}

TEST(IfShapes, AreWhatBothBranchesSay) {
    const auto agreed = [](Shape then, Shape otherwise) {
        return branch(passing({floats({2})}, {floats(then)}),
                      passing({floats({2})}, {floats(otherwise)}))
                .with(floats({2}))
                .shape();
    };
    EXPECT_TRUE(gives(agreed({2, 3}, {2, 3}), {2, 3}));
    EXPECT_TRUE(gives(agreed({2, 3}, {2, 4}), {2, kUnknown}));
    EXPECT_TRUE(gives(agreed({2, kUnknown}, {2, 4}), {2, kUnknown}));
    EXPECT_TRUE(gives(agreed({2, 3}, {2}), kNoRank));
    EXPECT_TRUE(gives(agreed(kNoRank, {2}), kNoRank));
}

TEST(IfShapes, NeedOneBoolForACondition) {
    const NestedGraph nothing = passing({}, {floats({2})});
    EXPECT_TRUE(branch(nothing, nothing, {}).shape().ok());
    EXPECT_TRUE(branch(nothing, nothing, {1, kUnknown}).shape().ok());
    EXPECT_TRUE(rejects(branch(nothing, nothing, {2}).shape(), "one element"));
    EXPECT_TRUE(rejects(branch(nothing, nothing, {0}).shape(), "one element"));
    EXPECT_TRUE(rejects(Asking(If{.then = nothing, .otherwise = nothing}).with(ints({1})).shape(),
                        "BOOL8"));
    EXPECT_TRUE(Asking(If{.then = nothing, .otherwise = nothing}).without().shape().ok())
            << "runs fail, models are valid";
}

TEST(IfShapes, NeedBranchesThatTakeTheValuesAndGiveTheResults) {
    const NestedGraph right = passing({floats({2})}, {floats({2})});
    const auto ask = [&](const NestedGraph& other) {
        return branch(right, other).with(floats({2})).shape();
    };
    EXPECT_TRUE(ask(right).ok());
    EXPECT_TRUE(rejects(ask(passing({}, {floats({2})})), "0 inputs, but is given 1"));
    EXPECT_TRUE(rejects(ask(passing({floats({2})}, {})), "0 outputs, but the node has 1"));
    EXPECT_TRUE(rejects(ask(passing({ints({2})}, {floats({2})})), "input 0 of the second branch"));
    EXPECT_TRUE(rejects(ask(passing({floats({2})}, {ints({2})})), "output 0 of the second branch"));
    EXPECT_TRUE(rejects(ask(passing({floats({3})}, {floats({2})})), "contradicts"));
    EXPECT_TRUE(rejects(ask({}), "the second branch is missing"));
    EXPECT_TRUE(
            rejects(branch({}, right).with(floats({2})).shape(), "the first branch is missing"));
}

TEST(IfShapes, KeepTheQuantisationOfAValue) {
    const NestedGraph half = passing({bytes({2}, 0.5F)}, {bytes({2}, 0.5F)});
    EXPECT_TRUE(rejects(branch(half, half).with(bytes({2}, 0.25F)).giving(bytes({}, 0.5F)).shape(),
                        "same scale"));
    EXPECT_TRUE(rejects(branch(half, half).with(bytes({2}, 0.5F)).giving(bytes({}, 0.25F)).shape(),
                        "same scale"));
}

TEST(IfShapes, LetValuesBeLeftOut) {
    const NestedGraph nested = passing({floats({2})}, {floats({2})});
    EXPECT_TRUE(branch(nested, nested).without().shape().ok());
}

// A counter that stays as it is, and a value whose shape is `before` and becomes `after`.
Asking loop(Shape before, Shape declared, Shape after) {
    return Asking(While{.condition = passing({floats(declared), ints({1})}, {bools({1})}),
                        .body = passing({floats(declared), ints({1})}, {floats(after)})})
            .with(floats(before))
            .with(ints({1}));
}

TEST(WhileShapes, AreWhatEveryRoundGives) {
    EXPECT_TRUE(gives(loop({2, 3}, {2, 3}, {2, 3}).shape(), {2, 3}));
    EXPECT_TRUE(gives(loop({2, 3}, {2, kUnknown}, {2, 4}).shape(), {2, kUnknown}))
            << "no round, or one";
    EXPECT_TRUE(gives(loop({2, 3}, {2, kUnknown}, {2, kUnknown}).shape(), {2, kUnknown}));
    EXPECT_TRUE(gives(loop({2, 3}, kNoRank, kNoRank).shape(), kNoRank));
}

TEST(WhileShapes, RejectValuesThatDoNotGoRound) {
    EXPECT_TRUE(rejects(loop({2}, {3}, {3}).shape(), "contradicts"));
    EXPECT_TRUE(rejects(loop({3}, {3}, {2}).shape(), "output 0 of the body"));
}

TEST(WhileShapes, NeedAConditionOfOneBool) {
    const NestedGraph body = passing({floats({2})}, {floats({2})});
    const auto ask = [&](const std::vector<TensorType>& outputs) {
        return Asking(While{.condition = passing({floats({2})}, outputs), .body = body})
                .with(floats({2}))
                .shape();
    };
    EXPECT_TRUE(ask({bools({1})}).ok());
    EXPECT_TRUE(rejects(ask({}), "one output, not 0"));
    EXPECT_TRUE(rejects(ask({bools({1}), bools({1})}), "one output, not 2"));
    EXPECT_TRUE(rejects(ask({ints({1})}), "BOOL8"));
    EXPECT_TRUE(rejects(ask({bools({2})}), "one element"));
    EXPECT_TRUE(rejects(Asking(While{.condition = {}, .body = body}).with(floats({2})).shape(),
                        "missing"));
    EXPECT_TRUE(rejects(Asking(While{.condition = body, .body = {}}).with(floats({2})).shape(),
                        "missing"));
}

TEST(WhileShapes, NeedABodyThatReplacesTheFirstValues) {
    const NestedGraph condition = passing({floats({2}), ints({1})}, {bools({1})});
    const auto ask = [&](const std::vector<TensorType>& next) {
        return Asking(While{.condition = condition,
                            .body = passing({floats({2}), ints({1})}, next)})
                .with(floats({2}))
                .with(ints({1}))
                .giving(floats(kNoRank));
    };
    EXPECT_TRUE(ask({floats({2})}).shape().ok());
    EXPECT_TRUE(ask({floats({2}), ints({1})}).shape().ok()) << "not every value is a result";
    EXPECT_TRUE(rejects(ask({floats({2})}).giving(ints({1})).shape(), "at least the 2 results"));
    EXPECT_TRUE(rejects(ask({floats({2}), ints({1}), ints({1})}).shape(), "at most the 2 values"));
    EXPECT_TRUE(rejects(ask({ints({2})}).shape(), "same element type"));
    EXPECT_TRUE(rejects(Asking(While{.condition = condition,
                                     .body = passing({floats({2}), ints({1})}, {floats({2})})})
                                .without()
                                .with(ints({1}))
                                .shape(),
                        "left out"));
}

}  // namespace
}  // namespace halyard::engine::nodes_test
