// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/loaded/loaded_backend.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/backends/loaded/library.h"
#include "engine/backends/loaded/partition_graph.h"
#include "engine/base/aligned_buffer.h"
#include "engine/base/budget.h"
#include "engine/graph/serialization.h"
#include "engine/graph/verifier.h"

namespace halyard::engine {
namespace {

// A larger workspace is a mistake of the library, and adding to it might overflow.
constexpr size_t kMostWorkspace = std::numeric_limits<size_t>::max() / 4;

// The library's message, as one line; `otherwise` if it wrote none.
std::string textOf(const halyard_message& message, std::string_view otherwise) {
    std::string text(message.text, strnlen(message.text, sizeof(message.text)));
    std::ranges::replace_if(
            text, [](unsigned char c) { return c < ' '; }, ' ');
    return text.empty() ? std::string(otherwise) : text;
}

Status statusOf(int32_t code, const halyard_message& message) {
    switch (code) {
        case HALYARD_OK:
            return {};
        case HALYARD_UNSUPPORTED:
            return unsupported(textOf(message, "does not say why it refuses this"));
        case HALYARD_INVALID_ARGUMENT:
            return invalidArgument(textOf(message, "refuses the values"));
        case HALYARD_RESOURCE_EXHAUSTED:
            return {StatusCode::RESOURCE_EXHAUSTED, textOf(message, "has no memory left")};
        case HALYARD_STOPPED:
            return internalError("stopped without being asked to");
        case HALYARD_FAILED:
            return internalError(textOf(message, "failed, and does not say why"));
        default:
            return internalError("returned " + std::to_string(code) + ", which is no status");
    }
}

halyard_shape toAbi(const Shape& shape) {
    static_assert(kMaxRank <= HALYARD_MAX_RANK);
    halyard_shape abi = {.rank = static_cast<int32_t>(shape.rank()), .extents = {}};
    std::ranges::copy(shape.extents(), abi.extents);
    return abi;
}

constexpr halyard_shape kAbsent = {.rank = -1, .extents = {}};

std::string describe(const halyard_shape& shape) {
    if (shape.rank < 0 || shape.rank > HALYARD_MAX_RANK) {
        return "rank " + std::to_string(shape.rank);
    }
    std::string text;
    for (int32_t axis = 0; axis < shape.rank; ++axis) {
        text.append(axis > 0 ? ", " : "").append(std::to_string(shape.extents[axis]));
    }
    return "[" + text + "]";
}

bool isEqual(const halyard_shape& said, const Shape& shape) {
    return said.rank == static_cast<int32_t>(shape.rank()) &&
           std::ranges::equal(std::span(said.extents, shape.rank()), shape.extents());
}

halyard_tensor toAbi(const TensorType& type, size_t size, void* data) {
    halyard_tensor tensor = {.data = data, .size = size, .shape = toAbi(type.shape), .strides = {}};
    auto stride = static_cast<int64_t>(elementSize(type.type));
    for (size_t axis = type.shape.rank(); axis-- > 0;) {
        tensor.strides[axis] = stride;
        stride *= type.shape[axis];
    }
    return tensor;
}

Result<AlignedBuffer> bytesOf(const Graph& graph, const std::shared_ptr<Budget>& memory) {
    const ByteParts parts = serializedParts(graph);
    HALYARD_ASSIGN_OR_RETURN(AlignedBuffer aligned,
                             AlignedBuffer::allocate(parts.size(), kTensorAlignment, memory));
    parts.copyTo(reinterpret_cast<uint8_t*>(aligned.data()));
    return aligned;
}

halyard_bytes toAbi(const AlignedBuffer& buffer) {
    return {.data = reinterpret_cast<const uint8_t*>(buffer.data()), .size = buffer.size()};
}

// Resources that a library may ask for while one of its functions lasts, and those it has asked
// for.
class LentResources {
  public:
    explicit LentResources(const PartitionResources& resources) : mResources(resources) {}
    LentResources(const LentResources&) = delete;
    LentResources& operator=(const LentResources&) = delete;

    halyard_resources toAbi() {
        return {.should_stop = [](void* self) { return of(self).expired() ? 1 : 0; },
                .reserve =
                        [](void* self, size_t bytes) {
                            return of(self).reserve(of(self).mResources.memory, bytes);
                        },
                .reserve_on_device =
                        [](void* self, size_t bytes) {
                            return of(self).reserve(of(self).mResources.deviceMemory, bytes);
                        },
                .context = this};
    }
    // The code that the library's function returned, as the Status that it means.
    Status statusOf(int32_t code, const halyard_message& message) const {
        if (code == HALYARD_STOPPED && expired()) {
            return mResources.checkpoint.check("while a library made things ready");
        }
        if (code == HALYARD_RESOURCE_EXHAUSTED && !mRefusal.ok()) {
            return mRefusal;
        }
        return engine::statusOf(code, message);
    }
    std::vector<Reservation> takeReservations() { return std::move(mReservations); }

  private:
    static LentResources& of(void* self) { return *static_cast<LentResources*>(self); }
    bool expired() const { return mResources.checkpoint.expired(); }
    int32_t reserve(const std::shared_ptr<Budget>& budget, size_t bytes) {
        Result<Reservation> reservation = Reservation::create(budget, bytes);
        if (!reservation.ok()) {
            mRefusal = reservation.status();
            return HALYARD_RESOURCE_EXHAUSTED;
        }
        mReservations.push_back(std::move(*reservation));
        return HALYARD_OK;
    }

    const PartitionResources& mResources;
    std::vector<Reservation> mReservations;
    Status mRefusal;
};

struct LoadedPartitionParts {
    LoadedPartitionParts(std::shared_ptr<const Library> theLibrary)
        : library(std::move(theLibrary)) {}
    ~LoadedPartitionParts() {
        if (handle != nullptr) {
            library->backend().release_partition(library->backend().self, handle);
        }
    }
    LoadedPartitionParts(const LoadedPartitionParts&) = delete;
    LoadedPartitionParts& operator=(const LoadedPartitionParts&) = delete;

    const std::shared_ptr<const Library> library;
    std::shared_ptr<const Graph> whole;  // that the partition was cut from, for traces
    std::vector<const Node*> nodes;      // of it
    Graph graph;                         // the partition alone
    void* handle = nullptr;
    // The library is charged for all that it was handed, as if it kept that.
    Reservation kept;
    std::vector<Reservation> reserved;  // by finish()
};

struct LoadedState : PartitionState {
    explicit LoadedState(std::shared_ptr<const LoadedPartitionParts> theParts)
        : parts(std::move(theParts)) {}
    ~LoadedState() override {
        if (handle != nullptr) {
            parts->library->backend().release_state(parts->library->backend().self, handle);
        }
    }

    const std::shared_ptr<const LoadedPartitionParts> parts;
    std::vector<Reservation> reserved;
    void* handle = nullptr;
    std::vector<halyard_tensor> inputs;
    std::vector<halyard_tensor> outputs;
};

class LoadedShaped : public SpecializedPartition {
  public:
    explicit LoadedShaped(std::shared_ptr<const LoadedPartitionParts> parts)
        : mParts(std::move(parts)) {}
    ~LoadedShaped() override {
        if (mHandle != nullptr) {
            backend().release_shaped(backend().self, mHandle);
        }
    }

    Status create(std::span<const TensorType* const> inputs, const Checkpoint& checkpoint) {
        HALYARD_RETURN_IF_ERROR(infer(inputs, checkpoint));
        std::vector<halyard_shape> inputShapes;
        for (const TensorType* type : inputs) {
            inputShapes.push_back(type == nullptr ? kAbsent : toAbi(type->shape));
        }
        std::vector<halyard_shape> outputShapes(mOutputTypes.size(), kAbsent);
        halyard_message message = {};
        HALYARD_RETURN_IF_ERROR(statusOf(
                backend().specialize(backend().self, mParts->handle, inputShapes.data(),
                                     inputShapes.size(), outputShapes.data(), outputShapes.size(),
                                     &mWorkspaceBytes, &mHandle, &message),
                message));
        if (mHandle == nullptr) {
            return internalError("made nothing of a partition, and says that all went well");
        }
        for (size_t i = 0; i < mOutputTypes.size(); ++i) {
            if (!isEqual(outputShapes[i], mOutputTypes[i].shape)) {
                return internalError("gives output " + std::to_string(i) + " " +
                                     describe(outputShapes[i]) + ", which has to be " +
                                     mOutputTypes[i].shape.toString());
            }
        }
        if (mWorkspaceBytes > kMostWorkspace) {
            return internalError("asks for a workspace of " + std::to_string(mWorkspaceBytes) +
                                 " bytes");
        }
        return {};
    }

    std::span<const TensorType> outputTypes() const override { return mOutputTypes; }
    size_t workspaceBytes() const override { return mWorkspaceBytes; }

    Status run(const RunArguments& arguments) const override {
        auto* const state = static_cast<LoadedState*>(arguments.state);
        if (state == nullptr || arguments.outputs.size() != mOutputTypes.size() ||
            arguments.workspace.size() < mWorkspaceBytes) {
            return internalError("a partition was run with the wrong number of tensors or bytes");
        }
        state->inputs.clear();
        uint64_t bytes = 0;
        for (const ConstTensorView& input : arguments.inputs) {
            if (!input.present()) {
                state->inputs.push_back(
                        {.data = nullptr, .size = 0, .shape = kAbsent, .strides = {}});
                continue;
            }
            HALYARD_ASSIGN_OR_RETURN(const size_t size, input.type->byteSize());
            bytes += size;
            state->inputs.push_back(toAbi(*input.type, size, const_cast<void*>(input.data)));
        }
        state->outputs.clear();
        for (const TensorView& output : arguments.outputs) {
            HALYARD_ASSIGN_OR_RETURN(const size_t size, output.type->byteSize());
            bytes += size;
            state->outputs.push_back(toAbi(*output.type, size, output.data));
        }
        const halyard_run run = {
                .inputs = state->inputs.data(),
                .input_count = state->inputs.size(),
                .outputs = state->outputs.data(),
                .output_count = state->outputs.size(),
                .workspace = arguments.workspace.data(),
                .workspace_size = arguments.workspace.size(),
                .should_stop = &shouldStop,
                .context = const_cast<Checkpoint*>(&arguments.checkpoint),
        };
        const std::span<const Node* const> nodes = mParts->nodes;
        TracedWork traced(arguments.trace, {.name = mParts->library->name(),
                                            .track = arguments.track,
                                            .node = nodes.front(),
                                            .fused = nodes.subspan(1)});
        HALYARD_RETURN_IF_ERROR(call(run, *state, arguments));
        traced.end([bytes] { return bytes; });
        return {};
    }

  private:
    static int32_t shouldStop(void* checkpoint) {
        return static_cast<const Checkpoint*>(checkpoint)->expired() ? 1 : 0;
    }

    const halyard_backend& backend() const { return mParts->library->backend(); }

    // The types that the outputs must have.
    Status infer(std::span<const TensorType* const> inputs, const Checkpoint& checkpoint) {
        Graph graph = mParts->graph;
        for (size_t i = 0; i < inputs.size(); ++i) {
            const TensorId id = graph.inputs()[i];
            if (inputs[i] != nullptr) {
                graph.mutableTensor(id).type.shape = inputs[i]->shape;
                continue;
            }
            for (NodeId node = 0; node < graph.nodes().size(); ++node) {
                std::ranges::replace(graph.mutableNode(node).inputs, id, kNoTensor);
            }
        }
        HALYARD_RETURN_IF_ERROR(verifyAndInfer(graph, nullptr, checkpoint));
        for (const TensorId id : graph.outputs()) {
            mOutputTypes.push_back(graph.tensor(id).type);
            if (!mOutputTypes.back().shape.isFullyKnown()) {
                return internalError("was given a partition whose output " +
                                     mOutputTypes.back().toString() + " only a run could tell");
            }
        }
        return {};
    }

    Status call(const halyard_run& run, const LoadedState& state,
                const RunArguments& arguments) const {
        halyard_message message = {};
        const int32_t code = backend().run(backend().self, mHandle, state.handle, &run, &message);
        if (code == HALYARD_STOPPED && arguments.checkpoint.expired()) {
            return arguments.checkpoint.check("while " + mParts->library->name() + " ran");
        }
        return statusOf(code, message);
    }

    const std::shared_ptr<const LoadedPartitionParts> mParts;
    std::vector<TensorType> mOutputTypes;
    size_t mWorkspaceBytes = 0;
    void* mHandle = nullptr;
};

class LoadedPartition : public CompiledPartition {
  public:
    explicit LoadedPartition(std::shared_ptr<LoadedPartitionParts> parts)
        : mParts(std::move(parts)) {}

    Status finish(const PartitionResources& resources) override {
        const halyard_backend& backend = mParts->library->backend();
        if (backend.finish == nullptr) {
            return {};
        }
        LentResources lent(resources);
        const halyard_resources abi = lent.toAbi();
        halyard_message message = {};
        const int32_t code = backend.finish(backend.self, mParts->handle, &abi, &message);
        mParts->reserved = lent.takeReservations();
        return lent.statusOf(code, message);
    }

    Result<std::unique_ptr<const SpecializedPartition>> specialize(
            std::span<const TensorType* const> inputs,
            const Checkpoint& checkpoint) const override {
        auto shaped = std::make_unique<LoadedShaped>(mParts);
        HALYARD_RETURN_IF_ERROR(shaped->create(inputs, checkpoint));
        return std::unique_ptr<const SpecializedPartition>(std::move(shaped));
    }

    Result<std::unique_ptr<PartitionState>> makeState(
            const PartitionResources& resources) const override {
        auto state = std::make_unique<LoadedState>(mParts);
        state->inputs.reserve(mParts->graph.inputs().size());
        state->outputs.reserve(mParts->graph.outputs().size());
        const halyard_backend& backend = mParts->library->backend();
        if (backend.make_state != nullptr) {
            LentResources lent(resources);
            const halyard_resources abi = lent.toAbi();
            halyard_message message = {};
            const int32_t code = backend.make_state(backend.self, mParts->handle, &abi,
                                                    &state->handle, &message);
            state->reserved = lent.takeReservations();
            HALYARD_RETURN_IF_ERROR(lent.statusOf(code, message));
            if (state->handle == nullptr) {
                return internalError("made no state, and says that all went well");
            }
        }
        return std::unique_ptr<PartitionState>(std::move(state));
    }

    std::string_view kernelOf(size_t /*node*/) const override { return mParts->library->name(); }

  private:
    const std::shared_ptr<LoadedPartitionParts> mParts;
};

class LoadedBackend : public Backend {
  public:
    explicit LoadedBackend(std::shared_ptr<const Library> library) : mLibrary(std::move(library)) {}

    std::string_view name() const override { return mLibrary->name(); }
    std::string identity() const override { return mLibrary->identity(); }
    // A library does not say.
    DeviceType deviceType() const override { return DeviceType::OTHER; }

    Status supports(const Graph& graph, NodeId node) const override {
        HALYARD_RETURN_IF_ERROR(checkShapesFollow(graph, graph.node(node)));
        HALYARD_ASSIGN_OR_RETURN(const Graph alone,
                                 partitionGraph(graph, partitionOf(graph, node)));
        HALYARD_ASSIGN_OR_RETURN(const AlignedBuffer bytes, bytesOf(alone, nullptr));
        halyard_message message = {};
        const halyard_backend& backend = mLibrary->backend();
        const Status answer =
                statusOf(backend.supports(backend.self, toAbi(bytes), &message), message);
        return answer.ok() || answer.code() == StatusCode::UNSUPPORTED
                       ? answer
                       : unsupported("gives no answer: it " + std::string(answer.message()));
    }

    Result<std::unique_ptr<CompiledPartition>> compile(
            const CompileArguments& arguments) const override {
        auto parts = std::make_shared<LoadedPartitionParts>(mLibrary);
        parts->whole = arguments.graph;
        for (const NodeId node : arguments.partition.nodes) {
            parts->nodes.push_back(&arguments.graph->node(node));
        }
        HALYARD_ASSIGN_OR_RETURN(parts->graph,
                                 partitionGraph(*arguments.graph, arguments.partition));
        HALYARD_ASSIGN_OR_RETURN(const AlignedBuffer bytes,
                                 bytesOf(parts->graph, arguments.memory));
        HALYARD_ASSIGN_OR_RETURN(parts->kept, Reservation::create(arguments.memory, bytes.size()));
        halyard_message message = {};
        const halyard_backend& backend = mLibrary->backend();
        HALYARD_RETURN_IF_ERROR(statusOf(
                backend.compile(backend.self, toAbi(bytes), &parts->handle, &message), message));
        if (parts->handle == nullptr) {
            return internalError("compiled nothing, and says that all went well");
        }
        return std::unique_ptr<CompiledPartition>(
                std::make_unique<LoadedPartition>(std::move(parts)));
    }

  private:
    // A library is told the shapes of inputs, and has to tell those of outputs before it runs.
    static Status checkShapesFollow(const Graph& graph, const Node& node) {
        const NodeSignature signature = signatureOf(node.descriptor);
        for (size_t i = 0; i < node.outputs.size(); ++i) {
            const OutputSpec* const spec = signature.output(i);
            if (spec != nullptr && (spec->traits & kFoundByRunning) != 0) {
                return unsupported("runs no node whose output shapes are found by running");
            }
        }
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            if (signature.isControlInput(i) && node.inputs[i] != kNoTensor &&
                !graph.tensor(node.inputs[i]).isConstant()) {
                return unsupported("runs no node with computed control inputs");
            }
        }
        return {};
    }

    const std::shared_ptr<const Library> mLibrary;
};

}  // namespace

Result<std::unique_ptr<const Backend>> loadBackend(const std::string& path) {
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<const Library> library, Library::open(path));
    return std::unique_ptr<const Backend>(std::make_unique<LoadedBackend>(std::move(library)));
}

}  // namespace halyard::engine
