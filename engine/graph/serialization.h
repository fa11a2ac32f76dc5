// SPDX-License-Identifier: Apache-2.0
//
// Graphs as one array of bytes: for backends that run a graph outside this process.
//
// A header (magic, version, the two sizes), then the graph's description, then, at a multiple of
// kConstantAlignment, the block of its constants (graph_description.h).

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/byte_parts.h"
#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/graph/graph_description.h"

namespace halyard::engine {

// All of a graph's bytes, without identities of constants. Every constant has its elements; the
// graph outlives the parts.
ByteParts serializedParts(const Graph& graph);
std::vector<uint8_t> serialize(const Graph& graph);

// Refuses bytes as deserialize(description, block) does, and another version with UNSUPPORTED. The
// graph's constants share one copy of the block.
Result<Graph> deserialize(std::span<const uint8_t> bytes);

}  // namespace halyard::engine
