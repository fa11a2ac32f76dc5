// SPDX-License-Identifier: Apache-2.0
//
// Moves Dequantize behind nodes that only move or pick 8-bit elements, so that it meets a Quantize;
// where that has the same scale and zero point and gives back each of the 256 values, both go.
// Exact, because dequantising keeps order and each element comes from one element.

#pragma once

#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/passes/pass.h"

namespace halyard::engine {

Result<bool> moveDequantize(Graph& graph, const PassContext& context);

}  // namespace halyard::engine
