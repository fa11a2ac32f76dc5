// SPDX-License-Identifier: Apache-2.0
//
// Makes one Activate of the nodes that spell GELU, a swish or their piecewise linear relatives, and
// one Unary of those that spell the error function.
// Networks write these in many ways, so what tells them is what the nodes compute: elementwise
// nodes of one float tensor and numbers are evaluated at some points, from far below zero to far
// above. Only where nothing else reads what lies between.

#pragma once

#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/passes/pass.h"

namespace halyard::engine {

Result<bool> fuseFunctions(Graph& graph, const PassContext& context);

}  // namespace halyard::engine
