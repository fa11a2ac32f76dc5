// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "engine/backends/cpu/choice/fused_choice.h"
#include "engine/backends/cpu/hardware/cpu_tuning.h"
#include "engine/graph/graph.h"
#include "engine/plan/backend.h"
#include "engine/plan/partition_readers.h"

namespace halyard::engine::cpu {

// Nodes of a partition that might be fused, by their positions in it.
struct FusionCandidate {
    std::vector<size_t> nodes;  // the expansion, maybe an activation, the depthwise convolution
    std::optional<size_t> projection;
    FusedLayers layers;
};

// The convolution at position `expansion`, what alone reads it and what alone reads that. Nothing
// where there is no depthwise convolution, or not all extents are known. `isStrict`: results may
// not be as rough as float16's.
std::optional<FusionCandidate> fusionCandidate(const Graph& graph, const Partition& partition,
                                               const PartitionReaders& readers, size_t expansion,
                                               const CpuTarget& target, bool isStrict,
                                               size_t threads);

}  // namespace halyard::engine::cpu
