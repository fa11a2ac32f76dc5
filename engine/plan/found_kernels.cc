// SPDX-License-Identifier: Apache-2.0
//
// Partitions of kernels that need no preparation.

#include <memory>
#include <string>
#include <string_view>

#include "engine/plan/node_by_node.h"

namespace halyard::engine {
namespace {

// A kernel that is ready as it was found. One object is the kernel for any shapes.
class FoundKernel final : public StepKernel {
  public:
    FoundKernel(const Node& node, Kernel kernel)
        : mName(kernel.name), mShaped(std::make_shared<const Shaped>(node, kernel)) {}

    std::string_view name() const override { return mName; }
    Result<std::shared_ptr<const ShapedKernel>> specialize(
            const StepTypes& /*types*/) const override {
        return mShaped;
    }

  private:
    class Shaped final : public ShapedKernel {
      public:
        Shaped(const Node& node, Kernel kernel) : mNode(node), mKernel(kernel) {}
        Status run(KernelCall& call) const override { return mKernel.run(mNode, call); }

      private:
        const Node& mNode;  // of the partition's graph
        const Kernel mKernel;
    };

    const std::string_view mName;
    const std::shared_ptr<const ShapedKernel> mShaped;
};

}  // namespace

Result<std::unique_ptr<CompiledPartition>> compileNodeByNode(const CompileArguments& arguments,
                                                             FindKernel findKernel) {
    return compileNodeByNode(
            arguments,
            [findKernel](const KernelArguments& own) -> Result<std::unique_ptr<const StepKernel>> {
                const Kernel kernel = findKernel(own.node);
                if (kernel.run == nullptr) {
                    return internalError("there is no kernel for " +
                                         std::string(toString(own.node.kind())));
                }
                return std::unique_ptr<const StepKernel>(
                        std::make_unique<FoundKernel>(own.node, kernel));
            });
}

}  // namespace halyard::engine
