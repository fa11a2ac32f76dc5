// SPDX-License-Identifier: Apache-2.0

#include "engine/base/heap.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

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

// Bytes of this process's pages that are there.
size_t residentBytes() {
    std::FILE* const file = std::fopen("/proc/self/statm", "re");
    unsigned long all = 0;
    unsigned long resident = 0;
    const int read = std::fscanf(file, "%lu %lu", &all, &resident);
    std::fclose(file);
    return read == 2 ? resident * static_cast<size_t>(sysconf(_SC_PAGE_SIZE)) : 0;
}

// As models leave it: much was freed, and here and there a block is kept.
std::vector<std::unique_ptr<char[]>> freeMostOf(size_t blocks) {
    std::vector<std::unique_ptr<char[]>> kept;
    std::vector<std::unique_ptr<char[]>> freed;
    constexpr size_t kBlock = 8000;
    for (size_t i = 0; i < blocks; ++i) {
        auto& block = (i % 64 == 0 ? kept : freed).emplace_back(new char[kBlock]);
        std::fill_n(block.get(), kBlock, 'x');
    }
    return kept;
}

TEST(HeapOfALongLife, GivesBackWhatLiesFreeBetweenBlocks) {
    if (!heapUse().has_value()) {
        GTEST_SKIP() << "another allocator";
    }
    const auto kept = freeMostOf(8000);
    const size_t before = residentBytes();
    trimHeap();
    const size_t after = residentBytes();
    EXPECT_LT(after + (size_t{30} << 20), before) << "of 64 MB that were freed";
}

TEST(HeapOfALongLife, IsTrimmedOnceForManyNotes) {
    using std::chrono::milliseconds;
    HeapTrimmer trimmer(milliseconds(50));
    for (int i = 0; i < 1000; ++i) {
        trimmer.note();
    }
    for (int i = 0; i < 1000 && trimmer.count() == 0; ++i) {
        std::this_thread::sleep_for(milliseconds(10));
    }
    EXPECT_EQ(trimmer.count(), 1U);
    trimmer.note();
    for (int i = 0; i < 1000 && trimmer.count() == 1; ++i) {
        std::this_thread::sleep_for(milliseconds(10));
    }
    EXPECT_EQ(trimmer.count(), 2U);
}

TEST(HeapOfALongLife, DoesNotWaitForATrimmerThatHasNothingToDo) {
    HeapTrimmer never(std::chrono::hours(1));
    never.note();
    const HeapTrimmer idle;
}

}  // namespace
}  // namespace halyard
