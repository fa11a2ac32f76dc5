// SPDX-License-Identifier: Apache-2.0
//
// Makes one LayerNormalize of the nodes that spell layer normalisation: a mean over the last axes,
// the mean of squared distances from it, a root of that and an epsilon, and what is multiplied by
// gamma and added to beta, in the orders that converters write. Only floats; only where nothing
// else reads what lies between, and where the extents that are normalised are known.

#pragma once

#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/passes/pass.h"

namespace halyard::engine {

Result<bool> fuseLayerNorms(Graph& graph, const PassContext& context);

}  // namespace halyard::engine
