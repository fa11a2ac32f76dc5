// SPDX-License-Identifier: Apache-2.0
//
// Removes nodes that copy: Reshape, Squeeze and ExpandDims to the shape that is there, Transposes
// that leave the axes in place, Casts to the same type, Concats of one part, Slices and Splits of
// all, Pads and Tiles that add nothing. Of several Reshapes in a row (a Transpose that only moves
// extents of 1 is one) the last reads what the first does. Only where every extent is known.

#pragma once

#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/passes/pass.h"

namespace halyard::engine {

Result<bool> simplifyReshapes(Graph& graph, const PassContext& context);

}  // namespace halyard::engine
