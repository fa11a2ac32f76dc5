// SPDX-License-Identifier: Apache-2.0
//
// Computes nodes all of whose inputs are constants, and the rank of what has one, by CpuRef's
// kernels: DEQUANTIZE of weights above all. Only nodes whose work is in proportion to their inputs
// and outputs; no sums of products, no loops, no chance. A result of more than 64 KiB may take up
// to four times what the node's inputs take, as 8-bit weights do as float32, so that no few bytes
// fill the memory; all results together take up to four times the graph's constants, and 1 MiB. A
// node whose inputs are wrong is left to fail when it runs.

#pragma once

#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/passes/pass.h"

namespace halyard::engine {

Result<bool> foldConstants(Graph& graph, const PassContext& context);

}  // namespace halyard::engine
