// SPDX-License-Identifier: Apache-2.0

#include "engine/base/late_workers.h"

#include <time.h>

#include <algorithm>
#include <cstdint>

namespace halyard {
namespace {

// Of the time computed, so much counts in full, and what lies before by half.
constexpr std::chrono::nanoseconds kMemory = LateWorkers::kLeastAbsence;
// A worker that is late for no more of it than this stays.
constexpr std::chrono::nanoseconds kForgiven = 2 * kMemory;
constexpr int kLongerEachTime = 4;

std::chrono::nanoseconds timeOf(clockid_t clock) {
    timespec time = {};
    clock_gettime(clock, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

std::chrono::nanoseconds CoreTime::without() {
    return timeOf(CLOCK_MONOTONIC) - timeOf(CLOCK_THREAD_CPUTIME_ID);
}

void LateWorkers::begin(TimePoint now, size_t threads) {
    mBegan = now;
    for (size_t i = 1; i < std::min(threads, WorkerSet::kMost); ++i) {
        Record& record = mRecords[i];
        if (mLeftOut.has(i)) {
            if (now >= record.back) {
                mLeftOut.remove(i);
                record.lacked = mHolder;
                record.returned = mComputed;
            }
            continue;
        }
        const auto others = static_cast<int64_t>(threads - mLeftOut.count()) - 1;
        if (2 * (mLeftOut.count() + 1) > threads ||
            (record.lacked - mHolder) * others < mPatience) {
            continue;
        }
        const bool isAgain = mComputed - record.returned < kForgiven;
        record.absence =
                isAgain ? std::clamp(record.absence * kLongerEachTime, kLeastAbsence, kMostAbsence)
                        : kLeastAbsence;
        record.back = now + record.absence;
        mLeftOut.add(i);
    }
}

void LateWorkers::end(TimePoint now, std::chrono::nanoseconds lackedByHolder) {
    mComputed += now - mBegan;
    mHolder += lackedByHolder;
    if (mComputed - mForgotten > kMemory) {
        mForgotten = mComputed - kMemory / 2;
        mHolder /= 2;
        for (Record& record : mRecords) {
            record.lacked /= 2;
        }
    }
}

void LateWorkers::charge(size_t worker, std::chrono::nanoseconds lacked) {
    if (worker > 0 && worker < WorkerSet::kMost) {
        mRecords[worker].lacked += lacked;
    }
}

}  // namespace halyard
