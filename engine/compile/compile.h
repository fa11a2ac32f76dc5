// SPDX-License-Identifier: Apache-2.0
//
// The engine's entry point: compiles a graph to a program that runs. It takes this header, the
// backends (backends.h) and Execution (engine/plan/program.h), and no more.
//
// A graph is optimised, and what comes out of that is analysed and built; where that can't be had,
// because the optimised graph would take more memory than there is or no backend takes a node of
// it, the graph is built as it came. That a graph compiles is so told by the graph as it came.

#pragma once

#include <memory>
#include <string_view>

#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/passes/optimize.h"
#include "engine/plan/assignment.h"
#include "engine/plan/program.h"

namespace halyard::engine {

// Is shown what becomes of a graph, on the thread that compiles it: for dumps.
class CompileObserver {
  public:
    virtual ~CompileObserver() = default;
    virtual void came(const Graph& graph) = 0;
    // For each pass, in order.
    virtual void ran(std::string_view pass, const Graph& before, const Graph& after) = 0;
    virtual void optimized(const Graph& graph) = 0;
};

struct CompileSettings {
    // False: the graph is built as it came, to find out whether a pass is to blame.
    bool optimize = true;
    FloatPrecision precision = FloatPrecision::FLOAT32;
    PlacementRules placement = {};  // what it points to outlives the call
    CompileObserver* observer = nullptr;
    BuildOptions build = {};  // threads, memory, what is asked of the backends
};

// Verifies the graph and compiles it for the backends, which outlive the program. INVALID_ARGUMENT
// where the graph breaks a rule of the verifier's; UNSUPPORTED names the first node that no backend
// takes, with every backend's reason; RESOURCE_EXHAUSTED where the memory has no room for it;
// DEADLINE_EXCEEDED where the checkpoint says so.
Result<std::shared_ptr<const Program>> compile(Graph graph, const BackendList& backends,
                                               const CompileSettings& settings = {});

// The same of a graph that has been analysed, with the same rules and for the same backends.
Result<std::shared_ptr<const Program>> compile(AnalyzedGraph analyzed, const BackendList& backends,
                                               const CompileSettings& settings);

}  // namespace halyard::engine
