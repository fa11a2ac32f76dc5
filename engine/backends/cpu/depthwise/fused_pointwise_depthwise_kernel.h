// SPDX-License-Identifier: Apache-2.0
//
// The common parts of the kernels of fused_pointwise_depthwise.h, for elements of any type.

#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "engine/backends/cpu/choice/fused_tiling.h"
#include "engine/backends/cpu/depthwise/depthwise_lines.h"
#include "engine/backends/cpu/gemm/conv_gemm_definition.h"
#include "engine/backends/cpu/kernels/epilogue.h"
#include "engine/backends/cpu/kernels/work_item_kernel.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/status.h"
#include "engine/graph/nodes.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// The nodes of a step that such a kernel computes.
class FusedPointwiseDepthwiseNodes {
  public:
    explicit FusedPointwiseDepthwiseNodes(const KernelArguments& step)
        : mStep(step), mActivates(step.others[0]->kind() == NodeKind::Activate ? 1 : 0) {}

    const Conv2d& convolution() const { return *std::get_if<Conv2d>(&mStep.node.descriptor); }
    KernelArguments expansion() const { return argumentsOf(mStep, mStep.node); }
    KernelArguments depthwise() const { return argumentsOf(mStep, last()); }

    // Inputs 1 and 2 of both are packed.
    void notePacked() const {
        for (const Node* const node : {&mStep.node, &last()}) {
            mStep.packed.push_back(node->inputs[1]);
            mStep.packed.push_back(node->inputs[2]);
        }
    }
    // The epilogue of each of them.
    Epilogue between(InstructionSet set) const {
        return Epilogue::of(mStep.graph, mStep.node.outputs[0], mStep.others.first(mActivates),
                            kInputs, set);
    }
    Epilogue epilogue(InstructionSet set) const {
        return Epilogue::of(mStep.graph, last().outputs[0], mStep.others.subspan(mActivates + 1),
                            kInputs, set);
    }
    // A pointwise projection, where there is one behind them, and what follows that.
    const Node& behind() const { return *mStep.others[mActivates + 1]; }
    Epilogue epilogueBehind(InstructionSet set) const {
        return Epilogue::of(mStep.graph, behind().outputs[0], mStep.others.subspan(mActivates + 2),
                            kInputs + 2, set);
    }

  private:
    static constexpr size_t kInputs = 5;  // a feature map, and weights and a bias of each

    const Node& last() const { return *mStep.others[mActivates]; }

    const KernelArguments& mStep;
    const size_t mActivates;
};

// The definition of both nodes as all kernels have it; some add to it.
struct FusedPointwiseDepthwiseDefinition {
    DepthwiseDefinition depthwise;
    Epilogue between;
    Epilogue epilogue;
    PackedConstant expansionPanels, depthwisePanels;
};

// Expands a work item and filters it. What it is made from outlives it.
class FusedWorkItems : public WorkItemKernel {
  protected:
    FusedWorkItems(const FusedPointwiseDepthwiseDefinition& definition,
                   const FusedFeatureMap& featureMap, const FusedTiling& cut)
        : mFeatureMap(featureMap), mCut(cut), mDefinition(definition) {}

    void setWorkItems() {
        WorkItemKernel::setWorkItems(mCut.items(mFeatureMap), mCut.operations(mFeatureMap));
    }
    // Elements before the work item's first result.
    ptrdiff_t outputOffset(const FusedWorkItem& item) const {
        const FusedFeatureMap& p = mFeatureMap;
        return (item.batch * p.outputHeight + item.line) * p.outputWidth * p.channels +
               item.channel;
    }
    ptrdiff_t inputOffset(const FusedWorkItem& item, const ReachedPart& part) const {
        return (item.batch * mFeatureMap.height + part.line) * mFeatureMap.width *
               mFeatureMap.depth;
    }
    // The nodes between the two, on an expanded part.
    template <typename T>
    void applyBetween(const ReachedPart& part, T* expanded) const {
        if (mDefinition.between.empty()) {
            return;
        }
        for (int64_t line = part.firstLine; line < part.endLine; ++line) {
            T* const pixels = expanded + line * part.lineLength + part.left * mCut.channels;
            mDefinition.between.applyTo(reinterpret_cast<std::byte*>(pixels),
                                        part.pixels * mCut.channels);
        }
    }

    const FusedFeatureMap mFeatureMap;
    const FusedTiling mCut;

  private:
    // To memory of the thread's, and from there to the output.
    virtual void expand(const KernelCall& call, const FusedWorkItem& item,
                        std::byte* memory) const = 0;
    virtual void filter(const KernelCall& call, const FusedWorkItem& item,
                        std::byte* memory) const = 0;

    void compute(const KernelCall& call, int64_t index, std::byte* memory) const final {
        const FusedWorkItem item = mCut.item(mFeatureMap, index);
        expand(call, item, memory);
        filter(call, item, memory);
        mDefinition.epilogue.apply(call, {.begin = outputOffset(item),
                                          .rows = item.lines * mFeatureMap.outputWidth,
                                          .row = mFeatureMap.channels,
                                          .columns = item.channels});
    }

    const FusedPointwiseDepthwiseDefinition& mDefinition;
};

// Makes `Shaped` from forms of the two nodes and a definition, and for a feature map and its cut.
template <typename Shaped, typename Forms, typename Definition>
class FusedPointwiseDepthwiseKernel final : public StepKernel {
  public:
    FusedPointwiseDepthwiseKernel(Forms forms, const FusedCosts& costs, Definition definition,
                                  std::string_view name, InstructionSet set)
        : mForms(forms),
          mCosts(costs),
          mDefinition(std::move(definition)),
          mName("acc::" + std::string(name) + " " + std::string(mForms.product.tile) + " " +
                std::string(toString(set)) + mDefinition.between.name() +
                mDefinition.epilogue.name()) {}

    std::string_view name() const override { return mName; }

    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        return unlessEmpty(types, [&] { return make(types); });
    }

  private:
    Result<std::shared_ptr<const Shaped>> make(const StepTypes& types) const {
        const DepthwiseDefinition& depthwise = mDefinition.depthwise;
        HALYARD_ASSIGN_OR_RETURN(
                const FusedFeatureMap featureMap,
                FusedFeatureMap::of(types.inputs[0]->shape, types.outputs[0]->shape,
                                    depthwise.node.window, depthwise.filterH));
        auto kernel = std::make_shared<Shaped>(
                mForms, mDefinition, featureMap,
                FusedTiling::best(featureMap, mCosts, static_cast<int64_t>(depthwise.threads)));
        HALYARD_RETURN_IF_ERROR(kernel->create());
        return std::shared_ptr<const Shaped>(std::move(kernel));
    }

    const Forms mForms;
    const FusedCosts mCosts;
    const Definition mDefinition;
    const std::string mName;
};

}  // namespace halyard::engine::cpu
