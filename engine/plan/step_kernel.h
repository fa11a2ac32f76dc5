// SPDX-License-Identifier: Apache-2.0
//
// Kernels of a partition that runs step by step: they are chosen for a node, or for several that
// are fused, when it is compiled, and specialised when its shapes are known.

#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/plan/backend.h"
#include "engine/plan/kernel_call.h"

namespace halyard::engine {

// Arguments that a kernel is compiled from. Ends with the call; the graph outlives the kernel.
struct KernelArguments {
    const Graph& graph;
    const Node& node;
    // Nodes that the kernel computes with it. Its inputs are those of all of them, in order, but
    // for tensors inside; its outputs are the last one's.
    std::span<const Node* const> others;
    ConstantStore& constants;
    // Constants whose copy in the store replaces them for this node are added here, once for each
    // input that reads them.
    std::vector<TensorId>& packed;
    size_t threads = 1;  // as many as may ever run it together
    Checkpoint checkpoint = {};
    CompileOptions options = {};
};

// The types of a step, every shape known but for outputs that are found by running.
struct StepTypes {
    std::span<const TensorType* const> inputs;  // null: left out
    std::span<const TensorType* const> outputs;
    std::span<const TensorType* const> inside = {};  // outputs of the nodes before the last
};

// Computes one step with tensors of fixed shapes. Immutable, thread-safe.
class ShapedKernel {
  public:
    virtual ~ShapedKernel() = default;
    // Memory that it needs while it runs, beyond what it takes by KernelCall::scratch(): for all of
    // its threads together, and for each of them.
    virtual size_t workspaceBytes() const { return 0; }
    virtual size_t threadBytes() const { return 0; }
    // An input that output 0 may lie in the place of, as large as it is: the kernel reads nothing
    // of it that it has written before.
    virtual std::optional<size_t> replaceableInput() const { return std::nullopt; }
    virtual Status run(KernelCall& call) const = 0;
};

// The kernel where no output has elements: it does nothing.
class EmptyKernel final : public ShapedKernel {
  public:
    Status run(KernelCall& /*call*/) const override { return {}; }
};

// Computes one step, of any shapes. Immutable, thread-safe; outlives what it makes.
class StepKernel {
  public:
    virtual ~StepKernel() = default;
    // "acc::Conv2d float 14x2": what a profile calls it. Lives as long as the kernel.
    virtual std::string_view name() const = 0;
    // Other forms that there were for its nodes, and why they were not taken, for people:
    // "Winograd F(2x2): takes filters of 3x3, not of 1x1; ..."; empty: not told.
    virtual std::string_view lostForms() const { return {}; }
    // inferShapes() has accepted the types.
    virtual Result<std::shared_ptr<const ShapedKernel>> specialize(
            const StepTypes& types) const = 0;
};

}  // namespace halyard::engine
