// SPDX-License-Identifier: Apache-2.0
//
// The units of a loop that threads of a pool have yet to do, in a word that they can exchange at
// once.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/base/worker_set.h"

namespace halyard {

// A phase is cut into units, each one or more grains long, and a range is [begin, end) of units.
// Ranges carry the number of their phase, so that what is left over from an earlier one is never
// taken for this one's: 40 bits last for days of nothing but phases, and a thread would have to
// sleep between two instructions for as long to be mistaken.
inline constexpr int kUnitBits = 12;
inline constexpr int64_t kMostUnits = (int64_t{1} << kUnitBits) - 1;
inline constexpr int kPhaseBits = 64 - 2 * kUnitBits;
inline constexpr uint64_t kPhaseMask = (uint64_t{1} << kPhaseBits) - 1;
// So often ranges get the number of a late phase, because a number that is half of all phases away
// counts as one to come.
inline constexpr uint64_t kRenewals = uint64_t{1} << (kPhaseBits - 2);

inline bool isBefore(uint64_t phase, uint64_t other) {
    return phase != other && ((other - phase) & kPhaseMask) <= kPhaseMask / 2;
}

struct Units {
    uint64_t phase = 0;
    uint32_t begin = 0;
    uint32_t end = 0;

    static Units unpack(uint64_t packed) {
        constexpr uint64_t kMask = kMostUnits;
        return {.phase = packed >> (2 * kUnitBits),
                .begin = static_cast<uint32_t>(packed >> kUnitBits & kMask),
                .end = static_cast<uint32_t>(packed & kMask)};
    }
    uint64_t pack() const { return phase << (2 * kUnitBits) | uint64_t{begin} << kUnitBits | end; }
    bool empty() const { return begin >= end; }
};

// How the units of a phase are dealt out at first: as evenly as they can be, to all threads but
// those that are left out. Some have none where there are more threads than units.
struct UnitShares {
    size_t units = 0;
    size_t threads = 1;
    WorkerSet leftOut;  // not all threads

    // Threads that have some.
    size_t count() const { return std::min(units, threads - leftOut.count()); }
    bool has(size_t worker) const { return !leftOut.has(worker) && rankOf(worker) < count(); }
    Units of(size_t worker, uint64_t phase) const {
        if (!has(worker)) {
            return {.phase = phase};
        }
        return {.phase = phase,
                .begin = static_cast<uint32_t>(units * rankOf(worker) / count()),
                .end = static_cast<uint32_t>(units * (rankOf(worker) + 1) / count())};
    }

    // Among those that are not left out.
    size_t rankOf(size_t worker) const { return worker - leftOut.countBefore(worker); }
};

}  // namespace halyard
