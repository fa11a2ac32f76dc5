// SPDX-License-Identifier: Apache-2.0
//
// Folds a Binary MUL, ADD or SUB by one constant, or one constant per channel, into the FLOAT32
// weights and bias of the convolution or FullyConnected before it, as batch normalisation leaves
// behind: where both are constants, nothing else reads them or what lies between, no activation
// comes between, and all new weights are finite. Rounds the weights once instead of each result.

#pragma once

#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/passes/pass.h"

namespace halyard::engine {

Result<bool> foldScales(Graph& graph, const PassContext& context);

}  // namespace halyard::engine
