// SPDX-License-Identifier: Apache-2.0
//
// Running a partition step by step: one kernel per step, in order, with the tensors between them in
// the workspace. A step is a node, or several of which the backend says that it computes them
// together. For any backend that has kernels for nodes.
//
// Nodes whose shapes follow from the partition's inputs are planned. A node whose shapes depend on
// data, and whatever comes after it, is "open": its shapes are inferred when the run gets there, or
// found by its kernel, and its outputs come from the partition's state or from the planner's
// allocator.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "engine/base/status.h"
#include "engine/plan/backend.h"
#include "engine/plan/kernel_call.h"
#include "engine/plan/partition_layout.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine {

// Computes one node, of the kind it was found for, with nothing made ready before.
struct Kernel {
    std::string_view name;  // empty: there is none
    Status (*run)(const Node& node, KernelCall& call) = nullptr;
};

// The kernel of a node; what a backend whose kernels need no preparation consists of.
using FindKernel = Kernel (*)(const Node& node);

// The kernel of a step, compiled. INTERNAL for a node that the backend does not support.
using CompileKernel =
        std::function<Result<std::unique_ptr<const StepKernel>>(const KernelArguments&)>;

// Nodes that are computed as one step, in the order that they have in the partition, and what makes
// their kernel, which the finder of the fusion knows best.
struct FusedStep {
    FusedNodes nodes;
    // Null: the one that makes the first node's kernel when it stands alone.
    CompileKernel compile = nullptr;
};

// A partition for whose every node there is a kernel.
Result<std::unique_ptr<CompiledPartition>> compileNodeByNode(const CompileArguments& arguments,
                                                             const CompileKernel& compileKernel,
                                                             std::span<const FusedStep> fused = {});
Result<std::unique_ptr<CompiledPartition>> compileNodeByNode(const CompileArguments& arguments,
                                                             FindKernel findKernel);

}  // namespace halyard::engine
