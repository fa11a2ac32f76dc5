// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <vector>

#include "tests/engine/cpu_acc/tuned.h"

namespace halyard::engine::cpu_test {
namespace {

constexpr DataType kFloats[] = {DataType::FLOAT32, DataType::FLOAT16};

double looser(DataType type) {
    return type == DataType::FLOAT32 ? 2e-5 : 4e-3;  // sums in another order
}

// With and without its weights.
testing::AssertionResult normalizes(RandomValues& random, const Values& x, int32_t axis,
                                    const Shape& row) {
    const LayerNormalize node = {.epsilon = random.real(1e-5F, 0.1F), .axis = axis};
    const Values gamma = random.values(typeOf(x.type.type, row));
    const Values beta = random.values(typeOf(x.type.type, row));
    for (int which = 0; which < 4; ++which) {
        const auto result = agrees(node,
                                   {x, (which & 1) != 0 ? std::optional(gamma) : std::nullopt,
                                    (which & 2) != 0 ? std::optional(beta) : std::nullopt},
                                   {x.type}, looser(x.type.type));
        if (!result) {
            return result;
        }
    }
    return testing::AssertionSuccess();
}

TEST(LayerNormAcc, AgreesWithTheReference) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : kFloats) {
        for (const int32_t length : {1, 2, 15, 16, 33, 256, 1001}) {
            const TensorType x = typeOf(type, {5, 3, length});
            ASSERT_TRUE(normalizes(random, random.values(x), -1, {length})) << x.toString();
            ASSERT_TRUE(normalizes(random, random.values(x), 1, {3, length})) << x.toString();
            ASSERT_TRUE(normalizes(random, random.values(x), 0, {5, 3, length})) << x.toString();
        }
    }
}

TEST(LayerNormAcc, KeepsSmallDifferencesOfLargeNumbers) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    std::vector<float> elements(200);
    for (float& element : elements) {
        element = 1000.0F + random.real(-1.0F, 1.0F);
    }
    ASSERT_TRUE(agrees(LayerNormalize{.epsilon = 1e-5F},
                       {ref_test::floats({2, 100}, elements), std::nullopt, std::nullopt},
                       {typeOf(DataType::FLOAT32, {})}, 2e-3));
}

TEST(LayerNormAcc, TakesNoRowsAndNoColumns) {
    for (const Shape& shape : {Shape{0, 4}, Shape{4, 0}}) {
        ASSERT_TRUE(agrees(LayerNormalize(),
                           {ref_test::floats(shape, {}), std::nullopt, std::nullopt},
                           {typeOf(DataType::FLOAT32, {})}));
    }
}

TEST(LayerNormAcc, LeavesRowsOfMillionsToTheReference) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const TensorType x = randomType(random, DataType::FLOAT32, {1, (1 << 20) + 1});
    ASSERT_TRUE(agrees(LayerNormalize{.epsilon = 1e-3F},
                       {random.values(x), std::nullopt, std::nullopt}, {x}, 0.0));
}

TEST(LayerNormAcc, PassesOnWhatIsNoNumber) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    for (const float each : {nan, infinity, -infinity, 0.0F}) {
        const Values x = ref_test::floats({3, 2}, {1, each, each, each, 2, 3});
        ASSERT_TRUE(normalizes(random, x, 1, {2})) << each;
    }
}

}  // namespace
}  // namespace halyard::engine::cpu_test
