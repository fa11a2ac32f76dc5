// SPDX-License-Identifier: Apache-2.0

#include "harness/device/adbd/byte_queue.h"

namespace halyard::adbd {

namespace {

// An empty queue keeps this much, so that small packets do not allocate each time.
constexpr size_t kKept = 4096;

}  // namespace

void QueueAccount::recharge(size_t before, size_t now) {
    mBytes = mBytes - before + now;
    if (mParent != nullptr) {
        mParent->recharge(before, now);
    }
    if (now > before && mBytes > mMost) {
        mOnOver();
    }
}

void ByteQueue::append(std::span<const uint8_t> bytes) {
    mBytes.insert(mBytes.end(), bytes.begin(), bytes.end());
    charge();
}

void ByteQueue::take(size_t count) {
    mTaken += count;
    if (mTaken == mBytes.size()) {
        mTaken = 0;
        if (mBytes.capacity() > kKept) {
            mBytes = std::vector<uint8_t>();  // shrink_to_fit() does nothing where there are no
                                              // exceptions
        } else {
            mBytes.clear();
        }
    } else if (mTaken > mBytes.size() / 2) {
        // Only then, so that a byte is moved once on average.
        mBytes.erase(mBytes.begin(), mBytes.begin() + static_cast<ptrdiff_t>(mTaken));
        mTaken = 0;
    }
    charge();
}

void ByteQueue::charge() {
    if (mBytes.capacity() != mCharged) {
        const size_t before = std::exchange(mCharged, mBytes.capacity());
        mAccount.recharge(before, mCharged);
    }
}

}  // namespace halyard::adbd
