// SPDX-License-Identifier: Apache-2.0
//
// A graph's description: its tensors, nodes and names as bytes, beside one block with the elements
// of all constants, each at a multiple of 64 in it, so that a file can be mapped and its constants
// used where they lie. Little-endian. Kinds, fields, enumerators and element types go by their
// names: adding one moves nothing, and what is not said keeps its default.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/byte_parts.h"
#include "engine/base/status.h"
#include "engine/graph/graph.h"

namespace halyard::engine {

// Of the description, whose parts alone do not say it.
inline constexpr uint32_t kGraphVersion = 2;
// Of a constant in the block.
inline constexpr size_t kConstantAlignment = 64;

// The parts of a graph's bytes; the block lies where the constants do.
struct SerializedGraph {
    std::vector<uint8_t> description;
    ByteParts block;
};

// Identities mean something to the program they were given in, which may have packed constants
// away: such a graph is of use with that program's store alone.
enum class ConstantIds { LEAVE_OUT, KEEP };

// Graphs inside nodes included. Labels and names are kept; whether a client can write to a constant
// is not. The graph outlives what is made of its constants.
SerializedGraph describe(const Graph& graph, ConstantIds ids);

// The bytes may come from anywhere: nothing is read past their end, and what is allocated stays in
// proportion to them. INVALID_ARGUMENT where they are no such graph; UNSUPPORTED for a kind, field,
// enumerator or element type that this build does not know, which the message names, and for graphs
// nested deeper than kMaxNesting. The result is not verified. Its constants lie in the block, which
// begins at a multiple of kConstantAlignment, and share its owner.
Result<Graph> deserialize(std::span<const uint8_t> description, const ConstantData& block);

}  // namespace halyard::engine
