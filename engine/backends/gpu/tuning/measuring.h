// SPDX-License-Identifier: Apache-2.0
//
// Measuring: what each of several ways to compute a step takes on the device, with the partition's
// own constants, on zeros in place of the tensors that only a run has. All memory for it is
// charged, and gone with it.

#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/gpu/device/device.h"
#include "engine/backends/gpu/device/gpu_memory.h"
#include "engine/backends/gpu/device/gpu_queue.h"
#include "engine/backends/gpu/launches/bound_kernels.h"
#include "engine/backends/gpu/planning/step_plan.h"
#include "engine/base/budget.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"

namespace halyard::engine::gpu {

// The least of several runs.
struct RunTime {
    // Of all launches: amid others of the same where the device keeps command buffer, or as their
    // events tell. An event lasts some microseconds at least, about as long as another launch
    // delays a run: of several launches each has its share in it.
    std::chrono::nanoseconds onDevice{0};  // 0: the device tells none
    std::chrono::nanoseconds wall{0};      // with enqueueing and waiting

    // By so much that it is more than chance: who comes first is what the cost model prefers.
    bool isLessThan(const RunTime& other) const;
    // By so much that no further run would change it.
    bool isFarBehind(const RunTime& other) const;
    std::string toString() const;

  private:
    // Both on the device, or both in all.
    std::pair<std::chrono::nanoseconds, std::chrono::nanoseconds> comparable(
            const RunTime& other) const;
};

// Of one step. One thread at a time.
class Measuring {
  public:
    struct Surroundings {
        std::shared_ptr<const Device> device;
        GpuMemory& memory;
        std::shared_ptr<Budget> deviceMemory;                    // null: not limited
        std::function<std::optional<Placed>(LocalId)> constant;  // nothing for what is none
        Checkpoint checkpoint;
    };
    // `environment` outlives it.
    Measuring(Surroundings surroundings, const StepPlan::Environment& environment, size_t step)
        : mAround(std::move(surroundings)), mEnvironment(environment), mStep(step) {}

    // The time of each variant, or why it can't be run: it does not build, or memory is short
    // (RESOURCE_EXHAUSTED). They are planned apart from the partition's plan, and run in turn, so
    // that a device that changes its clock or does something else is as hard on each. A variant
    // that is far behind is run no more. Where the checkpoint stops it, results mean nothing.
    std::vector<Result<RunTime>> time(std::span<const Variant> variants);

  private:
    struct Candidate {
        size_t index = 0;  // among the variants
        PartitionPlan plan;
        ChargedBuffer tables;
        std::map<LocalId, size_t> tensors = {};  // their first bytes in the workspace
        size_t findings = 0;                     // the same, of what its checks find
        std::unique_ptr<BoundKernels> kernels;
        bool isBehind = false;
    };

    Result<Candidate> makeCandidate(const Variant& variant);
    Status placeTensors(Candidate& candidate);
    Result<ChargedBuffer> zeros(size_t bytes) const;
    Placed placeOf(const Operand& operand, const Candidate& candidate) const;
    Result<RunTime> run(Candidate& candidate, GpuQueue& queue) const;
    // Candidates that fail are removed.
    void runAll(std::vector<Candidate>& candidates, GpuQueue& queue,
                std::vector<Result<RunTime>>& results, bool counts) const;

    void runInTurn(std::vector<Candidate>& candidates, GpuQueue& queue,
                   std::vector<Result<RunTime>>& results) const;

    const Surroundings mAround;
    const StepPlan::Environment& mEnvironment;
    const size_t mStep;
    ChargedBuffer mWorkspace;  // of all candidates: scratch memory, then tensors
};

}  // namespace halyard::engine::gpu
