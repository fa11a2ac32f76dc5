// SPDX-License-Identifier: Apache-2.0
//
// Kernels that need nothing made ready: what they do follows from the node and the call.

#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engine/backends/cpu/kernels/byte_types.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/graph/graph.h"
#include "engine/numerics/elements.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// Runs `Run`, a copyable function of a KernelCall. Outputs without elements are nothing to do,
// unless there is something to check.
template <typename Run>
class PlainKernel final : public StepKernel {
  public:
    PlainKernel(std::string name, Run run, bool checks)
        : mName(std::move(name)),
          mShaped(std::make_shared<Shaped>(std::move(run))),
          mChecks(checks) {}

    std::string_view name() const override { return mName; }

    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        const bool empty = std::ranges::all_of(types.outputs, [](const TensorType* type) {
            return type->shape.isFullyKnown() && countOf(type->shape) == 0;
        });
        if (empty && !mChecks) {
            return std::shared_ptr<const ShapedKernel>(std::make_shared<EmptyKernel>());
        }
        return std::shared_ptr<const ShapedKernel>(mShaped);
    }

  private:
    class Shaped final : public ShapedKernel {
      public:
        explicit Shaped(Run run) : mRun(std::move(run)) {}
        Status run(KernelCall& call) const override { return mRun(call); }

      private:
        const Run mRun;
    };

    const std::string mName;
    const std::shared_ptr<const Shaped> mShaped;
    const bool mChecks;
};

// "acc::Pool2d float avx512". The kind of elements is that of input 0.
inline std::string kernelName(const KernelArguments& arguments, std::string_view set) {
    const Node& node = arguments.node;
    const DataType type = arguments.graph.tensor(node.inputs[0]).type.type;
    std::string name = "acc::" + std::string(toString(node.kind()));
    name.append(type == DataType::FLOAT32   ? " float"
                : type == DataType::FLOAT16 ? " half"
                : elementSize(type) == 1    ? " 8bit"
                : elementSize(type) == 2    ? " 16bit"
                                            : " 32bit");
    return set.empty() ? name : name + " " + std::string(set);
}

// `set` is what the kernel is compiled for; left out where that makes no difference.
template <typename Run>
Result<std::unique_ptr<const StepKernel>> plainKernel(const KernelArguments& arguments,
                                                      std::string_view set, Run run,
                                                      bool checks = false) {
    return std::unique_ptr<const StepKernel>(
            std::make_unique<PlainKernel<Run>>(kernelName(arguments, set), std::move(run), checks));
}

inline const TensorType& inputType(const Graph& graph, const Node& node, size_t input = 0) {
    return graph.tensor(node.inputs[input]).type;
}
inline const TensorType& outputType(const Graph& graph, const Node& node) {
    return graph.tensor(node.outputs[0]).type;
}

}  // namespace halyard::engine::cpu
