// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/rewriter.h"

#include <random>
#include <utility>

namespace halyard::fuzz {

Rewriter::~Rewriter() {
    {
        std::lock_guard lock(mMutex);
        mOver = true;
        mWanted = false;
    }
    mChanged.notify_all();
    mThread.join();
}

void Rewriter::begin(std::vector<std::span<uint8_t>> pools, uint32_t seed) {
#ifdef __SANITIZE_THREAD__
    pools.clear();  // to race is what this is for
#endif
    std::lock_guard lock(mMutex);
    mPools = std::move(pools);
    mSeed = seed;
    mWanted = true;
    mChanged.notify_all();
}

void Rewriter::end() {
    std::unique_lock lock(mMutex);
    mWanted = false;
    mChanged.notify_all();
    mChanged.wait(lock, [this] { return !mBusy; });
    mPools.clear();
}

void Rewriter::run() {
    std::unique_lock lock(mMutex);
    for (;;) {
        mChanged.wait(lock, [this] { return mWanted || mOver; });
        if (mOver) {
            return;
        }
        mBusy = true;
        std::minstd_rand random(mSeed);
        while (mWanted) {
            for (const std::span<uint8_t> pool : mPools) {
                lock.unlock();
                for (size_t at = 0; at < pool.size(); at += 1 + random() % 8) {
                    const auto choice = static_cast<uint32_t>(random());
                    const uint32_t value = choice % 4 != 0 ? (choice >> 8) % 4 : choice << 1;
                    // Others read this at the same time.
                    *static_cast<volatile uint8_t*>(pool.data() + at) =
                            static_cast<uint8_t>(value >> (8 * (at % 4)));
                }
                lock.lock();
                if (!mWanted) {
                    break;
                }
            }
            if (mPools.empty()) {
                mChanged.wait(lock, [this] { return !mWanted; });
            }
        }
        mBusy = false;
        mChanged.notify_all();
    }
}

}  // namespace halyard::fuzz
