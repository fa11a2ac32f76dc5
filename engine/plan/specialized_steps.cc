// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/specialized_steps.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/graph/shape_inference.h"
#include "engine/plan/kernel_call.h"
#include "engine/plan/workspace_plan.h"

namespace halyard::engine {
namespace {

// Kept by an execution from run to run, so that only the first allocates.
struct StepsState : public PartitionState {
    ScratchStack scratch;
    std::vector<ReusedBuffer> found;  // per local tensor: memory where only the run knows the size
    std::vector<TensorType> types;    // per local tensor, where any node is open
    std::vector<void*> data;          // the same; null where the plan or the caller gave a place
    std::vector<ConstTensorView> inputs;  // what a step is handed
    std::vector<TensorView> outputs;
    std::vector<ConstTensorView> known;  // of a node of an open step
    std::vector<TensorType> inferred;
    std::vector<const TensorType*> stepTypes;  // of an open step
};

class StepsPartition : public SpecializedPartition {
  public:
    explicit StepsPartition(std::shared_ptr<const CompiledSteps> steps)
        : mSteps(std::move(steps)), mLayout(mSteps->layout) {}

    Status create(std::span<const TensorType* const> inputs, const Checkpoint& checkpoint) {
        HALYARD_RETURN_IF_ERROR(inferTypes(inputs, checkpoint));
        HALYARD_RETURN_IF_ERROR(specializeKernels(checkpoint));
        return planMemory();
    }

    std::span<const TensorType> outputTypes() const override { return mOutputTypes; }
    size_t workspaceBytes() const override { return mWorkspace.bytes; }
    Status run(const RunArguments& arguments) const override;

  private:
    class Run;

    Status inferTypes(std::span<const TensorType* const> inputs, const Checkpoint& checkpoint);
    Status specializeKernels(const Checkpoint& checkpoint);
    Status planMemory();
    bool isOpen(const LocalStep& step) const;
    bool isPresent(LocalId local) const { return local != kNoLocal && mPresent[local]; }
    // A tensor as far as a checker of shapes may know it before the run.
    KnownInput known(LocalId local) const {
        return !isPresent(local)
                       ? KnownInput()
                       : KnownInput{.type = &mTypes[local],
                                    .data = mLayout.graph->tensor(mLayout.tensors[local].id)
                                                    .constant.bytes.data()};
    }

    const std::shared_ptr<const CompiledSteps> mSteps;
    const PartitionLayout& mLayout;
    std::vector<TensorType> mTypes;  // per local tensor; unknown extents where only a run can tell
    std::vector<bool> mPresent;      // per local tensor: false for inputs that were left out
    std::vector<bool> mOpen;         // per step
    bool mAnyOpen = false;
    std::vector<std::shared_ptr<const ShapedKernel>> mKernels;  // per step; null where it is open
    WorkspacePlan mWorkspace;
    std::vector<TensorType> mOutputTypes;
};

Status StepsPartition::inferTypes(std::span<const TensorType* const> inputs,
                                  const Checkpoint& checkpoint) {
    if (inputs.size() != mLayout.inputs.size()) {
        return internalError("a partition was given " + std::to_string(inputs.size()) +
                             " input types, but has " + std::to_string(mLayout.inputs.size()) +
                             " inputs");
    }
    mTypes.reserve(mLayout.tensors.size());
    for (LocalId local = 0; local < mLayout.tensors.size(); ++local) {
        mTypes.push_back(mLayout.graphType(local));
    }
    mPresent.resize(mTypes.size(), true);
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i] != nullptr) {
            mTypes[mLayout.inputs[i]] = *inputs[i];
        } else {
            mPresent[mLayout.inputs[i]] = false;
        }
    }
    std::vector<KnownInput> views;
    std::vector<TensorType> outputs;
    for (size_t step = 0; step < mLayout.steps.size(); ++step) {
        if (step % kStepsPerCheck == 0) {
            HALYARD_RETURN_IF_ERROR(checkpoint.check("while shapes were inferred"));
        }
        for (const LocalNode& node : mLayout.steps[step].nodes) {
            views.clear();
            for (const LocalId local : node.inputs) {
                views.push_back(known(local));
            }
            outputs.clear();
            for (const LocalId local : node.outputs) {
                outputs.push_back(mTypes[local]);
            }
            HALYARD_RETURN_IF_ERROR(inferShapes(*node.node, views, outputs));
            for (size_t i = 0; i < outputs.size(); ++i) {
                mTypes[node.outputs[i]].shape = outputs[i].shape;
            }
        }
        mOpen.push_back(isOpen(mLayout.steps[step]));
        mAnyOpen = mAnyOpen || mOpen.back();
    }
    for (const LocalId local : mLayout.outputs) {
        mOutputTypes.push_back(mTypes[local]);
    }
    return {};
}

bool StepsPartition::isOpen(const LocalStep& step) const {
    const auto unknown = [&](LocalId local) {
        return isPresent(local) && !mTypes[local].shape.isFullyKnown();
    };
    return std::ranges::any_of(step.inputs, unknown) || std::ranges::any_of(step.inside, unknown) ||
           std::ranges::any_of(step.outputs, unknown);
}

Status StepsPartition::specializeKernels(const Checkpoint& checkpoint) {
    std::vector<const TensorType*> inputs;
    std::vector<const TensorType*> outputs;
    std::vector<const TensorType*> inside;
    mKernels.resize(mLayout.steps.size());
    for (size_t step = 0; step < mLayout.steps.size(); ++step) {
        if (step % kStepsPerCheck == 0) {
            HALYARD_RETURN_IF_ERROR(checkpoint.check("while kernels were made ready"));
        }
        if (mOpen[step]) {
            continue;
        }
        const LocalStep& nodes = mLayout.steps[step];
        inputs.clear();
        for (const LocalId local : nodes.inputs) {
            inputs.push_back(isPresent(local) ? &mTypes[local] : nullptr);
        }
        outputs.clear();
        for (const LocalId local : nodes.outputs) {
            outputs.push_back(&mTypes[local]);
        }
        inside.clear();
        for (const LocalId local : nodes.inside) {
            inside.push_back(&mTypes[local]);
        }
        Result<std::shared_ptr<const ShapedKernel>> kernel = mSteps->kernels[step]->specialize(
                {.inputs = inputs, .outputs = outputs, .inside = inside});
        if (!kernel.ok()) {
            return failureOf(*nodes.nodes.front().node, kernel.status());
        }
        mKernels[step] = *std::move(kernel);
    }
    return {};
}

Status StepsPartition::planMemory() {
    std::vector<KernelBytes> kernelBytes;
    std::vector<std::optional<size_t>> replaceable;
    for (const std::shared_ptr<const ShapedKernel>& kernel : mKernels) {
        kernelBytes.push_back(kernel == nullptr ? KernelBytes()
                                                : KernelBytes{.workspace = kernel->workspaceBytes(),
                                                              .ofThread = kernel->threadBytes()});
        replaceable.push_back(kernel == nullptr ? std::nullopt : kernel->replaceableInput());
    }
    HALYARD_ASSIGN_OR_RETURN(mWorkspace, planWorkspace(mLayout, mTypes, mOpen, kernelBytes,
                                                       mSteps->threads, replaceable));
    return {};
}

// One run: where each tensor lies, and the types that only this run knows.
class StepsPartition::Run {
  public:
    Run(const StepsPartition& partition, const RunArguments& arguments, StepsState& state)
        : mPartition(partition), mLayout(partition.mLayout), mArguments(arguments), mState(state) {
        if (partition.mAnyOpen) {
            mState.types = partition.mTypes;
            mState.data.assign(partition.mTypes.size(), nullptr);
            mState.found.resize(partition.mTypes.size());
        }
    }

    Status run(size_t step) {
        const LocalStep& nodes = mLayout.steps[step];
        mState.inputs.clear();
        for (const LocalId local : nodes.inputs) {
            mState.inputs.push_back(viewOf(local));
        }
        Allocator allocator(*this, nodes.nodes.back());
        if (mPartition.mOpen[step]) {
            HALYARD_RETURN_IF_ERROR(close(nodes, allocator));
        }
        mState.outputs.clear();
        for (const LocalId local : nodes.outputs) {
            mState.outputs.push_back({.type = &typeOf(local), .data = writableDataOf(local)});
        }
        KernelCall call({.inputs = mState.inputs,
                         .outputs = mState.outputs,
                         .allocator = mPartition.mOpen[step] ? &allocator : nullptr,
                         .scratch = &mState.scratch,
                         .threads = mArguments.threads,
                         .checkpoint = mArguments.checkpoint,
                         .memory = mArguments.memory,
                         .constants = mArguments.constants});
        const Status status = compute(step, call);
        mState.scratch.clear();
        if (status.ok() && mPartition.mOpen[step]) {
            return checkFound(nodes.nodes.back());
        }
        return status.withContext(nodes.nodes.front().node->label);
    }

    uint64_t bytesMoved() const {
        uint64_t bytes = 0;
        const auto add = [&](const TensorType* type) {
            const Result<size_t> size = type->byteSize();
            bytes += size.ok() ? *size : 0;
        };
        for (const ConstTensorView& input : mState.inputs) {
            if (input.present()) {
                add(input.type);
            }
        }
        for (const TensorView& output : mState.outputs) {
            add(output.type);
        }
        return bytes;
    }

  private:
    Status compute(size_t step, KernelCall& call) {
        const ShapedKernel* kernel = mPartition.mKernels[step].get();
        if (kernel != nullptr) {
            const WorkspacePlan::KernelPlace& place = mPartition.mWorkspace.kernels[step];
            std::byte* const workspace = mArguments.workspace.data();
            call.setMemory({.workspace = workspace + place.workspace,
                            .threads = workspace + place.threads,
                            .stride = mPartition.mWorkspace.threadStride});
            return kernel->run(call);
        }
        std::vector<const TensorType*>& types = mState.stepTypes;
        types.clear();
        for (const ConstTensorView& input : mState.inputs) {
            types.push_back(input.type);
        }
        for (const TensorView& output : mState.outputs) {
            types.push_back(output.type);
        }
        for (const LocalId local : mLayout.steps[step].inside) {
            types.push_back(&typeOf(local));
        }
        const std::span<const TensorType* const> all = types;
        const size_t inputs = mState.inputs.size();
        const size_t outputs = mState.outputs.size();
        HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<const ShapedKernel> made,
                                 mPartition.mSteps->kernels[step]->specialize(
                                         {.inputs = all.first(inputs),
                                          .outputs = all.subspan(inputs, outputs),
                                          .inside = all.subspan(inputs + outputs)}));
        HALYARD_RETURN_IF_ERROR(takeMemory(*made, call));
        return made->run(call);
    }

    // Memory for a kernel that no plan knows.
    Status takeMemory(const ShapedKernel& kernel, KernelCall& call) const {
        KernelMemory memory;
        if (kernel.workspaceBytes() > 0) {
            HALYARD_ASSIGN_OR_RETURN(const std::span<std::byte> workspace,
                                     call.scratch<std::byte>(kernel.workspaceBytes()));
            memory.workspace = workspace.data();
        }
        if (kernel.threadBytes() > 0) {
            HALYARD_ASSIGN_OR_RETURN(
                    const ThreadRegion region,
                    ThreadRegion::of(kernel.threadBytes(), mPartition.mSteps->threads));
            HALYARD_ASSIGN_OR_RETURN(const std::span<std::byte> threads,
                                     call.scratch<std::byte>(region.bytes));
            memory.threads = threads.data();
            memory.stride = region.stride;
        }
        call.setMemory(memory);
        return {};
    }

    // For the outputs of one node.
    class Allocator : public OutputAllocator {
      public:
        Allocator(Run& run, const LocalNode& node) : mRun(run), mNode(node) {}
        Result<TensorView> allocate(size_t output, const Shape& shape) override {
            const LocalId local = mNode.outputs[output];
            HALYARD_RETURN_IF_ERROR(mRun.found(local, shape));
            return TensorView{.type = &mRun.typeOf(local), .data = mRun.writableDataOf(local)};
        }

      private:
        Run& mRun;
        const LocalNode& mNode;
    };

    const TensorType& typeOf(LocalId local) const {
        return mPartition.mAnyOpen ? mState.types[local] : mPartition.mTypes[local];
    }

    // Null while only the run can tell the size, and has not.
    void* writableDataOf(LocalId local) const {
        if (mPartition.mAnyOpen && mState.data[local] != nullptr) {
            return mState.data[local];
        }
        if (!mPartition.mTypes[local].shape.isFullyKnown()) {
            return nullptr;
        }
        const LocalTensor& tensor = mLayout.tensors[local];
        return tensor.role == LocalTensor::Role::OUTPUT
                       ? mArguments.outputs[tensor.position].data
                       : mArguments.workspace.data() + mPartition.mWorkspace.tensors[local];
    }

    ConstTensorView viewOf(LocalId local) const {
        if (!mPartition.isPresent(local)) {
            return {};
        }
        const LocalTensor& tensor = mLayout.tensors[local];
        ConstTensorView view{.type = &typeOf(local)};
        switch (tensor.role) {
            case LocalTensor::Role::CONSTANT:
                view.data = mLayout.graph->tensor(tensor.id).constant.bytes.data();
                break;
            case LocalTensor::Role::INPUT:
                view.data = mArguments.inputs[tensor.position].data;
                break;
            case LocalTensor::Role::OUTPUT:
            case LocalTensor::Role::INTERNAL:
                view.data = writableDataOf(local);
                break;
            case LocalTensor::Role::INSIDE:
                break;
        }
        return view;
    }

    // Infers the shapes of an open step, now that its inputs are there, and gives its outputs
    // memory where that tells their shapes.
    Status close(const LocalStep& step, OutputAllocator& allocator) {
        for (const LocalNode& node : step.nodes) {
            mState.known.clear();
            for (const LocalId local : node.inputs) {
                mState.known.push_back(viewOf(local));
            }
            mState.inferred.clear();
            for (const LocalId local : node.outputs) {
                mState.inferred.push_back(mState.types[local]);
            }
            HALYARD_RETURN_IF_ERROR(inferShapes(*node.node, mState.known, mState.inferred));
            if (&node != &step.nodes.back()) {
                for (size_t i = 0; i < node.outputs.size(); ++i) {
                    mState.types[node.outputs[i]].shape = mState.inferred[i].shape;
                }
            }
        }
        const LocalNode& last = step.nodes.back();
        for (size_t i = 0; i < last.outputs.size(); ++i) {
            if (mState.inferred[i].shape.isFullyKnown()) {
                HALYARD_RETURN_IF_ERROR(allocator.allocate(i, mState.inferred[i].shape)
                                                .status()
                                                .withContext(last.node->label));
            }
        }
        return {};
    }

    // Takes down the shape of a tensor and gives it memory, where it has none.
    Status found(LocalId local, const Shape& shape) {
        if (!shape.isFullyKnown()) {
            return internalError("a kernel asks for an output of shape " + shape.toString());
        }
        TensorType& type = mState.types[local];
        const bool placed = writableDataOf(local) != nullptr;
        HALYARD_ASSIGN_OR_RETURN(type.shape, mergeShapes(type.shape, shape));
        if (placed) {
            return {};
        }
        const LocalTensor& tensor = mLayout.tensors[local];
        if (tensor.role == LocalTensor::Role::OUTPUT) {
            if (mArguments.allocator == nullptr) {
                return internalError("nothing allocates outputs whose shape depends on data");
            }
            HALYARD_ASSIGN_OR_RETURN(const TensorView view,
                                     mArguments.allocator->allocate(tensor.position, type.shape));
            mState.data[local] = view.data;
            return {};
        }
        HALYARD_ASSIGN_OR_RETURN(const size_t bytes, type.byteSize());
        Result<std::byte*> data = mState.found[local].get(
                std::max<size_t>(bytes, 1), kTensorAlignment, mArguments.memory, "no room");
        if (!data.ok()) {
            return data.status().withContext("its output " + type.toString());
        }
        mState.data[local] = *data;
        return {};
    }

    Status checkFound(const LocalNode& node) const {
        for (const LocalId local : node.outputs) {
            if (writableDataOf(local) == nullptr) {
                return internalError(node.node->label + ": its kernel computed no output of type " +
                                     typeOf(local).toString());
            }
        }
        return {};
    }

    const StepsPartition& mPartition;
    const PartitionLayout& mLayout;
    const RunArguments& mArguments;
    StepsState& mState;
};

Status StepsPartition::run(const RunArguments& arguments) const {
    if (arguments.inputs.size() != mLayout.inputs.size() ||
        arguments.outputs.size() != mLayout.outputs.size() ||
        arguments.workspace.size() < mWorkspace.bytes || arguments.state == nullptr) {
        return internalError("a partition was run with the wrong number of tensors or bytes");
    }
    Run run(*this, arguments, static_cast<StepsState&>(*arguments.state));
    for (size_t step = 0; step < mLayout.steps.size(); ++step) {
        const Node& node = *mLayout.steps[step].nodes.front().node;
        if (arguments.checkpoint.expired()) {
            return arguments.checkpoint.check("before " + node.label);
        }
        const bool inPlace = mWorkspace.inPlace[step];
        if (arguments.trace == nullptr) {
            HALYARD_RETURN_IF_ERROR(inPlace ? Status() : run.run(step));
            continue;
        }
        const std::string_view kernel = inPlace ? "in place" : mSteps->kernels[step]->name();
        std::span<const Node* const> fused;
        if (!inPlace) {
            fused = mLayout.steps[step].others;
        }
        TracedWork traced(
                arguments.trace,
                {.name = kernel, .track = arguments.track, .node = &node, .fused = fused});
        HALYARD_RETURN_IF_ERROR(inPlace ? Status() : run.run(step));
        traced.end([&] { return inPlace ? 0 : run.bytesMoved(); });
    }
    return {};
}

}  // namespace

Result<std::unique_ptr<const SpecializedPartition>> specializeSteps(
        std::shared_ptr<const CompiledSteps> steps, std::span<const TensorType* const> inputs,
        const Checkpoint& checkpoint) {
    auto partition = std::make_unique<StepsPartition>(std::move(steps));
    HALYARD_RETURN_IF_ERROR(partition->create(inputs, checkpoint));
    return std::unique_ptr<const SpecializedPartition>(std::move(partition));
}

std::unique_ptr<PartitionState> makeStepsState(const CompiledSteps& steps) {
    auto state = std::make_unique<StepsState>();
    state->inputs.reserve(steps.layout.mostInputs);
    state->outputs.reserve(steps.layout.mostOutputs);
    return state;
}

}  // namespace halyard::engine
