// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "tests/engine/reference/evaluation.h"

namespace halyard::engine::ref_test {
namespace {

constexpr int32_t kLowest = std::numeric_limits<int32_t>::min();
constexpr int32_t kHighest = std::numeric_limits<int32_t>::max();

Result<std::vector<Values>> lookUp(const Values& lookups, const Values& keys,
                                   const Values& values) {
    TensorType output = values.type;
    return evaluateAll(HashtableLookup(), {lookups, keys, values},
                       {output, typeOf(DataType::QUANT8_ASYMM, {}, 1.0F)});
}

TEST(HashtableLookupRef, FindsRowsByTheirKeys) {
    const Result<std::vector<Values>> found =
            lookUp(ints({5}, {7, kLowest, 8, kHighest, -1}), ints({4}, {kLowest, -1, 7, kHighest}),
                   floats({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
    ASSERT_TRUE(found.ok()) << found.status().toString();
    EXPECT_TRUE(holds((*found)[0], {5, 6, 1, 2, 0, 0, 7, 8, 3, 4}));
    EXPECT_TRUE(holds((*found)[1], {1, 1, 0, 1, 1}));
}

TEST(HashtableLookupRef, HoldsAnyNumbersInRowsOfAnyShape) {
    const Result<std::vector<Values>> list =
            lookUp(ints({2}, {3, 4}), ints({1}, {4}), ints({1}, {kLowest}));
    ASSERT_TRUE(list.ok()) << list.status().toString();
    EXPECT_TRUE(holds((*list)[0], {0, kLowest}));
    // Elements of bytes 0 as NNAPI's sample driver has it, not the real 0.
    const TensorType type = typeOf(DataType::QUANT8_ASYMM, {1, 1, 3}, 0.5F, 9);
    const Result<std::vector<Values>> bytes =
            lookUp(ints({2}, {3, 4}), ints({1}, {4}), quantized(type, {7, 8, 255}));
    ASSERT_TRUE(bytes.ok()) << bytes.status().toString();
    EXPECT_TRUE(holds((*bytes)[0], {0, 0, 0, 7, 8, 255}));
}

TEST(HashtableLookupRef, FindsNothingWhereThereIsNothing) {
    const Result<std::vector<Values>> none =
            lookUp(ints({2}, {0, 1}), ints({0}, {}), floats({0, 2}, {}));
    ASSERT_TRUE(none.ok()) << none.status().toString();
    EXPECT_TRUE(holds((*none)[0], {0, 0, 0, 0}));
    EXPECT_TRUE(holds((*none)[1], {0, 0}));
    const Result<std::vector<Values>> nothing =
            lookUp(ints({0}, {}), ints({1}, {1}), floats({1, 2}, {1, 2}));
    ASSERT_TRUE(nothing.ok()) << nothing.status().toString();
    EXPECT_TRUE(holds((*nothing)[0], {}));
}

// Whatever the order is, what is found has the key that was looked for.
TEST(HashtableLookupRef, StaysWithinKeysThatDoNotAscend) {
    const std::vector<int32_t> keys = {9, -3, 9, 0, 4, 4, -8};
    const auto count = static_cast<int32_t>(keys.size());
    std::vector<int32_t> all(20);
    std::iota(all.begin(), all.end(), -10);
    const Result<std::vector<Values>> found =
            lookUp(ints({20}, all), ints({count}, keys), ints({count, 1}, keys));
    ASSERT_TRUE(found.ok()) << found.status().toString();
    const std::vector<double> hits = stored((*found)[1]);
    for (size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(stored((*found)[0])[i], hits[i] == 0 ? 0 : all[i]);
    }
}

Result<Values> project(LshProjection::Type type, const Values& hash, const Values& x,
                       const std::optional<Values>& weight) {
    HALYARD_ASSIGN_OR_RETURN(std::vector<Values> outputs,
                             evaluateAll(LshProjection{.type = type}, {hash, x, weight},
                                         {typeOf(DataType::INT32, {})}));
    return std::move(outputs[0]);
}

// Expected values: the definition in Python with pyfarmhash 0.5.1.
TEST(LshProjectionRef, HashesRowsOfAnyType) {
    using enum LshProjection::Type;
    const std::vector<float> seeds = {0.5F, -1.25F, 2.0F, 3.0F, 0.125F, -4.0F};
    const Values hash = floats({2, 3}, seeds);
    const Values x = ints({2, 2}, {1, -2, 300, 4});
    EXPECT_TRUE(holds(project(SPARSE, hash, x, std::nullopt), {4, 8}));
    EXPECT_TRUE(holds(project(SPARSE_DEPRECATED, hash, x, std::nullopt), {4, 0}));
    EXPECT_TRUE(holds(project(DENSE, hash, x, floats({2}, {0.5F, -1.5F})), {0, 1, 1, 1, 1, 0}));
    // Every seed and weight here is a half exactly, and hashed as the float that it is.
    EXPECT_TRUE(holds(project(DENSE, halves({2, 3}, seeds), x, halves({2}, {0.5F, -1.5F})),
                      {0, 1, 1, 1, 1, 0}));
    std::vector<int32_t> longRow(70);
    std::iota(longRow.begin(), longRow.end(), 1);
    longRow[1] = 200;
    const TensorType bytes = typeOf(DataType::QUANT8_ASYMM, {1, 70}, 1.0F);
    EXPECT_TRUE(holds(project(DENSE, hash, quantized(bytes, longRow), std::nullopt),
                      {1, 0, 0, 1, 0, 0}));
    EXPECT_TRUE(holds(project(SPARSE, hash, bools({3}, {1, 0, 1}), floats({3}, {1, 2, -0.5F})),
                      {5, 14}));
}

TEST(LshProjectionRef, WrapsWhatNoInt32Holds) {
    const Values hash = floats({2, 32}, std::vector<float>(64, 0.5F));
    const Result<Values> alike =
            project(LshProjection::Type::SPARSE, hash, ints({1}, {1}), std::nullopt);
    ASSERT_TRUE(alike.ok()) << alike.status().toString();
    // 2^32 times the function's number is 0, and 32 equal bits are 0 or -1.
    EXPECT_EQ(stored(*alike)[0], stored(*alike)[1]);
    EXPECT_TRUE(stored(*alike)[0] == 0 || stored(*alike)[0] == -1);
}

TEST(LshProjectionRef, OfNoRowsIsZero) {
    EXPECT_TRUE(holds(project(LshProjection::Type::DENSE, floats({1, 2}, {1, 2}), ints({0, 3}, {}),
                              std::nullopt),
                      {0, 0}));
}

}  // namespace
}  // namespace halyard::engine::ref_test
