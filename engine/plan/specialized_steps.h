// SPDX-License-Identifier: Apache-2.0
//
// A partition's steps, specialised for the shapes of its inputs, and run in order: shapes are
// inferred, kernels specialised and memory planned once; a step whose shapes depend on data is
// open, and all that is done when the run gets there.

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/checkpoint.h"
#include "engine/base/status.h"
#include "engine/plan/backend.h"
#include "engine/plan/partition_layout.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine {

// Between two looks at the checkpoint, while kernels are chosen or specialised.
inline constexpr size_t kStepsPerCheck = 256;

// A compiled partition: immutable, and shared by all that is specialised from it.
struct CompiledSteps {
    PartitionLayout layout;
    std::vector<std::unique_ptr<const StepKernel>> kernels;  // per step
    std::vector<TensorId> packed;
    size_t threads = 1;  // as many as may ever run a kernel together
};

// Null types stand for inputs that were left out. Fails as inference, a kernel or the checkpoint
// does.
Result<std::unique_ptr<const SpecializedPartition>> specializeSteps(
        std::shared_ptr<const CompiledSteps> steps, std::span<const TensorType* const> inputs,
        const Checkpoint& checkpoint);

// The state that an execution keeps for runs of any partition that specializeSteps() has made.
std::unique_ptr<PartitionState> makeStepsState(const CompiledSteps& steps);

}  // namespace halyard::engine
