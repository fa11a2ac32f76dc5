// SPDX-License-Identifier: Apache-2.0
//
// The memory planner: where in one block of memory each tensor lies, so that tensors which are
// never alive at the same time share their bytes.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/base/status.h"

namespace halyard::engine {

// A tensor or workspace, and the steps of the run during which its bytes must stay as they are,
// both ends included.
struct ArenaBlock {
    size_t bytes = 0;
    size_t firstStep = 0;
    size_t lastStep = 0;
};

struct ArenaPlan {
    std::vector<size_t> offsets;  // one per block, multiples of kTensorAlignment
    size_t bytes = 0;
};

// Greedy by size: the largest block first, each at the lowest offset that is free for its steps
// (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020).
//
// For each block it looks at those placed before that are alive at a step of it: n log n steps in
// all for n blocks of which few are alive together, as in a chain, and never more than a small
// multiple of n^2 / 2 however they lie. Memory is proportional to n. RESOURCE_EXHAUSTED if the
// arena could not be addressed.
Result<ArenaPlan> planArena(std::span<const ArenaBlock> blocks);

}  // namespace halyard::engine
