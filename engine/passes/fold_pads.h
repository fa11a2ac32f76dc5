// SPDX-License-Identifier: Apache-2.0
//
// Makes a Pad of zeros the padding of the convolution that reads it, and of a pooling where that
// leaves no window without an element and the zeros can't be a window's maximum. An average counts
// the elements of a Pad, but not its own padding, so it keeps its Pad.

#pragma once

#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/passes/pass.h"

namespace halyard::engine {

Result<bool> foldPads(Graph& graph, const PassContext& context);

}  // namespace halyard::engine
