// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/arena.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>

#include "engine/base/checked_math.h"
#include "engine/plan/backend.h"

namespace halyard::engine {
namespace {

bool aliveTogether(const ArenaBlock& a, const ArenaBlock& b) {
    return a.firstStep <= b.lastStep && b.firstStep <= a.lastStep;
}

}  // namespace

Result<ArenaPlan> planArena(std::span<const ArenaBlock> blocks) {
    std::vector<size_t> order(blocks.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order,
                             [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });

    ArenaPlan plan;
    plan.offsets.resize(blocks.size(), 0);
    std::vector<size_t> placed;  // by offset
    for (const size_t index : order) {
        size_t offset = 0;
        for (const size_t other : placed) {
            if (!aliveTogether(blocks[index], blocks[other])) {
                continue;
            }
            // The gap between what is already passed and this neighbour may do.
            if (offset <= plan.offsets[other] &&
                blocks[index].bytes <= plan.offsets[other] - offset) {
                break;
            }
            // Does not overflow: the neighbour's rounded end was checked when it was placed.
            const size_t end = plan.offsets[other] + blocks[other].bytes;
            offset = std::max(offset, *checkedAlignUp(end, kTensorAlignment));
        }
        const std::optional<size_t> end = checkedAdd(offset, blocks[index].bytes);
        if (!end.has_value() || *end > PTRDIFF_MAX - kTensorAlignment) {
            return Status(StatusCode::RESOURCE_EXHAUSTED,
                          "a block of " + std::to_string(blocks[index].bytes) +
                                  " bytes at offset " + std::to_string(offset) +
                                  " of the arena is out of reach");
        }
        plan.offsets[index] = offset;
        plan.bytes = std::max(plan.bytes, *end);
        const auto position = std::ranges::upper_bound(
                placed, offset, {}, [&](size_t other) { return plan.offsets[other]; });
        placed.insert(position, index);
    }
    return plan;
}

}  // namespace halyard::engine
