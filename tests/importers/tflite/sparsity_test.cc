// SPDX-License-Identifier: Apache-2.0

#include "importers/tflite/sparsity.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "importers/tflite/operators.h"
#include "tests/importers/tflite/one_operator.h"

namespace halyard::tflite {
namespace {

Sparsity::Level whole(int32_t extent) {
    return {.isDense = true, .extent = extent, .segments = {}, .indices = {}};
}

Sparsity::Level some(Ints segments, Ints indices) {
    return {.isDense = false,
            .extent = 0,
            .segments = std::move(segments),
            .indices = std::move(indices)};
}

Sparsity rows() {
    return {.order = {0, 1}, .blocks = {}, .levels = {whole(3), some({0, 2, 2, 3}, {0, 3, 2})}};
}

const Bytes kStored = {1, 2, 3};
const Bytes kWanted = {1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 3, 0};

std::string failureOf(const Sparsity& sparsity, const Bytes& stored = kStored) {
    const Result<Bytes> found = densified(sparsity, Ints{3, 4}, stored, 1);
    return found.ok() ? "" : std::string(found.status().message());
}

TEST(SparsityTest, RowsHaveTheirElements) {
    const Result<Bytes> found = densified(rows(), Ints{3, 4}, kStored, 1);
    ASSERT_TRUE(found.ok()) << found.status().toString();
    EXPECT_EQ(*found, kWanted);
}

TEST(SparsityTest, ColumnsMayComeFirst) {
    const Sparsity columns = {
            .order = {1, 0}, .blocks = {}, .levels = {whole(4), some({0, 1, 1, 2, 3}, {0, 2, 0})}};
    const Result<Bytes> found = densified(columns, Ints{3, 4}, Bytes{1, 3, 2}, 1);
    ASSERT_TRUE(found.ok()) << found.status().toString();
    EXPECT_EQ(*found, kWanted);
}

TEST(SparsityTest, BlocksAreInsideOfTheirAxes) {
    const Sparsity blocked = {.order = {0, 1, 2, 3},
                              .blocks = {0, 1},
                              .levels = {whole(2), some({0, 1, 2}, {1, 0}), whole(2), whole(2)}};
    const Result<Bytes> found = densified(blocked, Ints{4, 4}, Bytes{1, 2, 3, 4, 5, 6, 7, 8}, 1);
    ASSERT_TRUE(found.ok()) << found.status().toString();
    EXPECT_EQ(*found, (Bytes{0, 0, 1, 2, 0, 0, 3, 4, 5, 6, 0, 0, 7, 8, 0, 0}));
}

TEST(SparsityTest, WhatDoesNotFitIsRefused) {
    const auto given = [](Ints order, std::vector<Sparsity::Level> levels, Ints blocks = {}) {
        return failureOf({.order = std::move(order),
                          .blocks = std::move(blocks),
                          .levels = std::move(levels)});
    };
    EXPECT_TRUE(has(given({0, 0}, {whole(3), whole(4)}), "order of levels"));
    EXPECT_TRUE(has(given({0, 1}, {whole(3)}), "not those of its axes"));
    EXPECT_TRUE(has(given({0, 1, 2}, {whole(3), whole(4), whole(1)}, {7}), "blocks"));
    EXPECT_TRUE(has(given({0, 1, 2}, {whole(3), whole(4), some({0, 1}, {0})}, {1}), "is a block"));
    EXPECT_TRUE(has(given({0, 1}, {whole(0), whole(4)}), "has no places"));
    EXPECT_TRUE(has(given({0, 1}, {whole(3), whole(4)}), "fewer elements"));
    EXPECT_TRUE(has(given({0, 1}, {whole(3), some({0, 1}, {0})}), "too few segments"));
    EXPECT_TRUE(
            has(given({0, 1}, {whole(3), some({0, 2, 1, 3}, {0, 0, 0})}), "not in its indices"));
    EXPECT_TRUE(
            has(given({0, 1}, {whole(3), some({0, 2, 2, 9}, {0, 0, 0})}), "not in its indices"));
    EXPECT_TRUE(has(given({0, 1}, {whole(3), some({0, 2, 2, 3}, {0, 4, 2})}), "place 4 of the 4"));
    EXPECT_TRUE(has(given({0, 1}, {whole(3), some({0, 2, 2, 3}, {0, -1, 2})}), "place -1"));
}

// Levels may lead to the same elements as often as their numbers like.
TEST(SparsityTest, NoMoreIsVisitedThanThereIs) {
    const Sparsity often = {.order = {0, 1},
                            .blocks = {},
                            .levels = {some({0, 1000}, Ints(1000)), some(Ints(1001), {})}};
    EXPECT_TRUE(has(failureOf(often), "more elements than its shape"));
    const Sparsity wide = {
            .order = {0, 1}, .blocks = {}, .levels = {whole(INT32_MAX), some(Ints(10), {})}};
    EXPECT_NE(failureOf(wide), "");
    const Result<Bytes> bomb = densified(rows(), Ints{1 << 20, 1 << 20}, kStored, 1);
    ASSERT_FALSE(bomb.ok());
    EXPECT_TRUE(has(std::string(bomb.status().message()), "it stores 3 of 1099511627776"));
}

TEST(SparsityTest, DensifyGivesAConstant) {
    ModelBuilder builder;
    const int32_t x = builder.input(ElementType::FLOAT32, {3, 4});
    const int32_t weights = builder.floats({3, 4}, {1, 2, 3});
    builder.graph().tensors[static_cast<size_t>(weights)].sparsity =
            std::make_shared<const Sparsity>(rows());
    const int32_t dense = builder.tensor(ElementType::FLOAT32, {3, 4});
    const int32_t sum = builder.tensor(ElementType::FLOAT32, {3, 4});
    builder.add(OperatorCode::DENSIFY, {weights}, {dense});
    builder.add(OperatorCode::ADD, {x, dense}, {sum});
    builder.output(sum);
    Model model = builder.model();
    EXPECT_TRUE(has(reasonOf(model), "no constant"));
    model.densify();
    const Outcome found = run(model);
    ASSERT_TRUE(found.status.ok()) << found.status.toString();
    EXPECT_EQ(found.floats(sum), Floats(kWanted.begin(), kWanted.end()));
}

TEST(SparsityTest, IntegersThatTheImporterReadsAreStoredInWhole) {
    OfOne model({2, 2});
    const int32_t axes = model.builder.ints({1}, {1});
    model.builder.graph().tensors[static_cast<size_t>(axes)].sparsity =
            std::make_shared<const Sparsity>();
    model.builder.add(OperatorCode::MEAN, {model.x, axes}, model.outputs);
    EXPECT_TRUE(has(model.reason(), "without its zeros"));
}

}  // namespace
}  // namespace halyard::tflite
