// SPDX-License-Identifier: Apache-2.0
//
// Late workers: threads of a pool that lack their core and are left out of loops for a while.

#pragma once

#include <array>
#include <chrono>
#include <cstddef>

#include "engine/base/worker_set.h"

namespace halyard {

// For how long a thread, while it does not sleep, has had no core. Belongs to that thread.
class CoreTime {
  public:
    void begin() { mBegin = without(); }
    // Since it began.
    std::chrono::nanoseconds lacked() const { return without() - mBegin; }

  private:
    static std::chrono::nanoseconds without();

    std::chrono::nanoseconds mBegin = {};
};

// A worker that shares its core with others' threads delays phases by whole scheduler time slices,
// since no other worker can finish the work item that it has begun. Once it has lacked its core for
// so long, within some time of computing, that the other workers could have had the pool's patience
// of it between them, it is left out for a while, and for four times as long each time that it is
// so again soon after it came back. So a delay now and then costs nothing, and a core that is busy
// for good little. At most half of the threads are left out: where more of them lack their cores,
// slow ones are better than none.
//
// Belongs to the thread that holds the pool's lease, worker 0, who is never left out. Times are of
// one clock, and the caller's to tell.
class LateWorkers {
  public:
    using TimePoint = std::chrono::steady_clock::time_point;
    static constexpr std::chrono::milliseconds kLeastAbsence{200};
    static constexpr std::chrono::milliseconds kMostAbsence{3200};

    // By default what they do in kLeastAbsence. Of two threads a worker with half a core is kept
    // then: one alone is no faster.
    explicit LateWorkers(std::chrono::nanoseconds patience = kLeastAbsence) : mPatience(patience) {}

    // A lease of so many threads begins to compute. Workers that were left out for long enough
    // return, and late ones are left out.
    void begin(TimePoint now, size_t threads);
    // It ends; worker 0 has lacked its core for so long in it, which is no other worker's fault.
    void end(TimePoint now, std::chrono::nanoseconds lackedByHolder);
    // A worker has lacked its core for so long, in leases that have ended.
    void charge(size_t worker, std::chrono::nanoseconds lacked);

    WorkerSet leftOut() const { return mLeftOut; }

  private:
    struct Record {
        std::chrono::nanoseconds lacked = {};    // of the time that counts
        std::chrono::milliseconds absence = {};  // the last one
        TimePoint back;                          // when it may return
        std::chrono::nanoseconds returned = {};  // as mComputed was when it did
    };

    std::chrono::nanoseconds mPatience;
    WorkerSet mLeftOut;
    TimePoint mBegan;
    std::chrono::nanoseconds mComputed = {};   // by leases that have ended
    std::chrono::nanoseconds mForgotten = {};  // as mComputed was when records were last halved
    std::chrono::nanoseconds mHolder = {};     // what worker 0 lacked, as in a record
    std::array<Record, WorkerSet::kMost> mRecords;
};

}  // namespace halyard
