// SPDX-License-Identifier: Apache-2.0
//
// --dump-graph: what the optimiser's passes make of each model, as files for people. For model N,
// from 1 on,
//   model-NNN-lowered.txt, .dot      the graph as it was lowered,
//   model-NNN-passes.txt             which pass took away (-) and added (+) which nodes,
//   model-NNN-optimized.txt, .dot    the graph that runs.
// How many there are, and how long: numbered_dump.h.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "driver/trace/numbered_dump.h"
#include "engine/compile/compile.h"
#include "engine/graph/graph.h"

namespace halyard::driver {

struct DeviceState;

class GraphDump final : public engine::CompileObserver {
  public:
    // Takes the next number in the device's folder. Nothing where there is no folder or no number.
    static std::optional<GraphDump> begin(DeviceState& state);

    void came(const engine::Graph& graph) override;
    void ran(std::string_view pass, const engine::Graph& before,
             const engine::Graph& after) override;
    void optimized(const engine::Graph& graph) override;

  private:
    explicit GraphDump(NumberedDump files) : mFiles(std::move(files)) {}

    NumberedDump mFiles;
    std::string mPasses;
};

}  // namespace halyard::driver
