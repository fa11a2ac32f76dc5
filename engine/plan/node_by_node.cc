// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/node_by_node.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/plan/specialized_steps.h"

namespace halyard::engine {
namespace {

class CompiledNodeByNode : public CompiledPartition {
  public:
    explicit CompiledNodeByNode(CompiledSteps steps)
        : mSteps(std::make_shared<const CompiledSteps>(std::move(steps))) {}

    Result<std::unique_ptr<const SpecializedPartition>> specialize(
            std::span<const TensorType* const> inputs,
            const Checkpoint& checkpoint) const override {
        return specializeSteps(mSteps, inputs, checkpoint);
    }

    Result<std::unique_ptr<PartitionState>> makeState(
            const PartitionResources& /*resources*/) const override {
        return makeStepsState(*mSteps);
    }

    std::span<const TensorId> packed() const override { return mSteps->packed; }
    std::string_view kernelOf(size_t node) const override {
        return mSteps->kernels[mSteps->layout.stepOf[node]]->name();
    }
    std::string_view lostFormsOf(size_t node) const override {
        return mSteps->kernels[mSteps->layout.stepOf[node]]->lostForms();
    }

  private:
    std::shared_ptr<const CompiledSteps> mSteps;
};

}  // namespace

Result<std::unique_ptr<CompiledPartition>> compileNodeByNode(const CompileArguments& arguments,
                                                             const CompileKernel& compileKernel,
                                                             std::span<const FusedStep> fused) {
    std::vector<FusedNodes> nodes;
    nodes.reserve(fused.size());
    std::ranges::transform(fused, std::back_inserter(nodes), &FusedStep::nodes);
    HALYARD_ASSIGN_OR_RETURN(PartitionLayout layout,
                             layOut(arguments.graph, arguments.partition, nodes));
    std::vector<const CompileKernel*> makers(layout.steps.size(), &compileKernel);
    for (const FusedStep& step : fused) {
        if (step.compile != nullptr) {
            makers[layout.stepOf[step.nodes.front()]] = &step.compile;
        }
    }
    CompiledSteps steps = {.layout = std::move(layout),
                           .kernels = {},
                           .packed = {},
                           .threads = arguments.threads->threadCount()};
    for (const LocalStep& step : steps.layout.steps) {
        const Node& node = *step.nodes.front().node;
        if (steps.kernels.size() % kStepsPerCheck == 0) {
            HALYARD_RETURN_IF_ERROR(arguments.checkpoint.check("while kernels were chosen"));
        }
        Result<std::unique_ptr<const StepKernel>> kernel =
                (*makers[steps.kernels.size()])(KernelArguments{.graph = *arguments.graph,
                                                                .node = node,
                                                                .others = step.others,
                                                                .constants = arguments.constants,
                                                                .packed = steps.packed,
                                                                .threads = steps.threads,
                                                                .checkpoint = arguments.checkpoint,
                                                                .options = arguments.options});
        if (!kernel.ok()) {
            return failureOf(node, kernel.status());
        }
        steps.kernels.push_back(*std::move(kernel));
    }
    return std::unique_ptr<CompiledPartition>(
            std::make_unique<CompiledNodeByNode>(std::move(steps)));
}

}  // namespace halyard::engine
