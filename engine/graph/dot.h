// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <string>

#include "engine/graph/graph.h"

namespace halyard::engine {

// The graph in Graphviz's dot language: a box per node (label, kind and attributes), an ellipse per
// graph input, output and constant, an edge per tensor that is read, with its type, a frame per
// graph inside a node, down to kMaxNesting. `groups`, one name per node or none at all, frames
// together the nodes that share a name (a partition and its backend, say). Works on graphs that are
// not verified; ids out of range are left out.
std::string toDot(const Graph& graph, std::span<const std::string> groups = {});

}  // namespace halyard::engine
