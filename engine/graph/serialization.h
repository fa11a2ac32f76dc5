// SPDX-License-Identifier: Apache-2.0
//
// Graphs as bytes: for a cache, and for whoever runs a graph outside this process.
//
// Little-endian. A header (magic, version, the two sizes), then a description of the graph, then,
// at a multiple of 64 bytes, one block with the elements of all constants, each at a multiple of 64
// in it, so that a file can be mapped and its constants used where they lie. In the description
// kinds, fields, enumerators and element types go by their names: adding one moves nothing, and
// what is not said keeps its default.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/status.h"
#include "engine/graph/graph.h"

namespace halyard::engine {

// Graphs inside nodes included. Labels and names are kept; whether a client can write to a constant
// is not.
std::vector<uint8_t> serialize(const Graph& graph);

// The bytes may come from anywhere: nothing is read past their end, and what is allocated stays in
// proportion to them. INVALID_ARGUMENT where they are no such graph; UNSUPPORTED for another
// version, for a kind, field, enumerator or element type that this build does not know, which the
// message names, and for graphs nested deeper than kMaxNesting. The result is not verified. Its
// constants share one copy of the block.
Result<Graph> deserialize(std::span<const uint8_t> bytes);

}  // namespace halyard::engine
