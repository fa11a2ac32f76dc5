// SPDX-License-Identifier: Apache-2.0
//
// SpecializedGpuPartition: a partition for one set of shapes: its kernels, their order, where they
// find things, and how they are run.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/backends/gpu/device/gpu_queue.h"
#include "engine/backends/gpu/gpu_resources.h"
#include "engine/backends/gpu/launches/bound_kernels.h"
#include "engine/backends/gpu/launches/launch.h"
#include "engine/backends/gpu/planning/step_plan.h"
#include "engine/backends/gpu/vendor/matrix_unit.h"
#include "engine/plan/partition_layout.h"
#include "engine/plan/workspace_plan.h"

namespace halyard::engine::gpu {

// Where a constant begins on the device.
inline constexpr size_t kConstantAlignment = 128;

// How a traced run tells of a step.
struct StepTrace {
    std::string name;
    const Node* leader = nullptr;
    std::vector<const Node*> others;
};

// State that all stages of a partition share.
struct PartitionParts {
    explicit PartitionParts(GpuResources all) : resources(std::move(all)) {}

    const GpuResources resources;
    PartitionLayout layout;
    std::vector<StepTrace> traces;                // per step
    std::map<LocalId, PackedConstant> constants;  // in the program's store
    std::map<LocalId, size_t> places;             // in `uploaded`
    ChargedBuffer uploaded;
    Blobs blobs;
    std::shared_ptr<Budget> deviceMemory;  // null: not limited
    MatrixFeatures matrixFeatures;
    bool mayRound = false;  // float32 may be computed with float16's precision

    // Where it lies on the device; nothing for a tensor that does not lie there all the time.
    std::optional<Placed> constantAt(LocalId local) const {
        const auto place = places.find(local);
        return place == places.end() ? std::nullopt
                                     : std::optional(Placed::at(uploaded.get(), place->second));
    }

    // A name that traces may point to as long as the program lives, whatever becomes of the shapes
    // that it is for.
    std::string_view keep(std::string name) const {
        const std::lock_guard lock(mMutex);
        return *mKept.insert(std::move(name)).first;
    }

  private:
    mutable std::mutex mMutex;
    mutable std::set<std::string> mKept;
};

// Immutable once it is created.
class SpecializedGpuPartition final : public SpecializedPartition {
  public:
    explicit SpecializedGpuPartition(std::shared_ptr<const PartitionParts> parts);

    Status create(std::span<const TensorType* const> inputs, const Checkpoint& checkpoint) {
        HALYARD_RETURN_IF_ERROR(inferTypes(inputs, checkpoint));
        HALYARD_RETURN_IF_ERROR(planSteps(checkpoint));
        return uploadTables(checkpoint);
    }

    std::span<const TensorType> outputTypes() const override { return mOutputTypes; }
    size_t workspaceBytes() const override { return 0; }
    size_t deviceWorkspaceBytes() const override {
        return mPlan.checks.empty() ? mWorkspace.bytes
                                    : findingsBegin() + mPlan.checks.size() * sizeof(Finding);
    }
    size_t deviceTableBytes() const override { return mTables.size(); }
    Status run(const RunArguments& arguments) const override;

  private:
    Status inferTypes(std::span<const TensorType* const> inputs, const Checkpoint& checkpoint);
    Status planSteps(const Checkpoint& checkpoint);
    // With these features of the matrix unit, into mPlan.
    Status planWith(const MatrixFeatures& matrixFeatures, const Checkpoint& checkpoint);
    Status planEach(const StepPlan::Environment& environment, const Checkpoint& checkpoint) const;
    Status uploadTables(const Checkpoint& checkpoint);
    // Findings lie behind the rest of the workspace.
    size_t findingsBegin() const {
        return (mWorkspace.bytes + kConstantAlignment - 1) / kConstantAlignment *
               kConstantAlignment;
    }
    // Why the run that the queue ends has failed, if it has.
    Status readFindings(const RunArguments& arguments, GpuQueue& queue) const;
    bool isPresent(LocalId local) const { return local != kNoLocal && mPresent[local]; }
    Placed placeOf(const Operand& operand, size_t step, const RunArguments& arguments) const;
    Status placeOperands(const RunArguments& arguments, BoundKernels& kernels) const;
    Status enqueueSteps(const RunArguments& arguments, BoundKernels& kernels,
                        GpuQueue& queue) const;
    Status runTraced(const RunArguments& arguments, BoundKernels& kernels, GpuQueue& queue) const;
    std::string_view nameOf(size_t step, std::span<const Launch> launches) const;
    uint64_t bytesMovedBy(const LocalStep& step) const;

    const std::shared_ptr<const PartitionParts> mParts;
    const PartitionLayout& mLayout;
    const uint64_t mNumber;
    std::vector<TensorType> mTypes;  // per local tensor
    std::vector<bool> mPresent;      // the same: false for inputs that were left out
    std::vector<TensorType> mOutputTypes;
    PartitionPlan mPlan;
    WorkspacePlan mWorkspace;
    ChargedBuffer mTables;
};

}  // namespace halyard::engine::gpu
