// SPDX-License-Identifier: Apache-2.0
//
// StepPlan: what the plan of one step is made from and adds to: the step's nodes with the types of
// their tensors, all shapes known, and the launches of the partition.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/backends/gpu/device/device.h"
#include "engine/backends/gpu/launches/launch.h"
#include "engine/backends/gpu/launches/step_leader.h"
#include "engine/backends/gpu/programs/programs.h"
#include "engine/backends/gpu/vendor/matrix_unit.h"
#include "engine/base/status.h"
#include "engine/graph/shape_inference.h"
#include "engine/plan/blobs.h"
#include "engine/plan/partition_layout.h"

namespace halyard::engine::gpu {

// A finding of a kernel that checks values of a run. A copy of the kernels' struct.
struct Finding {
    int32_t index = -1;  // of the first value that is wrong; negative: none is
    int32_t reason = 0;  // what the rest means is between the kernel and the check
    int32_t value = 0;
    int32_t unused = 0;
};

// Once a run has ended: why it has failed.
struct Check {
    size_t step = 0;
    std::function<Status(const Finding&)> failure;
};

// A partition's steps, planned for one set of shapes.
struct PartitionPlan {
    std::vector<Launch> launches;      // by step
    std::vector<std::byte> tables;     // constants of these shapes and types
    std::vector<size_t> scratchBytes;  // per step
    std::vector<Check> checks;         // each has a Finding
};

class StepPlan;

// One of several ways to compute a step, which give the same results.
struct Variant {
    std::string name;                       // "128": the same for the same way, in every build
    std::function<Status(StepPlan&)> plan;  // adds its launches
};

class VariantChooser;

class StepPlan {
  public:
    struct Environment {
        const DeviceFacts& facts;
        Programs& programs;
        const Blobs& blobs;
        const PartitionLayout& layout;
        std::span<const TensorType> types;  // per local tensor
        const std::vector<bool>& present;   // the same: false where an input was left out
        const MatrixFeatures& matrixFeatures;
        bool mayRound;  // float32 may be computed with float16's precision
        PartitionPlan& plan;
        const VariantChooser* chooser = nullptr;  // null: the first of several ways is taken
    };
    StepPlan(const Environment& environment, size_t step)
        : mEnvironment(environment), mStep(step), mNodes(environment.layout.steps[step].nodes) {}
    // Of the step as if it had `count` of its nodes, from `first` on.
    StepPlan part(size_t first, size_t count) const {
        StepPlan part = *this;
        part.mFirst += first;
        part.mNodes = mNodes.subspan(first, count);
        return part;
    }

    const DeviceFacts& facts() const { return mEnvironment.facts; }
    const MatrixFeatures& matrixFeatures() const { return mEnvironment.matrixFeatures; }
    bool mayRound() const { return mEnvironment.mayRound; }
    // Which of the nodes leaderOf() names.
    size_t leader() const { return leaderOf(mNodes); }
    // Node `which` of those that the step computes together.
    size_t nodeCount() const { return mNodes.size(); }
    const Node& node(size_t which = 0) const { return *mNodes[which].node; }
    size_t inputCount(size_t which = 0) const { return mNodes[which].inputs.size(); }
    size_t outputCount(size_t which = 0) const { return mNodes[which].outputs.size(); }
    bool has(size_t index, size_t which = 0) const {
        const LocalId local = mNodes[which].inputs[index];
        return local != kNoLocal && mEnvironment.present[local];
    }
    const TensorType& input(size_t index, size_t which = 0) const {
        return mEnvironment.types[mNodes[which].inputs[index]];
    }
    const TensorType& output(size_t index = 0, size_t which = 0) const {
        return mEnvironment.types[mNodes[which].outputs[index]];
    }
    // With the elements where they are the graph's own.
    KnownInput known(size_t index, size_t which = 0) const;
    std::vector<KnownInput> allKnown() const;

    Operand in(size_t index, size_t which = 0) const {
        return {.place = Operand::Place::TENSOR, .local = mNodes[which].inputs[index]};
    }
    Operand out(size_t index = 0, size_t which = 0) const {
        return {.place = Operand::Place::TENSOR, .local = mNodes[which].outputs[index]};
    }
    // kCounters numbers, each 0, which a launch leaves so.
    static Operand counters() { return {.place = Operand::Place::COUNTERS}; }
    // On the device as long as the plan.
    template <typename T>
    Operand table(std::span<const T> elements) {
        return addTable(std::as_bytes(elements));
    }
    // While the step runs. Content is undefined.
    Operand scratch(size_t bytes);

    // Where a kernel of every run writes a Finding; where it is of something wrong, the run fails
    // so.
    Operand check(std::function<Status(const Finding&)> failure);

    // Another launch, of a kernel that buildPrograms() builds. Valid until the next.
    Result<Launch*> launch(const KernelFamily& family, const std::string& defines);
    // For all launches of the plan that have no program.
    Status buildPrograms();

    // Adds the launches of one of the variants, of which the cost model's best guess is the first
    // and the next best follow. `key` says all that their times depend on: the family, shapes,
    // types and what is fused. To measure them, each may be planned any number of times, elsewhere:
    // a variant takes tables, scratch memory and launches from the StepPlan that it is handed.
    Status choose(std::string_view key, std::span<const Variant> variants);

  private:
    Operand addTable(std::span<const std::byte> bytes);

    const Environment& mEnvironment;
    const size_t mStep;
    size_t mFirst = 0;  // of the step's nodes
    std::span<const LocalNode> mNodes;
};

// Takes one of several variants of a step. One thread at a time.
class VariantChooser {
  public:
    virtual ~VariantChooser() = default;
    // The index of one of the variants, of which there are two at least.
    virtual Result<size_t> choose(const StepPlan::Environment& environment, size_t step,
                                  std::string_view key,
                                  std::span<const Variant> variants) const = 0;
    // Whether another variant may stand in for one that has failed.
    virtual bool forgives(const Variant& variant, const Status& failure) const = 0;
};

}  // namespace halyard::engine::gpu
