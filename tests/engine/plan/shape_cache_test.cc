// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/shape_cache.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace halyard::engine {
namespace {

std::vector<MaybeShape> shapes(int32_t extent) {
    return {Shape({extent, 3}), Shape()};
}

TEST(ShapeCache, FindsWhatWasInsertedForEqualShapes) {
    ShapeCache<int> cache(2);
    EXPECT_EQ(cache.find(shapes(1)), nullptr);
    cache.insert(shapes(1), std::make_shared<int>(10));
    ASSERT_NE(cache.find(shapes(1)), nullptr);
    EXPECT_EQ(*cache.find(shapes(1)), 10);
    EXPECT_EQ(cache.find(shapes(2)), nullptr);
    EXPECT_EQ(cache.find({}), nullptr) << "fewer shapes are other shapes";
    EXPECT_EQ(cache.find(std::vector<MaybeShape>{Shape({1, 3}), std::nullopt}), nullptr)
            << "an absent input is none of any shape";
}

TEST(ShapeCache, KeepsTheFirstOfTwoForTheSameShapes) {
    ShapeCache<int> cache(2);
    cache.insert(shapes(1), std::make_shared<int>(10));
    EXPECT_EQ(*cache.insert(shapes(1), std::make_shared<int>(11)), 10);
}

TEST(ShapeCache, DropsWhatWasUsedLongestAgo) {
    ShapeCache<int> cache(2);
    cache.insert(shapes(1), std::make_shared<int>(10));
    const auto second = cache.insert(shapes(2), std::make_shared<int>(20));
    EXPECT_NE(cache.find(shapes(1)), nullptr);
    cache.insert(shapes(3), std::make_shared<int>(30));
    EXPECT_NE(cache.find(shapes(1)), nullptr);
    EXPECT_EQ(cache.find(shapes(2)), nullptr);
    EXPECT_EQ(*second, 20) << "its holder keeps it";
}

}  // namespace
}  // namespace halyard::engine
