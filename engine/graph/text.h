// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/graph.h"

namespace halyard::engine {

// The graph as lines of text, for people: inputs, constants, every node with its operations,
// attributes and tensors by the names of its signature, outputs, and what became of operations
// that left no node; graphs inside indented, down to kMaxNesting. Of a verified graph.
std::string toText(const Graph& graph);

// A line per node of the graph and of those inside, in order: the operations, the attributes and
// the types of all tensors, but not which tensors they are, so that lines compare across passes.
std::vector<std::string> nodeLines(const Graph& graph);

// In quotes, with quotes, backslashes and whatever is not printable ASCII escaped: labels come from
// models.
std::string inQuotes(std::string_view text);

}  // namespace halyard::engine
