// SPDX-License-Identifier: Apache-2.0
//
// Puts RELU, RELU1 and RELU6 into the node before, where that has no activation yet and nothing
// else reads it. 8-bit results only where looking up the function gives, for each of the 256
// values, what clamping does: with another scale or zero point it does not.

#pragma once

#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/passes/pass.h"

namespace halyard::engine {

Result<bool> fuseActivations(Graph& graph, const PassContext& context);

}  // namespace halyard::engine
