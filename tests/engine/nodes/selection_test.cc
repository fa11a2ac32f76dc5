// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <vector>

#include "tests/engine/nodes/inference.h"

namespace halyard::engine::nodes_test {
namespace {

Asking topK(int32_t k, Shape x) {
    return Asking(TopK{.k = k}).with(floats(x)).giving(floats(kNoRank)).giving(ints(kNoRank));
}

TEST(TopKShapes, HaveKElementsAtTheEnd) {
    EXPECT_TRUE(gives(topK(2, {3, 4}).shapes(), {{3, 2}, {3, 2}}));
    EXPECT_TRUE(gives(topK(2, {0, kUnknown}).shapes(), {{0, 2}, {0, 2}}));
    EXPECT_TRUE(gives(topK(2, kNoRank).shapes(), {kNoRank, kNoRank}));
}

TEST(TopKShapes, RejectAKOutOfRange) {
    EXPECT_TRUE(rejects(topK(5, {3, 4}).shapes(), "k (5)"));
    EXPECT_TRUE(rejects(topK(0, {3, 4}).shapes(), "k (0)"));
    EXPECT_TRUE(rejects(topK(1, {}).shapes(), "axis -1"));
}

TEST(TopKShapes, KeepTheElementsAndCountInInt32) {
    EXPECT_TRUE(
            rejects(Asking(TopK()).with(floats({3})).giving(floats({})).giving(floats({})).shape(),
                    "the indices"));
    EXPECT_TRUE(rejects(
            Asking(TopK()).with(bytes({3}, 0.5F)).giving(bytes({}, 1)).giving(ints({})).shape(),
            "same scale"));
    EXPECT_TRUE(rejects(Asking(TopK()).with(floats({3})).giving(floats({})).shape(),
                        "takes 2 outputs"));
}

Result<Shape> gather(int32_t axis, Shape x, Shape indices) {
    return infer(Gather{.axis = axis}, {.inputs = {floats(x), ints(indices)}});
}

TEST(GatherShapes, PutTheIndicesIntoThePlaceOfTheAxis) {
    EXPECT_TRUE(gives(gather(1, {2, 3, 4}, {5, 6}), {2, 5, 6, 4}));
    EXPECT_TRUE(gives(gather(-1, {2, 3}, {}), {2}));
    EXPECT_TRUE(gives(gather(0, {0, 3}, {0}), {0, 3}));
    EXPECT_TRUE(gives(gather(0, {kUnknown, 3}, {kUnknown}), {kUnknown, 3}));
    EXPECT_TRUE(gives(gather(0, kNoRank, {2}), kNoRank));
    EXPECT_TRUE(gives(gather(0, {2}, kNoRank), kNoRank));
}

TEST(GatherShapes, RejectAxesRanksAndIndicesOutOfRange) {
    EXPECT_TRUE(rejects(gather(2, {2, 3}, {1}), "axis 2"));
    EXPECT_EQ(gather(0, ones(kMaxRank), ones(2)).status().code(), StatusCode::UNSUPPORTED);
    EXPECT_TRUE(rejects(infer(Gather(), {.inputs = {floats({2}), floats({1})}}), "the indices"));
}

Asking lookup(Shape lookups, Shape keys, Shape values) {
    return Asking(HashtableLookup())
            .with(ints(lookups))
            .with(ints(keys))
            .with(floats(values))
            .giving(floats(kNoRank))
            .giving(bytes(kNoRank));
}

TEST(HashtableLookupShapes, HaveARowForEachLookup) {
    EXPECT_TRUE(gives(lookup({4}, {3}, {3, 2}).shapes(), {{4, 2}, {4}}));
    EXPECT_TRUE(gives(lookup({0}, {3}, {3}).shapes(), std::vector<Shape>{{0}, {0}}));
    EXPECT_TRUE(gives(lookup({4}, {kUnknown}, kNoRank).shapes(), {kNoRank, {4}}));
}

TEST(HashtableLookupShapes, RejectWhatDisagrees) {
    EXPECT_TRUE(rejects(lookup({4}, {3}, {2, 2}).shapes(), "the number of keys (3)"));
    EXPECT_TRUE(rejects(lookup({4}, {3}, {}).shapes(), "scalar"));
    EXPECT_TRUE(rejects(lookup({4, 1}, {3}, {3}).shapes(), "the lookups"));
    EXPECT_TRUE(rejects(Asking(HashtableLookup())
                                .with(ints({1}))
                                .with(ints({1}))
                                .with(floats({1}))
                                .giving(floats({}))
                                .giving(bools({}))
                                .shape(),
                        "the hits"));
}

Asking project(LshProjection::Type type, Shape hash) {
    return Asking(LshProjection{.type = type})
            .with(floats(hash))
            .with(bytes({3, 2}))
            .giving(ints(kNoRank));
}

TEST(LshProjectionShapes, HaveAnElementForEachFunctionOrBit) {
    using Type = LshProjection::Type;
    const auto shapeOf = [](Type type, Shape hash) {
        return Asking(LshProjection{.type = type})
                .with(floats(hash))
                .with(bytes({3, 2}))
                .without()
                .giving(ints(kNoRank))
                .shape();
    };
    EXPECT_TRUE(gives(shapeOf(Type::SPARSE, {4, 2}), {4}));
    EXPECT_TRUE(gives(shapeOf(Type::SPARSE_DEPRECATED, {4, 2}), {4}));
    EXPECT_TRUE(gives(shapeOf(Type::DENSE, {4, 2}), {8}));
    EXPECT_TRUE(gives(shapeOf(Type::DENSE, kNoRank), {kUnknown}));
    EXPECT_TRUE(rejects(shapeOf(Type::DENSE, {4, 33}), "33 bits"));
    EXPECT_TRUE(rejects(shapeOf(Type::DENSE, {4}), "rank 2"));
}

TEST(LshProjectionShapes, WeighEachRow) {
    EXPECT_TRUE(gives(project(LshProjection::Type::SPARSE, {4, 2}).with(floats({3})).shape(), {4}));
    EXPECT_TRUE(rejects(project(LshProjection::Type::SPARSE, {4, 2}).with(floats({2})).shape(),
                        "the weight"));
    EXPECT_TRUE(rejects(project(LshProjection::Type::SPARSE, {4, 2}).with(ints({3})).shape(),
                        "same element type"));
}

TEST(RandomMultinomialShapes, HaveTheSamplesOfEachBatch) {
    const auto draw = [](int32_t samples, Shape x, Shape seeds) {
        return infer(RandomMultinomial{.samples = samples},
                     {.inputs = {floats(x), ints(seeds)}, .output = ints({})});
    };
    EXPECT_TRUE(gives(draw(7, {2, 3}, {2}), {2, 7}));
    EXPECT_TRUE(gives(draw(7, {0, 0}, {2}), {0, 7}));
    EXPECT_TRUE(rejects(draw(7, {2, 0}, {2}), "no class"));
    EXPECT_TRUE(rejects(draw(0, {2, 3}, {2}), "samples (0)"));
    EXPECT_TRUE(rejects(draw(7, {2, 3}, {3}), "the seeds"));
}

}  // namespace
}  // namespace halyard::engine::nodes_test
