// SPDX-License-Identifier: Apache-2.0
//
// Building what a piece launches: several programs at once, where there are several compilers.

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/backends/gpu/launch.h"
#include "engine/backends/gpu/programs.h"
#include "engine/base/checkpoint.h"
#include "engine/plan/blobs.h"
#include "engine/plan/piece_layout.h"

namespace halyard::engine::gpu {

// Blocks of memory that the arguments of a launch lie in: the most that it can be, as what crosses
// the piece's boundary may lie anywhere.
size_t blocksOf(const PieceLayout& layout, const Launch& launch);

// Gives each launch that has no program its own. Of those that do not build one is told, with the
// step's label.
Status buildPrograms(const PieceLayout& layout, std::span<Launch> launches, Programs& programs,
                     const Blobs& blobs, const Checkpoint& checkpoint);

}  // namespace halyard::engine::gpu
