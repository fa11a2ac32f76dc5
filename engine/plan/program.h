// SPDX-License-Identifier: Apache-2.0
//
// Program: a graph that is planned and compiled, ready to run. Execution: the memory for running
// it once at a time. A Program is immutable and shared between threads; each thread runs its own
// Execution.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/memory_budget.h"
#include "engine/base/status.h"
#include "engine/base/thread_pool.h"
#include "engine/graph/graph.h"
#include "engine/plan/backend.h"

namespace halyard::engine {

// Backends in order of preference, the catch-all last. The backends outlive the programs.
using BackendList = std::vector<const Backend*>;

// Where one node went, and what the backends preferred over it said.
struct NodePlacement {
    std::string label;    // Node::label
    std::string kind;     // "Conv2d"
    uint32_t source = 0;  // Node::source
    std::string backend;  // empty: no backend takes the node
    size_t piece = 0;     // index of the piece the node runs in; 0 until Program::build
    struct Refusal {
        std::string backend;
        std::string reason;
    };
    std::vector<Refusal> refusals;  // in order of preference
};

// Asks the backends about every node of a verified graph. Needs no compilation; the same function
// decides in Program::build, so that "supported" means "prepares".
std::vector<NodePlacement> assignBackends(const Graph& graph, const BackendList& backends);

struct InputBinding {
    std::span<const uint8_t> bytes;  // at least as long as the shape asks; never written
    Shape shape;                     // fully known
    // False: the input was left out (no bytes), which is an error if anything reads it.
    bool present = true;
};

struct OutputBinding {
    std::span<uint8_t> bytes;  // may be longer than the result
    // What the caller expects; the result must agree wherever it is known.
    Shape shape = Shape::unknownRank();
    bool present = true;  // false: the caller does not want this output
};

struct OutputReport {
    Shape shape;  // real extents; unknown where the run stopped before they were known
    bool sufficient = true;
};

struct ExecutionReport {
    std::vector<OutputReport> outputs;       // one per graph output
    std::chrono::nanoseconds deviceTime{0};  // time inside the backends
    size_t arenaBytes = 0;
};

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

class Program;

class Execution {
  public:
    explicit Execution(std::shared_ptr<const Program> program);
    ~Execution();
    Execution(const Execution&) = delete;
    Execution& operator=(const Execution&) = delete;

    // Runs once. Inputs and outputs are read and written in place when aligned to their element
    // size, through a copy otherwise. An output may overlap inputs and other outputs: it then takes
    // the way through a copy too, so that it does not show in what the run reads. After the first
    // run with a set of shapes, a run with the same `report` allocates nothing, unless shapes
    // depend on data. Not re-entrant. OUTPUT_TOO_SMALL: `report` says which outputs and how large
    // they would be; no shape is missing. INVALID_ARGUMENT: wrong counts, sizes or shapes.
    // DEADLINE_EXCEEDED: stopped part-way. RESOURCE_EXHAUSTED: the program's memory has no room for
    // what the run takes. After a failure the bytes of the outputs are undefined. `report` may be
    // null. What a run took is kept for the next, until the Execution's end.
    Status run(std::span<const InputBinding> inputs, std::span<const OutputBinding> outputs,
               const Deadline& deadline, ExecutionReport* report);

  private:
    struct State;
    std::unique_ptr<State> mState;
};

class Program : public std::enable_shared_from_this<Program> {
  public:
    // Verifies, infers shapes, assigns, partitions, compiles and plans memory. UNSUPPORTED names
    // the first node that no backend takes, with every backend's reason. What the program and its
    // executions hold is reserved from `memory` (null: not limited), which programs may share;
    // RESOURCE_EXHAUSTED if that has no room for what the backends hold, or could never have room
    // for an arena whose size is known.
    static Result<std::shared_ptr<const Program>> build(
            Graph graph, const BackendList& backends, std::shared_ptr<ThreadPool> threads,
            std::shared_ptr<MemoryBudget> memory = nullptr);
    ~Program();

    const Graph& graph() const;
    std::span<const NodePlacement> placement() const;
    size_t pieceCount() const;
    // Held by the backends beyond the graph's own constants.
    size_t constantBytes() const;
    // What an execution needs, or 0 when the shapes of a request decide.
    size_t arenaBytes() const;

  private:
    friend class Execution;
    struct State;
    explicit Program(std::unique_ptr<State> state);
    std::unique_ptr<State> mState;
};

}  // namespace halyard::engine
