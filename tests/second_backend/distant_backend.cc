// SPDX-License-Identifier: Apache-2.0

#include "tests/second_backend/distant_backend.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/ref/cpu_ref.h"
#include "engine/plan/node_by_node.h"
#include "engine/reference/kernels.h"

namespace halyard::engine {
namespace {

Status broken(const std::string& what) {
    return internalError("the planner broke the contract: " + what);
}

struct DistantState : PartitionState {
    std::unique_ptr<PartitionState> inner;
    ChargedBuffer queue;
    std::atomic<bool> inUse = false;
    // Of the run at hand.
    std::vector<ConstTensorView> inputs;
    std::vector<TensorView> outputs;
    std::vector<OpenBuffer> open;
};

// Tells what the kernels took as the device's time, of the nodes of the program.
class OnDevice : public TraceSink {
  public:
    OnDevice(TraceSink& sink, const Graph& own, const Graph& whole)
        : mSink(sink), mOwn(own), mWhole(whole) {}
    void begin(const Trace& work) override { mSink.begin(translated(work)); }
    void record(const Trace& work) override { mSink.record(translated(work)); }

  private:
    Trace translated(const Trace& work) const {
        Trace told = work;
        told.deviceTime = work.time;
        if (work.node != nullptr) {
            told.node = &mWhole.node(static_cast<NodeId>(work.node - &mOwn.node(0)));
        }
        return told;
    }

    TraceSink& mSink;
    const Graph& mOwn;
    const Graph& mWhole;
};

// Opens what a run touches, and finds where it lies.
class Access {
  public:
    explicit Access(DistantState& state) : mState(state) { mState.open.clear(); }
    ~Access() { mState.open.clear(); }
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;

    std::byte* open(const DeviceBuffer* buffer, size_t offset) {
        auto& distant = static_cast<DistantBuffer&>(*const_cast<DeviceBuffer*>(buffer));
        mState.open.emplace_back(distant);
        return distant.base() + offset;
    }
    Result<ConstTensorView> input(const ConstTensorView& view, bool steers) {
        if (!view.present()) {
            return view;
        }
        if (steers != (view.device == nullptr)) {
            return broken(steers ? "an input that steers lies on the device"
                                 : "an input lies on the host");
        }
        return steers ? view
                      : ConstTensorView{.type = view.type, .data = open(view.device, view.offset)};
    }
    Result<TensorView> output(const TensorView& view) {
        if (view.device == nullptr) {
            return broken("an output lies on the host, or nowhere");
        }
        return TensorView{.type = view.type, .data = open(view.device, view.offset)};
    }

  private:
    DistantState& mState;
};

class DistantAllocator : public OutputAllocator {
  public:
    DistantAllocator(OutputAllocator& planner, Access& access)
        : mPlanner(planner), mAccess(access) {}

    Result<TensorView> allocate(size_t output, const Shape& shape) override {
        HALYARD_ASSIGN_OR_RETURN(const TensorView view, mPlanner.allocate(output, shape));
        return mAccess.output(view);
    }

  private:
    OutputAllocator& mPlanner;
    Access& mAccess;
};

// State that the partitions' stages share.
struct DistantParts {
    std::shared_ptr<const Graph> whole;
    std::shared_ptr<Graph>
            graph;             // the partition's own, whose constants lie on the device in the end
    std::vector<bool> steers;  // per input of the partition
    ChargedBuffer constants;
};

class DistantShaped : public SpecializedPartition {
  public:
    DistantShaped(const DistantBackend& backend, std::shared_ptr<const DistantParts> parts,
                  std::unique_ptr<const SpecializedPartition> inner)
        : mBackend(backend), mParts(std::move(parts)), mInner(std::move(inner)) {}

    std::span<const TensorType> outputTypes() const override { return mInner->outputTypes(); }
    size_t workspaceBytes() const override { return 0; }
    size_t deviceWorkspaceBytes() const override { return mInner->workspaceBytes(); }

    Status run(const RunArguments& arguments) const override {
        auto* const state = static_cast<DistantState*>(arguments.state);
        if (state == nullptr || state->inUse.exchange(true)) {
            return broken("there is no state, or one that is in use");
        }
        if (mBackend.failing == FailingStage::DEATH) {
            abort();
        }
        const Status status =
                mBackend.failing == FailingStage::RUN ? toldToFail() : runThere(arguments, *state);
        state->inUse = false;
        return status;
    }

  private:
    Status runThere(const RunArguments& arguments, DistantState& state) const {
        Access access(state);
        RunArguments there = arguments;
        state.inputs.clear();
        for (size_t i = 0; i < arguments.inputs.size(); ++i) {
            HALYARD_ASSIGN_OR_RETURN(const ConstTensorView input,
                                     access.input(arguments.inputs[i], mParts->steers[i]));
            state.inputs.push_back(input);
        }
        state.outputs.clear();
        for (size_t i = 0; i < arguments.outputs.size(); ++i) {
            TensorView view = arguments.outputs[i];
            if (mInner->outputTypes()[i].shape.isFullyKnown()) {
                HALYARD_ASSIGN_OR_RETURN(view, access.output(view));
            }
            state.outputs.push_back(view);
        }
        if (mInner->workspaceBytes() > 0) {
            const DevicePlace& place = arguments.deviceWorkspace;
            if (place.buffer == nullptr || place.offset % DistantMemory::kAlignment != 0) {
                return broken("there is no workspace, or one that is not aligned");
            }
            there.workspace = {access.open(place.buffer, place.offset), mInner->workspaceBytes()};
        }
        if (mParts->constants.get() != nullptr) {
            access.open(mParts->constants.get(), 0);
        }
        there.inputs = state.inputs;
        there.outputs = state.outputs;
        there.state = state.inner.get();
        std::optional<DistantAllocator> allocator;
        if (arguments.allocator != nullptr) {
            there.allocator = &allocator.emplace(*arguments.allocator, access);
        }
        std::optional<OnDevice> traces;
        if (arguments.trace != nullptr) {
            there.trace = &traces.emplace(*arguments.trace, *mParts->graph, *mParts->whole);
        }
        return mInner->run(there);
    }

    const DistantBackend& mBackend;
    const std::shared_ptr<const DistantParts> mParts;
    const std::unique_ptr<const SpecializedPartition> mInner;
};

// A constant as it is.
struct MovedConstant {
    ConstantSource<std::byte> source;
    uint64_t size = 0;
    bool fails = false;

    static constexpr std::string_view kName = "moved";
    HALYARD_FIELDS(source, size, fails)

    Result<size_t> bytes() const { return static_cast<size_t>(size); }
    Status fill(std::span<std::byte> to, const Checkpoint& checkpoint) const {
        return fails ? toldToFail()
                     : copyInChunks(to.data(), source.data, to.size(), checkpoint,
                                    "while a constant was moved");
    }
};

class DistantPartition : public CompiledPartition {
  public:
    DistantPartition(const DistantBackend& backend, std::shared_ptr<DistantParts> parts)
        : mBackend(backend), mParts(std::move(parts)) {}

    Status compile(const CompileArguments& arguments) {
        std::map<TensorId, bool> steers;  // of what the nodes read
        for (const NodeId id : arguments.partition.nodes) {
            const Node& node = arguments.graph->node(id);
            const NodeSignature signature = signatureOf(node.descriptor);
            mKernels.insert(toString(node.kind()));
            for (size_t i = 0; i < node.inputs.size(); ++i) {
                if (node.inputs[i] != kNoTensor) {
                    steers[node.inputs[i]] = steers[node.inputs[i]] || signature.isControlInput(i);
                }
            }
        }
        for (const TensorId input : arguments.partition.inputs) {
            mParts->steers.push_back(steers[input]);
        }
        for (const NodeId id : arguments.partition.nodes) {
            for (const TensorId input : arguments.graph->node(id).inputs) {
                if (input != kNoTensor && arguments.graph->tensor(input).isConstant() &&
                    !steers[input]) {
                    mPacked.push_back(input);
                    HALYARD_RETURN_IF_ERROR(pack(input, arguments.constants));
                }
            }
        }
        CompileArguments own = arguments;
        own.graph = mParts->graph;
        HALYARD_ASSIGN_OR_RETURN(mInner, compileNodeByNode(own, ref::findKernel));
        return {};
    }

    Status finish(const PartitionResources& resources) override {
        if (mBackend.failing == FailingStage::FINISH) {
            return toldToFail();
        }
        for (const std::string_view kernel : mKernels) {
            HALYARD_RETURN_IF_ERROR(bring(kernel, resources.blobs));
        }
        size_t bytes = 0;
        for (const auto& [id, place] : mPlaces) {
            bytes += aligned(place.bytes);
        }
        if (bytes > 0) {
            HALYARD_ASSIGN_OR_RETURN(
                    mParts->constants,
                    ChargedBuffer::allocate(*mBackend.memory(), bytes, resources.deviceMemory));
        }
        auto* const buffer = static_cast<DistantBuffer*>(mParts->constants.get());
        size_t offset = 0;
        for (const auto& [id, place] : mPlaces) {
            const std::span<const std::byte> packed = place.in(resources.constants);
            HALYARD_RETURN_IF_ERROR(mBackend.memory()->copyIn({.buffer = buffer, .offset = offset},
                                                              packed, resources.checkpoint));
            // The parts hold the block.
            const std::shared_ptr<const void> owner(mParts->graph.get(), [](const void*) {});
            mParts->graph->replaceConstant(
                    id, {.owner = owner,
                         .bytes = {reinterpret_cast<const uint8_t*>(buffer->base() + offset),
                                   packed.size()}});
            offset += aligned(place.bytes);
        }
        return mInner->finish(resources);
    }

    Result<std::unique_ptr<const SpecializedPartition>> specialize(
            std::span<const TensorType* const> inputs,
            const Checkpoint& checkpoint) const override {
        if (mBackend.failing == FailingStage::SPECIALIZE) {
            return toldToFail();
        }
        HALYARD_ASSIGN_OR_RETURN(auto inner, mInner->specialize(inputs, checkpoint));
        return std::unique_ptr<const SpecializedPartition>(
                std::make_unique<DistantShaped>(mBackend, mParts, std::move(inner)));
    }

    Result<std::unique_ptr<PartitionState>> makeState(
            const PartitionResources& resources) const override {
        if (mBackend.failing == FailingStage::MAKE_STATE) {
            return toldToFail();
        }
        auto state = std::make_unique<DistantState>();
        HALYARD_ASSIGN_OR_RETURN(state->queue, ChargedBuffer::allocate(*mBackend.memory(),
                                                                       DistantBackend::kStateBytes,
                                                                       resources.deviceMemory));
        HALYARD_ASSIGN_OR_RETURN(state->inner, mInner->makeState(resources));
        return std::unique_ptr<PartitionState>(std::move(state));
    }

    std::span<const TensorId> packed() const override { return mPacked; }
    std::string_view kernelOf(size_t node) const override { return mInner->kernelOf(node); }

  private:
    static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

    // From the blobs where it is what would be built.
    Status bring(std::string_view kernel, const Blobs& blobs) const {
        const std::string name = "kernel/" + std::string(kernel);
        const std::span binary(reinterpret_cast<const uint8_t*>(kernel.data()), kernel.size());
        const std::optional<Blob> found = blobs.get(name);
        if (found.has_value() && std::ranges::equal(found->bytes, binary)) {
            ++mBackend.kernelsFound;
            return {};
        }
        ++mBackend.kernelsBuilt;
        return blobs.put(name, binary);
    }

    // Into the store, from where finish() takes it to the device.
    Status pack(TensorId id, ConstantStore& store) {
        if (mPlaces.contains(id)) {
            return {};
        }
        const Tensor& constant = mParts->graph->tensor(id);
        HALYARD_ASSIGN_OR_RETURN(const size_t size, constant.type.byteSize());
        HALYARD_ASSIGN_OR_RETURN(
                mPlaces[id],
                store.add(MovedConstant{.source = ConstantSource<std::byte>::of(constant),
                                        .size = size,
                                        .fails = mBackend.failing == FailingStage::PACK}));
        return {};
    }

    const DistantBackend& mBackend;
    const std::shared_ptr<DistantParts> mParts;
    std::unique_ptr<CompiledPartition> mInner;
    std::set<std::string_view> mKernels;
    std::vector<TensorId> mPacked;
    std::map<TensorId, PackedConstant> mPlaces;
};

// Whether all that tells its output shapes is there before it runs.
bool isForeseen(const Graph& graph, const Node& node) {
    const NodeSignature signature = signatureOf(node.descriptor);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (signature.isControlInput(i) && node.inputs[i] != kNoTensor &&
            !graph.tensor(node.inputs[i]).isConstant()) {
            return false;
        }
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
        const OutputSpec* const spec = signature.output(i);
        if (spec != nullptr && (spec->traits & kFoundByRunning) != 0) {
            return false;
        }
    }
    return true;
}

}  // namespace

DistantBackend::~DistantBackend() {
    if (failing == FailingStage::CLOSE && mHasCompiled) {
        abort();
    }
}

Status DistantBackend::supports(const Graph& graph, NodeId node) const {
    if (mTakes == Takes::EVERY_SECOND && node % 2 != 0) {
        return unsupported("takes every second node only");
    }
    if (mTakes == Takes::FORESEEN && !isForeseen(graph, graph.node(node))) {
        return unsupported("takes nodes of foreseen shapes only");
    }
    if (ref::findKernel(graph.node(node)).run == nullptr) {
        return unsupported("borrows its kernels, and there is none");
    }
    return {};
}

Result<std::unique_ptr<CompiledPartition>> DistantBackend::compile(
        const CompileArguments& arguments) const {
    mHasCompiled = true;
    if (failing == FailingStage::COMPILE) {
        return toldToFail();
    }
    auto parts = std::make_shared<DistantParts>();
    parts->whole = arguments.graph;
    parts->graph = std::make_shared<Graph>(*arguments.graph);
    auto partition = std::make_unique<DistantPartition>(*this, std::move(parts));
    HALYARD_RETURN_IF_ERROR(partition->compile(arguments));
    return std::unique_ptr<CompiledPartition>(std::move(partition));
}

}  // namespace halyard::engine
