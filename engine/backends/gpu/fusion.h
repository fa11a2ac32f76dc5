// SPDX-License-Identifier: Apache-2.0
//
// Which nodes of a partition GpuAcc computes together.

#pragma once

#include <vector>

#include "engine/backends/gpu/device/device.h"
#include "engine/backends/gpu/vendor/matrix_unit.h"
#include "engine/graph/graph.h"
#include "engine/plan/backend.h"
#include "engine/plan/partition_layout.h"

namespace halyard::engine::gpu {

// What fusions depend on besides the graph.
struct FusionNeeds {
    const DeviceFacts& facts;
    const MatrixFeatures& matrixFeatures;
    bool mayRound = false;  // float32 may be computed with float16's precision
};

// Sums of products, with what becomes of each element of the result before anybody else sees it,
// and where products go tile by tile, those that expand pixels with the depthwise convolution of
// these, and those of small pictures with the mean over each, where that gains. Products of
// matrices, with what only moves elements before and behind them. Products of one tensor by several
// constants, one behind the other with what is fused with it, where products go tile by tile.
std::vector<FusedNodes> findFusions(const Graph& graph, const Partition& partition,
                                    const FusionNeeds& needs);

}  // namespace halyard::engine::gpu
