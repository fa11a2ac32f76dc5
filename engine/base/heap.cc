// SPDX-License-Identifier: Apache-2.0

#include "engine/base/heap.h"

// A sanitizer has an allocator of its own. The C library's is never set up then, which its counting
// does not survive on two threads at once.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HALYARD_OTHER_ALLOCATOR 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HALYARD_OTHER_ALLOCATOR 1
#endif
#endif

#if defined(__GLIBC__) || defined(__BIONIC__)
#include <malloc.h>
#endif

namespace halyard {

std::optional<HeapUse> heapUse() {
#if defined(HALYARD_OTHER_ALLOCATOR)
    return std::nullopt;
#elif defined(__GLIBC__)
    // mallinfo() counts in int.
    const struct mallinfo2 info = mallinfo2();
    return HeapUse{.inUse = info.uordblks + info.hblkhd, .held = info.arena + info.hblkhd};
#elif defined(__BIONIC__)
    const struct mallinfo info = mallinfo();
    return HeapUse{.inUse = info.uordblks + info.hblkhd, .held = info.arena + info.hblkhd};
#else
    return std::nullopt;
#endif
}

void keepHeapSmall() {
#if !defined(HALYARD_OTHER_ALLOCATOR) && defined(__GLIBC__)
    // Set once, it does not grow with what is freed.
    constexpr int kOwnPages = 256 * 1024;
    mallopt(M_MMAP_THRESHOLD, kOwnPages);
    mallopt(M_TRIM_THRESHOLD, kOwnPages);
    // Executions allocate nothing once they are warm, so that threads seldom meet here.
    constexpr int kHeaps = 4;
    mallopt(M_ARENA_MAX, kHeaps);
#endif
}

void trimHeap() {
#if defined(HALYARD_OTHER_ALLOCATOR)
#elif defined(__GLIBC__)
    malloc_trim(0);
#elif defined(__BIONIC__) && defined(M_PURGE)
    mallopt(M_PURGE, 0);
#endif
}

HeapTrimmer::HeapTrimmer(std::chrono::milliseconds pause) : mPause(pause) {}

HeapTrimmer::~HeapTrimmer() {
    {
        const std::lock_guard lock(mMutex);
        mEnding = true;
        mChanged.notify_all();
    }
    if (mRunning) {
        pthread_join(mThread, nullptr);
    }
}

void HeapTrimmer::note() {
    const std::lock_guard lock(mMutex);
    if (mNoted || mEnding) {
        return;
    }
    mNoted = true;
    if (mRunning) {
        mChanged.notify_all();
    } else {
        mRunning = pthread_create(&mThread, nullptr, &HeapTrimmer::run, this) == 0;
    }
}

size_t HeapTrimmer::count() const {
    const std::lock_guard lock(mMutex);
    return mCount;
}

void* HeapTrimmer::run(void* trimmer) {
    static_cast<HeapTrimmer*>(trimmer)->serve();
    return nullptr;
}

void HeapTrimmer::serve() {
    std::unique_lock lock(mMutex);
    while (!mEnding) {
        mChanged.wait(lock, [this] { return mEnding || mNoted; });
        // Blocks that are freed together are given back together.
        mChanged.wait_for(lock, mPause, [this] { return mEnding; });
        if (mEnding) {
            return;
        }
        mNoted = false;
        lock.unlock();
        trimHeap();
        lock.lock();
        ++mCount;
    }
}

}  // namespace halyard
