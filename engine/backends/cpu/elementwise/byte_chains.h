// SPDX-License-Identifier: Apache-2.0
//
// Elementwise nodes that follow one another from an 8-bit tensor to another one are a function of a
// byte, however many real numbers lie in between: one lookup. LEAKY_RELU between Dequantize and
// Quantize, the maximum of a tensor and a number, x times its logistic function.

#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/graph/graph.h"
#include "engine/numerics/byte_tables.h"
#include "engine/plan/backend.h"
#include "engine/plan/node_by_node.h"

namespace halyard::engine::cpu {

// The chains of a partition. Immutable; the graph and the partition outlive it.
class ByteChains {
  public:
    ByteChains(const Graph& graph, const Partition& partition);

    // The longest chain that begins with the node at position `first`: nodes that are not taken,
    // of one tensor, whose results only the last one's are read by others. The table is what CpuRef
    // makes of each byte. Nothing where no lookup is gained: a function of one node that has a
    // table of its own, or none.
    std::optional<FusedStep> from(size_t first, const std::vector<bool>& taken,
                                  InstructionSet set) const;

  private:
    struct Readers {
        std::vector<size_t> nodes;  // by their positions, ascending
        bool outside = false;
    };
    struct Chain {
        TensorId x = kNoTensor;
        std::vector<size_t> nodes;
        // Those that read results of the chain and are none of it, ascending. It is closed where
        // there were none of them before the last node's own.
        std::vector<size_t> readers;
        bool isClosed = false;
    };

    const Node& node(size_t position) const { return mGraph.node(mPartition.nodes[position]); }
    const Readers* readersOf(TensorId tensor) const;
    bool isMember(const Chain& chain, TensorId tensor) const;
    // Whether the node makes each element from those of the chain, and of constants with one.
    bool joins(const Chain& chain, size_t position) const;
    void append(Chain& chain, size_t position) const;
    // The first that reads a result of the chain and is none of it. Nothing where the chain can't
    // be closed any more, or so many read it that no function is like that: what it takes to find
    // all chains stays in proportion to the nodes.
    std::optional<size_t> nextOf(Chain& chain) const;
    std::optional<ByteTable> tableOf(const Chain& chain) const;

    const Graph& mGraph;
    const Partition& mPartition;
    std::unordered_map<TensorId, Readers> mReaders;
};

}  // namespace halyard::engine::cpu
