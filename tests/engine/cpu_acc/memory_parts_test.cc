// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/kernels/memory_parts.h"

#include <gtest/gtest.h>

#include <limits>

namespace halyard::engine::cpu {
namespace {

constexpr size_t kMostBytes = std::numeric_limits<size_t>::max();

TEST(MemoryParts, GivesPartsThatBeginAtCacheLines) {
    MemoryParts memory;
    EXPECT_EQ(memory.add(3, 4).value(), 0U);
    EXPECT_EQ(memory.add(1, 1).value(), kTensorAlignment);
    EXPECT_EQ(memory.bytes(), 2 * kTensorAlignment);
}

TEST(MemoryParts, RefusesForGoodWhatCannotBeCounted) {
    MemoryParts memory;
    const Result<size_t> part = memory.add(kMostBytes, 2);
    ASSERT_EQ(part.status().code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_TRUE(part.status().persistent()) << "no other time is better";
    ASSERT_TRUE(memory.add(kMostBytes / 2, 1).ok());
    const Result<size_t> next = memory.add(kMostBytes / 2 + 1, 1);
    ASSERT_EQ(next.status().code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_TRUE(next.status().persistent());
}

}  // namespace
}  // namespace halyard::engine::cpu
