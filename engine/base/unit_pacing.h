// SPDX-License-Identifier: Apache-2.0
//
// Which workers begin the last units of a loop where cores differ: a slow one leaves them to faster
// ones that would have them done before it, so that none waits for it at the end.

#pragma once

#include <cstddef>
#include <cstdint>

namespace halyard {

// A thread takes one of so many parts of what its range still has.
inline constexpr uint32_t kShareTaken = 8;

// Units at once of `own` ones that a worker has yet to begin; `own` is above 0.
constexpr uint32_t unitsAtOnce(uint32_t own) {
    return (own - 1) / kShareTaken + 1;
}

// A worker's pace beside the others', as core_capacities.h has them.
struct WorkerPace {
    uint32_t own = 1;
    uint32_t fastest = 1;  // of one worker
    uint32_t faster = 0;   // of all workers together that are faster than this one

    bool isFastest() const { return faster == 0; }
    // Whether to begin one unit of `left` that no worker has begun: it ends at 1 / own then. Else a
    // faster worker would come to it after left / faster, and do it in 1 / fastest at best. The
    // fastest always begin one, so that there is a worker for each unit.
    bool isWorthBeginning(uint64_t left) const {
        return uint64_t{own} * (left * fastest + faster) >= uint64_t{faster} * fastest;
    }
};

}  // namespace halyard
