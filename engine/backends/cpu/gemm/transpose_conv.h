// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "engine/graph/graph.h"

namespace halyard::engine::cpu {

// Whether the tuned kernel of a TransposeConv2d computes it, and what is fused with it: not where
// weights are not finite, which the GEMMs would multiply with zeros beyond the feature map.
bool isByStridePhases(const Graph& graph, const Node& node);

}  // namespace halyard::engine::cpu
