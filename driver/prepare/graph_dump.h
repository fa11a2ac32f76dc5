// SPDX-License-Identifier: Apache-2.0
//
// --dump-graph: what the optimiser's passes make of each model, as files for people. For model N,
// from 1 on,
//   model-NNN-lowered.txt, .dot      the graph as it was lowered,
//   model-NNN-passes.txt             which pass took away (-) and added (+) which nodes,
//   model-NNN-optimized.txt, .dot    the graph that runs.
// A folder gets files of kMostModels models at most, whichever processes write them, so that no
// client fills it: a number whose first file is there is taken. Each file is cut off after
// kMostFileBytes. What can't be written is logged as a warning; it never fails a model.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/compile/compile.h"
#include "engine/graph/graph.h"

namespace halyard::driver {

struct DeviceState;

class GraphDump final : public engine::CompileObserver {
  public:
    static constexpr uint32_t kMostModels = 100;
    static constexpr size_t kMostFileBytes = size_t{16} << 20;

    // Takes the next number in the device's folder. Nothing where there is no folder or no number.
    static std::optional<GraphDump> begin(DeviceState& state);

    void came(const engine::Graph& graph) override;
    void ran(std::string_view pass, const engine::Graph& before,
             const engine::Graph& after) override;
    void optimized(const engine::Graph& graph) override;

  private:
    explicit GraphDump(std::string prefix) : mPrefix(std::move(prefix)) {}
    void write(std::string_view suffix, std::string_view text) const;

    std::string mPrefix;  // "<folder>/model-007"
    std::string mPasses;
};

}  // namespace halyard::driver
