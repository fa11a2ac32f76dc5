// SPDX-License-Identifier: Apache-2.0
//
// A second backend for tests: it takes every second node of a graph, packs all its constants into
// the program's store, keeps a state for each execution, and fails where it is told to. Its
// arithmetic is CpuRef's, so that results say whether the planner put the pieces together right.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "engine/plan/backend.h"

namespace halyard::engine {

// DEATH and CLOSE take the process along: DEATH when a piece runs, CLOSE when the backend goes
// after it has compiled.
enum class FailingStage : uint8_t { NONE, COMPILE, SPECIALIZE, RUN, DEATH, CLOSE };

class AlternatingBackend : public Backend {
  public:
    explicit AlternatingBackend(FailingStage failing = FailingStage::NONE) : mFailing(failing) {}
    ~AlternatingBackend() override;

    std::string_view name() const override { return "Alternating"; }
    Status supports(const Graph& graph, NodeId node) const override;
    Result<std::unique_ptr<const CompiledPiece>> compile(
            const CompileArguments& arguments) const override;

  private:
    const FailingStage mFailing;
    mutable std::atomic<bool> mHasCompiled = false;
};

}  // namespace halyard::engine
