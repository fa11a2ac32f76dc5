// SPDX-License-Identifier: Apache-2.0
//
// Removes nodes whose results are not read, and tensors that nothing mentions. No node does
// anything but compute its outputs.

#pragma once

#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/passes/pass.h"

namespace halyard::engine {

Result<bool> removeDeadNodes(Graph& graph, const PassContext& context);

}  // namespace halyard::engine
