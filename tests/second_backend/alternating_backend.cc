// SPDX-License-Identifier: Apache-2.0

#include "tests/second_backend/alternating_backend.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "engine/plan/stepwise_piece.h"
#include "engine/reference/kernels.h"

namespace halyard::engine {
namespace {

Status failure() {
    return {StatusCode::INTERNAL, "fails because it was told to"};
}

struct AlternatingState : PieceState {
    std::unique_ptr<PieceState> inner;
    std::atomic<bool> inUse = false;
};

class AlternatingShaped : public ShapedPiece {
  public:
    AlternatingShaped(std::unique_ptr<const ShapedPiece> inner, FailingStage failing)
        : mInner(std::move(inner)), mFailing(failing) {}

    std::span<const TensorType> outputTypes() const override { return mInner->outputTypes(); }
    size_t workspaceBytes() const override { return mInner->workspaceBytes(); }

    Status run(const RunArguments& arguments) const override {
        auto* const state = static_cast<AlternatingState*>(arguments.state);
        if (state == nullptr || state->inUse.exchange(true)) {
            return internalError("was given no state, or one that is in use");
        }
        RunArguments forwarded = arguments;
        forwarded.state = state->inner.get();
        if (mFailing == FailingStage::DEATH) {
            abort();
        }
        const Status status = mFailing == FailingStage::RUN ? failure() : mInner->run(forwarded);
        state->inUse = false;
        return status;
    }

  private:
    const std::unique_ptr<const ShapedPiece> mInner;
    const FailingStage mFailing;
};

class AlternatingPiece : public CompiledPiece {
  public:
    AlternatingPiece(std::unique_ptr<const CompiledPiece> inner, std::vector<TensorId> packed,
                     FailingStage failing)
        : mInner(std::move(inner)), mPacked(std::move(packed)), mFailing(failing) {}

    Result<std::unique_ptr<const ShapedPiece>> specialize(
            std::span<const TensorType* const> inputs,
            const Checkpoint& checkpoint) const override {
        if (mFailing == FailingStage::SPECIALIZE) {
            return failure();
        }
        HALYARD_ASSIGN_OR_RETURN(auto inner, mInner->specialize(inputs, checkpoint));
        return std::unique_ptr<const ShapedPiece>(
                std::make_unique<AlternatingShaped>(std::move(inner), mFailing));
    }

    Result<std::unique_ptr<PieceState>> makeState() const override {
        auto state = std::make_unique<AlternatingState>();
        HALYARD_ASSIGN_OR_RETURN(state->inner, mInner->makeState());
        return std::unique_ptr<PieceState>(std::move(state));
    }

    std::span<const TensorId> packed() const override { return mPacked; }

  private:
    const std::unique_ptr<const CompiledPiece> mInner;
    const std::vector<TensorId> mPacked;
    const FailingStage mFailing;
};

// Moves a constant into the store; `graph`, the piece's own, finds it there once it is filled.
Status pack(const std::shared_ptr<Graph>& graph, TensorId id, ConstantStore& store) {
    ConstantData original = graph->tensor(id).constant;
    const size_t size = original.bytes.size();
    graph->replaceConstant(id, {.owner = original.owner, .bytes = original.bytes});
    return store
            .add(size,
                 [graph, id, original = std::move(original)](
                         std::span<std::byte> bytes, const Checkpoint& checkpoint) -> Status {
                     HALYARD_RETURN_IF_ERROR(copyInChunks(bytes.data(), original.bytes.data(),
                                                          bytes.size(), checkpoint,
                                                          "while a constant was moved"));
                     // The program that holds the piece holds the store.
                     const std::shared_ptr<const void> owner(graph.get(), [](const void*) {});
                     graph->replaceConstant(
                             id, {.owner = owner,
                                  .bytes = {reinterpret_cast<const uint8_t*>(bytes.data()),
                                            bytes.size()}});
                     return Status();
                 })
            .status();
}

}  // namespace

AlternatingBackend::~AlternatingBackend() {
    if (mFailing == FailingStage::CLOSE && mHasCompiled) {
        abort();
    }
}

Status AlternatingBackend::supports(const Graph& graph, NodeId node) const {
    if (node % 2 != 0) {
        return unsupported("takes every second node only");
    }
    if (ref::findKernel(graph.node(node)).run == nullptr) {
        return unsupported("borrows its kernels, and there is none");
    }
    return {};
}

Result<std::unique_ptr<const CompiledPiece>> AlternatingBackend::compile(
        const CompileArguments& arguments) const {
    mHasCompiled = true;
    if (mFailing == FailingStage::COMPILE) {
        return failure();
    }
    const auto graph = std::make_shared<Graph>(*arguments.graph);
    std::vector<TensorId> packed;
    std::set<TensorId> placed;
    for (const NodeId id : arguments.piece.nodes) {
        for (const TensorId input : graph->node(id).inputs) {
            if (input == kNoTensor || !graph->tensor(input).isConstant()) {
                continue;
            }
            packed.push_back(input);
            if (placed.insert(input).second) {
                HALYARD_RETURN_IF_ERROR(pack(graph, input, arguments.constants));
            }
        }
    }
    CompileArguments own = arguments;
    own.graph = graph;
    HALYARD_ASSIGN_OR_RETURN(auto inner, compileStepwise(own, ref::findKernel));
    return std::unique_ptr<const CompiledPiece>(
            std::make_unique<AlternatingPiece>(std::move(inner), std::move(packed), mFailing));
}

}  // namespace halyard::engine
