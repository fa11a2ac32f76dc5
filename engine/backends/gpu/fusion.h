// SPDX-License-Identifier: Apache-2.0
//
// Which nodes of a piece GpuAcc computes together.

#pragma once

#include <vector>

#include "engine/backends/gpu/device.h"
#include "engine/graph/graph.h"
#include "engine/plan/backend.h"
#include "engine/plan/piece_layout.h"

namespace halyard::engine::gpu {

// Sums of products, with what becomes of each element of the result before anybody else sees it,
// and where products go tile by tile, those that expand pixels with the depthwise convolution of
// these.
std::vector<FusedNodes> findFusions(const Graph& graph, const Piece& piece,
                                    const DeviceFacts& facts);

}  // namespace halyard::engine::gpu
