// SPDX-License-Identifier: Apache-2.0

#include "engine/base/loop_executor.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "engine/base/log.h"
#include "engine/base/worker_set.h"

namespace halyard {
namespace {

// For each thread: a thread that has less to do, or comes late, leaves some to the others.
constexpr size_t kTasksPerThread = 4;
constexpr size_t kMostTasks = 64;

// One loop, as its tasks share it.
class SharedLoop {
  public:
    SharedLoop(LoopBody loop, int64_t tiles, int64_t unit, size_t threads)
        : mLoop(loop), mTiles(tiles), mThreads(threads), mLines(LogScope::current()) {
        const int64_t units = (tiles - 1) / unit + 1;
        const auto most = static_cast<int64_t>(std::min(threads * kTasksPerThread, kMostTasks));
        mLength = ((units - 1) / most + 1) * unit;
        mTasks = static_cast<size_t>((tiles - 1) / mLength + 1);
    }

    size_t tasks() const { return mTasks; }

    static void task(void* self, size_t index, size_t worker) {
        static_cast<SharedLoop*>(self)->runTask(index, worker);
    }

    Status status() {
        const size_t ended = mEnded.load(std::memory_order_acquire);
        if (!mFailed.load(std::memory_order_acquire) && ended != mTasks) {
            return internalError("the executor returned when " + std::to_string(ended) + " of " +
                                 std::to_string(mTasks) + " tasks had");
        }
        return std::exchange(mFailure, Status());
    }

  private:
    void runTask(size_t index, size_t worker) {
        if (worker >= mThreads) {
            fail(internalError("the executor calls a task as worker " + std::to_string(worker) +
                               " of " + std::to_string(mThreads)));
            return;
        }
        if (index >= mTasks) {
            fail(internalError("the executor calls task " + std::to_string(index) + " of " +
                               std::to_string(mTasks)));
            return;
        }
        const uint64_t task = uint64_t{1} << index;
        if ((mBegun.fetch_or(task, std::memory_order_relaxed) & task) != 0) {
            fail(internalError("the executor calls task " + std::to_string(index) + " twice"));
            return;
        }
        const uint64_t own = uint64_t{1} << worker;
        if ((mBusy.fetch_or(own, std::memory_order_acquire) & own) != 0) {
            fail(internalError("the executor has worker " + std::to_string(worker) +
                               " run two tasks at once"));
            return;
        }
        if (!mFailed.load(std::memory_order_relaxed)) {
            const LogScope lines(mLines);
            const int64_t begin = static_cast<int64_t>(index) * mLength;
            // The last may be shorter, and its end beyond the type's reach.
            const int64_t end = begin + std::min(mLength, mTiles - begin);
            Status status = mLoop.call(mLoop.body, begin, end, worker);
            if (!status.ok()) {
                fail(std::move(status));
            }
        }
        mBusy.fetch_and(~own, std::memory_order_release);
        mEnded.fetch_add(1, std::memory_order_release);
    }

    void fail(Status status) {
        if (!mFailed.exchange(true, std::memory_order_acq_rel)) {
            mFailure = std::move(status);
        }
    }

    const LoopBody mLoop;
    const int64_t mTiles;
    const size_t mThreads;
    const LogTarget* const mLines;
    int64_t mLength = 1;  // of a task's range
    size_t mTasks = 1;
    std::atomic<uint64_t> mBegun = 0;  // tasks, as bits
    std::atomic<uint64_t> mBusy = 0;   // workers, as bits
    std::atomic<size_t> mEnded = 0;
    std::atomic<bool> mFailed = false;
    Status mFailure;  // belongs to who sets `mFailed`
};

}  // namespace

Status runOnExecutor(LoopExecutor& executor, LoopBody loop, int64_t tiles, int64_t unit) {
    SharedLoop shared(loop, tiles, unit, std::min(executor.threads(), WorkerSet::kMost));
    executor.execute(&SharedLoop::task, &shared, shared.tasks());
    return shared.status();
}

}  // namespace halyard
