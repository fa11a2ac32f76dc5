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

// Conditions of fusions besides the graph.
struct FusionNeeds {
    const DeviceFacts& facts;
    const MatrixFeatures& matrixFeatures;
    bool mayRound = false;  // float32 may be computed with float16's precision
};

// Convolutions, fully connected layers and batch GEMM with their epilogue. Where GEMM is tiled: a
// pointwise convolution with the depthwise convolution of its results, a convolution with the mean
// of each feature map where that is profitable, and fully connected layers of one input
// horizontally. Batch GEMM with what only moves elements before and behind it.
std::vector<FusedNodes> findFusions(const Graph& graph, const Partition& partition,
                                    const FusionNeeds& needs);

}  // namespace halyard::engine::gpu
