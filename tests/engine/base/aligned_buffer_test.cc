// SPDX-License-Identifier: Apache-2.0

#include "engine/base/aligned_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace halyard {
namespace {

TEST(AlignedBuffer, LiesAtItsAlignmentAndCanBeWritten) {
    for (const size_t alignment : {1, 8, 64, 4096}) {
        Result<AlignedBuffer> buffer = AlignedBuffer::allocate(100, alignment);
        ASSERT_TRUE(buffer.ok());
        EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % alignment, 0U);
        ASSERT_EQ(buffer->bytes().size(), 100U);
        for (std::byte& byte : buffer->bytes()) {
            byte = std::byte{1};
        }
    }
}

TEST(AlignedBuffer, BeginsWithALargePageWhereItHoldsOne) {
    constexpr size_t kPage = AlignedBuffer::kLargePage;
    for (const size_t size : {kPage, kPage + 1, 3 * kPage - 1}) {
        Result<AlignedBuffer> buffer = AlignedBuffer::allocate(size, 64);
        ASSERT_TRUE(buffer.ok());
        EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % kPage, 0U);
        ASSERT_EQ(buffer->size(), size);
        std::ranges::fill(buffer->bytes(), std::byte{1});
    }
}

TEST(AlignedBuffer, HasNoMemoryWhenEmpty) {
    EXPECT_EQ(AlignedBuffer().data(), nullptr);
    EXPECT_EQ(AlignedBuffer::allocate(0, 64)->data(), nullptr);
}

TEST(AlignedBuffer, HandsOverItsMemoryWhenMoved) {
    Result<AlignedBuffer> first = AlignedBuffer::allocate(10, 64);
    std::byte* const data = first->data();
    const AlignedBuffer second = std::move(first).value();
    EXPECT_EQ(second.data(), data);
    EXPECT_EQ(second.size(), 10U);
}

TEST(AlignedBuffer, ReportsSizesThatNoHeapCouldGive) {
    const Result<AlignedBuffer> buffer =
            AlignedBuffer::allocate(std::numeric_limits<size_t>::max(), 64);
    EXPECT_EQ(buffer.status().code(), StatusCode::RESOURCE_EXHAUSTED);
}

TEST(AlignedBuffer, TakesItsBytesFromABudgetUntilItEnds) {
    const auto budget = std::make_shared<Budget>(100);
    {
        Result<AlignedBuffer> buffer = AlignedBuffer::allocate(60, 64, budget);
        ASSERT_TRUE(buffer.ok());
        EXPECT_EQ(budget->reserved(), 60U);
        EXPECT_EQ(AlignedBuffer::allocate(60, 64, budget).status().code(),
                  StatusCode::RESOURCE_EXHAUSTED);
        *buffer = AlignedBuffer();
        EXPECT_EQ(budget->reserved(), 0U);
        *buffer = *AlignedBuffer::allocate(70, 64, budget);
    }
    EXPECT_EQ(budget->reserved(), 0U);
}

}  // namespace
}  // namespace halyard
