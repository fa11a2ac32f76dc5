// SPDX-License-Identifier: Apache-2.0
//
// Backend: what the planner asks of an implementation of nodes (CpuRef, CpuAcc, GpuAcc, or a
// library loaded at run time).
//
//   Backend            one per process and name; stateless for callers, thread-safe.
//     └ compile() →  CompiledPiece     weights packed, kernels chosen; immutable, thread-safe.
//          └ specialize() →  ShapedPiece    for one set of input shapes; immutable, thread-safe.
//               └ run()                     with memory that the planner provides.
//
// Shapes known at prepare time give exactly one ShapedPiece, made then. Otherwise the planner
// specialises at execution and caches by input shapes. A piece with an output whose shape depends
// on data reports it through RunArguments::allocateOutput.
//
// Memory: the backend allocates while compiling and specialising, and in run() only what depends on
// data, which it reserves from RunArguments::memory first. It says how many bytes of workspace a
// run needs (its internal tensors and scratch); the planner gives each piece a slice of the
// execution's one arena, and binds piece inputs and outputs either to the arena or straight to the
// caller's memory. Elements in the caller's memory may change while a piece runs,
// because another process may hold the same memory. Where the elements of an input steer the
// computation (axes, paddings, a shape), a backend copies them once, checks the copy and uses that.
//
// A node that runs other graphs (a branch, a loop) is a piece like any other to the planner: its
// backend compiles the graphs inside, polls RunArguments::expired between rounds, and reports
// results whose shape the rounds decide through allocateOutput.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/memory_budget.h"
#include "engine/base/status.h"
#include "engine/base/thread_pool.h"
#include "engine/graph/graph.h"

namespace halyard::engine {

// Every tensor in the arena and every workspace starts at a multiple of this many bytes. Tensors
// bound to the caller's memory are aligned to their element size only.
inline constexpr size_t kTensorAlignment = 64;

// The nodes of a graph that one backend runs together, in execution order, with the tensors that
// cross the boundary. Constants are read from the graph and are neither inputs nor outputs.
struct Piece {
    std::vector<NodeId> nodes;
    std::vector<TensorId> inputs;   // computed before the piece, or graph inputs
    std::vector<TensorId> outputs;  // read after the piece, or graph outputs
};

// Memory and data for one run of a piece. All spans are in the order of Piece::inputs/outputs.
struct RunArguments {
    std::span<const ConstTensorView> inputs;
    // Types as outputTypes() has them. An output of unknown shape has data == nullptr; the backend
    // asks allocateOutput for it. An output without elements has an address all the same.
    std::span<const TensorView> outputs;
    // Gives memory for output `index`, once its shape is known. To be called on the thread that
    // called run(). Empty when every shape is known.
    // INVALID_ARGUMENT if the graph or the caller expects another shape.
    std::function<Result<TensorView>(size_t index, const Shape& shape)> allocateOutput;
    // workspaceBytes() bytes, aligned to kTensorAlignment. Content is undefined on entry.
    std::span<std::byte> workspace;
    ThreadPool* threads = nullptr;  // never null
    // Polled between nodes, and inside them often enough that none overruns a deadline by much;
    // true means: stop and return DEADLINE_EXCEEDED. Never empty.
    std::function<bool()> expired;
    // For what a run allocates because only data tells its size. Null: not limited.
    std::shared_ptr<MemoryBudget> memory;
};

class ShapedPiece {
  public:
    virtual ~ShapedPiece() = default;
    // Concrete input shapes give concrete output types; data-dependent extents stay unknown.
    virtual std::span<const TensorType> outputTypes() const = 0;
    virtual size_t workspaceBytes() const = 0;
    // May be called from several threads at once, each with its own arguments.
    virtual Status run(const RunArguments& arguments) const = 0;
};

class CompiledPiece {
  public:
    virtual ~CompiledPiece() = default;
    // `inputs` are fully known types in the order of Piece::inputs.
    virtual Result<std::unique_ptr<const ShapedPiece>> specialize(
            std::span<const TensorType> inputs) const = 0;
    // Bytes held for packed weights and the like; for memory reports and the budget.
    virtual size_t constantBytes() const = 0;
};

class Backend {
  public:
    virtual ~Backend() = default;
    // "CpuRef": the name users give to -c.
    virtual std::string_view name() const = 0;
    // OK if the backend runs this node of this graph; otherwise UNSUPPORTED with the reason, in a
    // sentence that fits after "<label>: <backend> ". Depends on the node and its tensors only, so
    // that asking for one operation or for the whole model gives the same answer.
    virtual Status supports(const Graph& graph, NodeId node) const = 0;
    // Compiles nodes it supports. Keeps `graph` alive for as long as it needs constants.
    virtual Result<std::unique_ptr<const CompiledPiece>> compile(std::shared_ptr<const Graph> graph,
                                                                 const Piece& piece) const = 0;
};

}  // namespace halyard::engine
