// SPDX-License-Identifier: Apache-2.0
//
// A second backend for tests, as far away as a GPU's: tensors and constants lie in memory that the
// host can't touch, a state keeps a block there for each execution, it keeps a blob for each kind
// of node as if building a kernel took long, and every station can be told to fail. Its arithmetic
// is CpuRef's, so that results say whether the planner put the partitions together right.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/plan/backend.h"
#include "tests/second_backend/distant_memory.h"

namespace halyard::engine {

// DEATH and CLOSE take the process along: DEATH when a partition runs, CLOSE when the backend goes
// after it has compiled.
enum class FailingStage : uint8_t {
    NONE,
    COMPILE,
    PACK,
    FINISH,
    SPECIALIZE,
    MAKE_STATE,
    RUN,
    DEATH,
    CLOSE
};

// Which nodes the backend takes.
enum class Takes : uint8_t {
    ALL,
    // Those of which it can tell all shapes without running anything, as most devices have it.
    FORESEEN,
    EVERY_SECOND,
};

class DistantBackend : public Backend {
  public:
    // `capacity`: bytes that its memory has.
    explicit DistantBackend(Takes takes, size_t capacity = size_t{1} << 32)
        : mTakes(takes), mMemory(capacity) {}
    ~DistantBackend() override;

    std::string_view name() const override { return "Distant"; }
    Status supports(const Graph& graph, NodeId node) const override;
    Result<std::unique_ptr<CompiledPartition>> compile(
            const CompileArguments& arguments) const override;
    DistantMemory* memory() const override { return &mMemory; }

    // That each execution keeps.
    static constexpr size_t kStateBytes = 1000;

    // From now on.
    mutable std::atomic<FailingStage> failing = FailingStage::NONE;
    // Kernels that a partition needed when it was finished: made for it, or found among the blobs.
    mutable std::atomic<size_t> kernelsBuilt = 0;
    mutable std::atomic<size_t> kernelsFound = 0;

  private:
    const Takes mTakes;
    mutable DistantMemory mMemory;
    mutable std::atomic<bool> mHasCompiled = false;
};

}  // namespace halyard::engine
