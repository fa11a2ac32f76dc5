// SPDX-License-Identifier: Apache-2.0

#include "engine/base/heap.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>

namespace halyard {
namespace {

// A small block lies in the heap, a large one is a mapping of its own.
class Heap : public testing::TestWithParam<size_t> {};

TEST_P(Heap, CountsABlockForAsLongAsItIsAllocated) {
    constexpr size_t kOther = 512;  // of what the thread keeps of freed blocks
    const std::optional<HeapUse> before = heapUse();
    if (!before.has_value()) {
        GTEST_SKIP() << "the allocator does not count";
    }
    void* volatile block = std::malloc(GetParam());
    const std::optional<HeapUse> during = heapUse();
    std::free(block);
    const std::optional<HeapUse> after = heapUse();
    EXPECT_GE(during->inUse, before->inUse + GetParam());
    EXPECT_LE(after->inUse, before->inUse + kOther);
    EXPECT_GE(during->held, during->inUse);
}

INSTANTIATE_TEST_SUITE_P(OfBlocks, Heap, testing::Values(size_t{5000}, size_t{4} << 20));

}  // namespace
}  // namespace halyard
