// SPDX-License-Identifier: Apache-2.0
//
// Where the options ask for bfloat16: rounds the constant FLOAT32 weights of sums of products to
// values that bfloat16 has, to nearest and to even. Tensors stay FLOAT32, and so do biases and what
// flows between nodes: the engine has no bfloat16 tensors. A backend that finds such weights may
// pack them in half the memory without changing results.

#pragma once

#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/passes/pass.h"

namespace halyard::engine {

Result<bool> reduceToBfloat16(Graph& graph, const PassContext& context);

}  // namespace halyard::engine
