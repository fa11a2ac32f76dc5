// SPDX-License-Identifier: Apache-2.0

#include "driver/prepare/kept_data.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <thread>

#include "driver/prepare/cache_file.h"
#include "engine/base/section_file.h"

namespace halyard::driver {
namespace {

// Bytes of constants that have a checksum of their own.
constexpr size_t kPart = size_t{1} << 18;
// Pages as large come into being sooner than the hundreds of small ones that they hold.
constexpr size_t kLargePage = AlignedBuffer::kLargePage;
static_assert(kLargePage % kSectionPage == 0);
// More move no more bytes a second, and one is not worth its start for fewer parts.
constexpr size_t kMostReaders = 4;
constexpr size_t kPartsForReader = 4;

Sha256::Digest digestOf(Sha256& control, std::span<const uint64_t> sums) {
    Sha256 hash;
    hash.add(control.finish());
    hash.add({reinterpret_cast<const uint8_t*>(sums.data()), sums.size_bytes()});
    return hash.finish();
}

// The constants, which threads take part by part.
class Parts {
  public:
    Parts(int fd, size_t offset, std::span<uint8_t> copy, const Checkpoint& checkpoint)
        : mFd(fd),
          mOffset(offset),
          mCopy(copy),
          mCheckpoint(checkpoint),
          mSums((copy.size() + kPart - 1) / kPart) {}

    // Reads and sums the parts that no other thread has taken, until none is left or one has
    // failed.
    void work() {
        for (size_t part = mNext++; part < mSums.size() && !mFailed; part = mNext++) {
            const size_t at = part * kPart;
            const std::span<uint8_t> bytes = mCopy.subspan(at, std::min(kPart, mCopy.size() - at));
            if (Status read = readAll(mFd, mOffset + at, bytes, mCheckpoint); !read.ok()) {
                const std::lock_guard lock(mMutex);
                mFailed = true;
                mStatus = std::move(read);
                return;
            }
            Checksum sum;
            sum.add(bytes);
            mSums[part] = sum.value();
        }
    }
    // All of it, with others' help where that pays and threads can be had.
    Status readAndSum() {
        const size_t cores = std::max(std::thread::hardware_concurrency(), 1U);
        const size_t readers = std::clamp<size_t>(mSums.size() / kPartsForReader, 1,
                                                  std::min(cores, kMostReaders));
        std::array<pthread_t, kMostReaders> threads = {};
        size_t started = 0;
        // Not std::thread: that one has no way to fail but an exception.
        while (started + 1 < readers &&
               pthread_create(&threads[started], nullptr, &Parts::run, this) == 0) {
            ++started;
        }
        work();
        for (size_t i = 0; i < started; ++i) {
            pthread_join(threads[i], nullptr);
        }
        return mStatus;
    }
    std::span<const uint64_t> sums() const { return mSums; }

  private:
    static void* run(void* self) {
        static_cast<Parts*>(self)->work();
        return nullptr;
    }

    const int mFd;
    const size_t mOffset;  // in the file
    const std::span<uint8_t> mCopy;
    const Checkpoint mCheckpoint;
    std::vector<uint64_t> mSums;
    std::atomic<size_t> mNext = 0;
    std::atomic<bool> mFailed = false;
    std::mutex mMutex;
    Status mStatus;
};

}  // namespace

Status KeptDataSink::write(std::span<const uint8_t> bytes) {
    mCount += bytes.size();
    const auto control = static_cast<size_t>(std::min<uint64_t>(mLeft, bytes.size()));
    mControl.add(bytes.first(control));
    mLeft -= control;
    for (std::span<const uint8_t> rest = bytes.subspan(control); !rest.empty();) {
        const std::span<const uint8_t> next = rest.first(std::min(kPart - mInPart, rest.size()));
        mPart.add(next);
        mInPart += next.size();
        rest = rest.subspan(next.size());
        if (mInPart == kPart) {
            endPart();
        }
    }
    return mSink.write(bytes);
}

Sha256::Digest KeptDataSink::finish() {
    if (mInPart > 0) {
        endPart();
    }
    return digestOf(mControl, mSums);
}

void KeptDataSink::endPart() {
    mSums.push_back(mPart.value());
    mPart = {};
    mInPart = 0;
}

Result<AlignedBuffer> allocateKeptData(size_t size, const std::shared_ptr<Budget>& memory) {
    // A last page that is mostly filled is a large one as well.
    const size_t rest = size % kLargePage;
    const size_t room = rest > kLargePage / 2 ? size - rest + kLargePage : size;
    return AlignedBuffer::allocate(room, kLargePage, memory);
}

Result<Sha256::Digest> readKeptData(int fd, std::span<uint8_t> copy, size_t control,
                                    const Checkpoint& checkpoint) {
    HALYARD_RETURN_IF_ERROR(checkEnd(fd, copy.size()));
    HALYARD_RETURN_IF_ERROR(readAll(fd, 0, copy.first(control), checkpoint));
    Parts parts(fd, control, copy.subspan(control), checkpoint);
    HALYARD_RETURN_IF_ERROR(parts.readAndSum());
    Sha256 hash;
    hash.add(copy.first(control));
    return digestOf(hash, parts.sums());
}

}  // namespace halyard::driver
