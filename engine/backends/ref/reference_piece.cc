// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/ref/reference_piece.h"

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "engine/backends/ref/evaluate.h"
#include "engine/backends/ref/progress.h"
#include "engine/backends/ref/widening.h"
#include "engine/base/aligned_buffer.h"
#include "engine/graph/shape_inference.h"
#include "engine/plan/arena.h"

namespace halyard::engine::ref {
namespace {

Status evaluate(const Node& node, std::span<const ConstTensorView> inputs,
                std::span<const TensorView> outputs, Progress& progress) {
    return std::visit(
                   [&]<typename Descriptor>(const Descriptor& descriptor) -> Status {
                       if constexpr (std::is_same_v<Descriptor, std::monostate>) {
                           return internalError("the node has no kind");
                       } else {
                           return ref::run(descriptor, inputs, outputs, progress);
                       }
                   },
                   node.descriptor)
            .withContext(node.label);
}

}  // namespace

Result<std::unique_ptr<const ShapedPiece>> ReferencePiece::create(
        std::shared_ptr<const PieceLayout> layout, std::span<const TensorType> inputs) {
    std::unique_ptr<ReferencePiece> piece(new ReferencePiece(std::move(layout)));
    HALYARD_RETURN_IF_ERROR(piece->inferTypes(inputs));
    piece->chooseWidened();
    HALYARD_RETURN_IF_ERROR(piece->planWorkspace());
    return std::unique_ptr<const ShapedPiece>(std::move(piece));
}

Status ReferencePiece::inferTypes(std::span<const TensorType> inputs) {
    if (inputs.size() != mLayout->inputs.size()) {
        return internalError("a piece was given " + std::to_string(inputs.size()) +
                             " input types, but has " + std::to_string(mLayout->inputs.size()) +
                             " inputs");
    }
    mTypes.reserve(mLayout->tensors.size());
    for (LocalId local = 0; local < mLayout->tensors.size(); ++local) {
        mTypes.push_back(mLayout->graphType(local));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
        mTypes[mLayout->inputs[i]] = inputs[i];
    }
    for (const LocalNode& node : mLayout->nodes) {
        std::vector<KnownInput> known;
        known.reserve(node.inputs.size());
        for (const LocalId local : node.inputs) {
            known.push_back(
                    local == kNoLocal
                            ? KnownInput()
                            : KnownInput{.type = &mTypes[local],
                                         .data = mLayout->graph->tensor(mLayout->tensors[local].id)
                                                         .constant.bytes.data()});
        }
        std::vector<TensorType> outputs;
        outputs.reserve(node.outputs.size());
        for (const LocalId local : node.outputs) {
            outputs.push_back(mTypes[local]);
        }
        HALYARD_RETURN_IF_ERROR(inferShapes(*node.node, known, outputs));
        for (size_t i = 0; i < outputs.size(); ++i) {
            mTypes[node.outputs[i]].shape = outputs[i].shape;
        }
        mOpen.push_back(isOpen(node));
        mAnyOpen = mAnyOpen || mOpen.back();
    }
    for (const LocalId local : mLayout->outputs) {
        mOutputTypes.push_back(mTypes[local]);
    }
    return {};
}

bool ReferencePiece::isOpen(const LocalNode& node) const {
    const auto unknown = [&](LocalId local) {
        return local != kNoLocal && !mTypes[local].shape.isFullyKnown();
    };
    return std::ranges::any_of(node.inputs, unknown) || std::ranges::any_of(node.outputs, unknown);
}

// Those of open nodes stay as they are: their sizes are not known yet.
void ReferencePiece::chooseWidened() {
    for (size_t step = 0; step < mLayout->nodes.size(); ++step) {
        const LocalNode& node = mLayout->nodes[step];
        if (mOpen[step] || !isWorthWidening(*node.node, mTypes[node.outputs[0]])) {
            continue;
        }
        for (size_t input = 0; input < node.inputs.size(); ++input) {
            const LocalId local = node.inputs[input];
            if (local != kNoLocal && mTypes[local].type == DataType::FLOAT16) {
                mWidened.push_back({.step = step,
                                    .input = input,
                                    .type = {.type = DataType::FLOAT32,
                                             .shape = mTypes[local].shape,
                                             .quantization = {}}});
            }
        }
    }
}

// The views that are handed to a node come first, then the tensors that live and die inside, then
// the widened inputs.
Status ReferencePiece::planWorkspace() {
    const size_t views = mLayout->mostInputs * sizeof(ConstTensorView) +
                         mLayout->mostOutputs * sizeof(TensorView);
    std::vector<ArenaBlock> blocks = {
            {.bytes = views, .firstStep = 0, .lastStep = mLayout->nodes.size()}};
    std::vector<LocalId> locals;
    for (LocalId local = 0; local < mTypes.size(); ++local) {
        const LocalTensor& tensor = mLayout->tensors[local];
        if (tensor.role == LocalTensor::Role::INTERNAL && mTypes[local].shape.isFullyKnown()) {
            HALYARD_ASSIGN_OR_RETURN(const size_t bytes, mTypes[local].byteSize());
            blocks.push_back(
                    {.bytes = bytes, .firstStep = tensor.firstStep, .lastStep = tensor.lastStep});
            locals.push_back(local);
        }
    }
    for (const WidenedInput& widened : mWidened) {
        HALYARD_ASSIGN_OR_RETURN(const size_t bytes, widened.type.byteSize());
        blocks.push_back({.bytes = bytes, .firstStep = widened.step, .lastStep = widened.step});
    }
    HALYARD_ASSIGN_OR_RETURN(const ArenaPlan plan, planArena(blocks));
    mViewsOffset = plan.offsets[0];
    mOffsets.resize(mTypes.size(), 0);
    for (size_t i = 0; i < locals.size(); ++i) {
        mOffsets[locals[i]] = plan.offsets[1 + i];
    }
    for (size_t i = 0; i < mWidened.size(); ++i) {
        mWidened[i].offset = plan.offsets[1 + locals.size() + i];
    }
    mWorkspaceBytes = plan.bytes;
    return {};
}

// One run: where each tensor lies, and the types that only this run knows.
class ReferencePiece::Run {
  public:
    Run(const ReferencePiece& piece, const RunArguments& arguments)
        : mPiece(piece),
          mLayout(*piece.mLayout),
          mArguments(arguments),
          mProgress(arguments.expired) {
        std::byte* views = arguments.workspace.data() + piece.mViewsOffset;
        mInputs = {reinterpret_cast<ConstTensorView*>(views), mLayout.mostInputs};
        views += mInputs.size_bytes();
        mOutputs = {reinterpret_cast<TensorView*>(views), mLayout.mostOutputs};
        std::uninitialized_value_construct(mInputs.begin(), mInputs.end());
        std::uninitialized_value_construct(mOutputs.begin(), mOutputs.end());
        if (piece.mAnyOpen) {
            mOwnTypes = piece.mTypes;
            mOwnData.resize(piece.mTypes.size(), nullptr);
        }
    }

    Status run(size_t step) {
        const LocalNode& node = mLayout.nodes[step];
        const std::span<ConstTensorView> inputs = mInputs.first(node.inputs.size());
        for (size_t i = 0; i < inputs.size(); ++i) {
            inputs[i] = node.inputs[i] == kNoLocal ? ConstTensorView() : viewOf(node.inputs[i]);
        }
        if (mPiece.mOpen[step]) {
            HALYARD_RETURN_IF_ERROR(close(node, inputs));
        }
        const std::span<TensorView> outputs = mOutputs.first(node.outputs.size());
        for (size_t i = 0; i < outputs.size(); ++i) {
            const LocalId local = node.outputs[i];
            outputs[i] = {.type = &typeOf(local), .data = writableDataOf(local)};
        }
        HALYARD_RETURN_IF_ERROR(widenInputs(step, inputs).withContext(node.node->label));
        return evaluate(*node.node, inputs, outputs, mProgress);
    }

  private:
    const TensorType& typeOf(LocalId local) const {
        return mOwnTypes.empty() ? mPiece.mTypes[local] : mOwnTypes[local];
    }

    void* writableDataOf(LocalId local) const {
        if (!mOwnData.empty() && mOwnData[local] != nullptr) {
            return mOwnData[local];
        }
        const LocalTensor& tensor = mLayout.tensors[local];
        return tensor.role == LocalTensor::Role::OUTPUT
                       ? mArguments.outputs[tensor.position].data
                       : mArguments.workspace.data() + mPiece.mOffsets[local];
    }

    ConstTensorView viewOf(LocalId local) const {
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
        }
        return view;
    }

    Status widenInputs(size_t step, std::span<ConstTensorView> inputs) {
        for (; mNextWidened < mPiece.mWidened.size(); ++mNextWidened) {
            const WidenedInput& widened = mPiece.mWidened[mNextWidened];
            if (widened.step != step) {
                break;
            }
            const TensorView wide = {.type = &widened.type,
                                     .data = mArguments.workspace.data() + widened.offset};
            HALYARD_RETURN_IF_ERROR(widen(inputs[widened.input], wide, mProgress));
            inputs[widened.input] = {.type = wide.type, .data = wide.data};
        }
        return {};
    }

    // Infers the shapes of an open node, now that its inputs are there, and gives its outputs
    // memory where they have none yet.
    Status close(const LocalNode& node, std::span<const ConstTensorView> inputs) {
        std::vector<TensorType> types;
        types.reserve(node.outputs.size());
        for (const LocalId local : node.outputs) {
            types.push_back(mOwnTypes[local]);
        }
        HALYARD_RETURN_IF_ERROR(inferShapes(*node.node, inputs, types));
        for (size_t i = 0; i < types.size(); ++i) {
            const LocalId local = node.outputs[i];
            Shape& shape = mOwnTypes[local].shape;
            const bool placed = shape.isFullyKnown();
            HALYARD_ASSIGN_OR_RETURN(shape, mergeShapes(shape, types[i].shape));
            if (!placed) {
                Result<void*> data = allocate(local);
                if (!data.ok()) {
                    return data.status().withContext(node.node->label);
                }
                mOwnData[local] = *data;
            }
        }
        return {};
    }

    Result<void*> allocate(LocalId local) {
        HALYARD_ASSIGN_OR_RETURN(const size_t bytes, mOwnTypes[local].byteSize());
        const LocalTensor& tensor = mLayout.tensors[local];
        if (tensor.role == LocalTensor::Role::OUTPUT) {
            if (!mArguments.allocateOutput) {
                return internalError("nothing allocates outputs whose shape depends on data");
            }
            HALYARD_ASSIGN_OR_RETURN(
                    const TensorView view,
                    mArguments.allocateOutput(tensor.position, mOwnTypes[local].shape));
            return view.data;
        }
        Result<AlignedBuffer> buffer = AlignedBuffer::allocate(std::max<size_t>(bytes, 1),
                                                               kTensorAlignment, mArguments.memory);
        if (!buffer.ok()) {
            return buffer.status().withContext("its output " + mOwnTypes[local].toString());
        }
        mHeap.push_back(std::move(buffer).value());
        return static_cast<void*>(mHeap.back().data());
    }

    const ReferencePiece& mPiece;
    const PieceLayout& mLayout;
    const RunArguments& mArguments;
    Progress mProgress;
    size_t mNextWidened = 0;
    std::span<ConstTensorView> mInputs;  // in the workspace, as are the next
    std::span<TensorView> mOutputs;
    // Only if some node is open, per local tensor.
    std::vector<TensorType> mOwnTypes;
    std::vector<void*> mOwnData;  // null where the plan or the caller gave a place
    std::vector<AlignedBuffer> mHeap;
};

Status ReferencePiece::run(const RunArguments& arguments) const {
    if (arguments.inputs.size() != mLayout->inputs.size() ||
        arguments.outputs.size() != mLayout->outputs.size() ||
        arguments.workspace.size() < mWorkspaceBytes) {
        return internalError("a piece was run with the wrong number of tensors or bytes");
    }
    Run run(*this, arguments);
    for (size_t step = 0; step < mLayout->nodes.size(); ++step) {
        if (arguments.expired()) {
            return Status(StatusCode::DEADLINE_EXCEEDED,
                          "the deadline passed before " + mLayout->nodes[step].node->label);
        }
        HALYARD_RETURN_IF_ERROR(run.run(step));
    }
    return {};
}

}  // namespace halyard::engine::ref
