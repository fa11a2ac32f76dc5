// SPDX-License-Identifier: Apache-2.0
//
// Moves Transposes behind the nodes that read them, through whatever computes the same in any order
// of axes (elementwise nodes, Concat, Split, Pad, Reduce, normalisation along an axis), so that
// those of one layout's operations meet and become one, or none where they undo each other. Only
// where every extent is known, and only through the readers of a Transpose all of which it can move
// behind.

#pragma once

#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/passes/pass.h"

namespace halyard::engine {

Result<bool> moveTransposes(Graph& graph, const PassContext& context);

}  // namespace halyard::engine
