// SPDX-License-Identifier: Apache-2.0
//
// Building what a partition launches: several programs at once, where there are several compilers.

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/backends/gpu/launches/launch.h"
#include "engine/backends/gpu/programs/programs.h"
#include "engine/base/checkpoint.h"
#include "engine/plan/blobs.h"
#include "engine/plan/partition_layout.h"

namespace halyard::engine::gpu {

// Blocks of memory that the arguments of a launch lie in: the most that it can be, as what crosses
// the partition's boundary may lie anywhere.
size_t blocksOf(const PartitionLayout& layout, const Launch& launch);

// Gives each launch that has no program its own. Of those that do not build one is told, with the
// step's label.
Status buildPrograms(const PartitionLayout& layout, std::span<Launch> launches, Programs& programs,
                     const Blobs& blobs, const Checkpoint& checkpoint);

}  // namespace halyard::engine::gpu
