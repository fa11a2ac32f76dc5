// SPDX-License-Identifier: Apache-2.0
//
// Greedy non-maximum suppression, as BOX_WITH_NMS_LIMIT, GENERATE_PROPOSALS and
// DETECTION_POSTPROCESSING have it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "engine/plan/kernel_call.h"
#include "engine/reference/box.h"
#include "engine/reference/ranking.h"

namespace halyard::engine::ref {

// A box that may be an object, and how much it looks like one.
struct Candidate {
    int32_t box = 0;
    int32_t objectClass = 0;
    float score = 0.0F;

    // The better one; of equals the lower box.
    bool isBefore(const Candidate& other) const {
        return isLarger(score, other.score) || (!isLarger(other.score, score) && box < other.box);
    }
};

// Chooses the best of the candidates, decides which of the others stay, and goes on with those, as
// often as there are any left, but no more than `limit` times (negative: no limit).
// boxOf(candidate) is its box; stays(candidate, overlap) may change the candidate's score. The
// chosen ones come to lie first, best one first; returns how many there are.
template <typename BoxOf, typename Stays>
Result<int64_t> suppress(KernelCall& call, std::span<Candidate> candidates, int64_t limit,
                         BoxOf boxOf, Stays stays) {
    auto count = static_cast<int64_t>(candidates.size());
    const auto at = [&](int64_t i) -> Candidate& { return candidates[static_cast<size_t>(i)]; };
    int64_t chosen = 0;
    for (; chosen < count && (limit < 0 || chosen < limit); ++chosen) {
        int64_t best = chosen;
        HALYARD_RETURN_IF_ERROR(call.forEach(count - chosen, 1, [&](int64_t i) {
            best = at(chosen + i).isBefore(at(best)) ? chosen + i : best;
        }));
        std::swap(at(chosen), at(best));
        const Box box = boxOf(at(chosen));
        int64_t kept = chosen + 1;
        HALYARD_RETURN_IF_ERROR(call.forEach(count - kept, 16, [&](int64_t i) {
            Candidate other = at(chosen + 1 + i);
            if (stays(other, overlapOf(boxOf(other), box))) {
                at(kept++) = other;
            }
        }));
        count = kept;
    }
    return chosen;
}

// The hard kind: whatever overlaps a better box so much goes.
template <typename BoxOf>
Result<int64_t> suppressHard(KernelCall& call, std::span<Candidate> candidates, int64_t limit,
                             float overlapThreshold, BoxOf boxOf) {
    return suppress(call, candidates, limit, boxOf, [&](const Candidate&, float overlap) {
        return !(overlap >= overlapThreshold);
    });
}

// Writes the places of the best candidates to `best`, best one first; of equals the first.
// best.size() <= candidates.size().
inline Status rankCandidates(KernelCall& call, std::span<const Candidate> candidates,
                             std::span<int32_t> best) {
    return findBest(call, static_cast<int64_t>(candidates.size()), best, [&](int32_t i, int32_t j) {
        return isLarger(candidates[static_cast<size_t>(i)].score,
                        candidates[static_cast<size_t>(j)].score);
    });
}

}  // namespace halyard::engine::ref
