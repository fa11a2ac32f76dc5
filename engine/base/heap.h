// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>

namespace halyard {

// Of this process. What is held beyond what is in use lies between blocks, or waits to be used
// again: it tells a leak from an allocator that keeps what it got.
struct HeapUse {
    size_t inUse = 0;  // bytes of blocks that are allocated
    size_t held = 0;   // bytes that the allocator has of the system
};

// Nothing where the allocator in use is not known to count. Any thread; takes the allocator's
// locks.
std::optional<HeapUse> heapUse();

// For a process that lives long: blocks that are large enough to hold pages of their own are taken
// from the system one by one and given back so, and threads share a few heaps. Before it has
// threads; does nothing where the allocator in use has no such settings.
void keepHeapSmall();
// Returns free pages between blocks to the system. Allocations on other threads wait meanwhile,
// some milliseconds.
void trimHeap();

// Trims the heap some time after much was freed, on a thread of its own, and not too often.
// Thread-safe.
class HeapTrimmer {
  public:
    explicit HeapTrimmer(std::chrono::milliseconds pause = std::chrono::seconds(2));
    ~HeapTrimmer();
    HeapTrimmer(const HeapTrimmer&) = delete;
    HeapTrimmer& operator=(const HeapTrimmer&) = delete;

    // There may be something to give back.
    void note();
    // How often it has trimmed.
    size_t count() const;

  private:
    static void* run(void* trimmer);
    void serve();

    const std::chrono::milliseconds mPause;  // before each
    mutable std::mutex mMutex;
    std::condition_variable mChanged;
    bool mRunning = false;  // there is a thread, which starts with the first note
    pthread_t mThread = {};
    bool mNoted = false;
    bool mEnding = false;
    size_t mCount = 0;
};

}  // namespace halyard
