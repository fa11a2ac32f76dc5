// SPDX-License-Identifier: Apache-2.0

#include "tests/engine/plan/fake_backend.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "engine/graph/shape_inference.h"

namespace halyard::engine {
namespace {

constexpr size_t kMostTensors = 64;
constexpr size_t kMostInputs = 4;

struct FakeTensor {
    TensorId id = kNoTensor;
    bool isInput = false;
    bool isOutput = false;
    bool isAbsent = false;
    size_t position = 0;  // in Partition::inputs or Partition::outputs
    TensorType type;
    size_t workspaceOffset = 0;
};

struct FakeNode {
    const Node* node = nullptr;
    std::vector<size_t> inputs;  // indices of FakeTensors
    size_t output = 0;
};

void compute(const Node& node, std::span<const ConstTensorView> inputs, const TensorView& output) {
    const auto count = static_cast<size_t>(*output.shape().elementCount());
    const float* a = inputs[0].as<float>();
    auto* const y = output.as<float>();
    if (node.kind() == NodeKind::Reshape) {
        std::memcpy(y, a, count * sizeof(float));
        return;
    }
    for (size_t i = 0; i < count; ++i) {
        if (node.kind() == NodeKind::Activate) {
            y[i] = a[i] + 1;
        } else {
            const bool single = *inputs[1].shape().elementCount() == 1;
            const float b = inputs[1].as<float>()[single ? 0 : i];
            const auto& binary = std::get<Binary>(node.descriptor);
            y[i] = binary.function == Binary::Function::ADD ? a[i] + b : a[i] * b;
        }
    }
}

class FakeSpecializedPartition : public SpecializedPartition {
  public:
    FakeSpecializedPartition(const FakeBackend& backend, std::shared_ptr<const Graph> graph)
        : mBackend(backend), mGraph(std::move(graph)) {}

    Status prepare(const Partition& partition, std::span<const TensorType* const> inputs) {
        for (size_t i = 0; i < partition.inputs.size(); ++i) {
            FakeTensor& tensor = mTensors[indexOf(partition.inputs[i])];
            tensor.isInput = true;
            tensor.position = i;
            tensor.isAbsent = inputs[i] == nullptr;
            tensor.type = tensor.isAbsent ? tensor.type : *inputs[i];
        }
        for (const NodeId id : partition.nodes) {
            HALYARD_RETURN_IF_ERROR(prepareNode(mGraph->node(id)));
        }
        for (size_t i = 0; i < partition.outputs.size(); ++i) {
            FakeTensor& tensor = mTensors[indexOf(partition.outputs[i])];
            tensor.isOutput = true;
            tensor.position = i;
            mOutputTypes.push_back(tensor.type);
        }
        if (mBackend.onOutputTypes) {
            mBackend.onOutputTypes(mOutputTypes);
        }
        for (FakeTensor& tensor : mTensors) {
            if (!tensor.isInput && !tensor.isOutput && tensor.type.shape.isFullyKnown()) {
                tensor.workspaceOffset = mWorkspaceBytes;
                mWorkspaceBytes += (*tensor.type.byteSize() + 63) / 64 * 64;
            }
        }
        return mTensors.size() <= kMostTensors ? Status() : internalError("too many tensors");
    }

    std::span<const TensorType> outputTypes() const override { return mOutputTypes; }
    size_t workspaceBytes() const override { return mWorkspaceBytes; }

    Status run(const RunArguments& arguments) const override {
        if (mBackend.onRun) {
            HALYARD_RETURN_IF_ERROR(mBackend.onRun(arguments));
        }
        if (mBackend.computesNothing) {
            return {};
        }
        Views views;
        for (size_t i = 0; i < mTensors.size(); ++i) {
            const FakeTensor& tensor = mTensors[i];
            if (tensor.isInput) {
                views.known[i] = arguments.inputs[tensor.position];
            } else if (const ConstantData& constant = mGraph->tensor(tensor.id).constant;
                       constant.owner != nullptr) {
                views.known[i] = {.type = &tensor.type, .data = constant.bytes.data()};
            }
        }
        for (const FakeNode& node : mNodes) {
            HALYARD_RETURN_IF_ERROR(arguments.checkpoint.check("in a fake"));
            HALYARD_RETURN_IF_ERROR(runNode(node, arguments, views));
        }
        return {};
    }

  private:
    struct Views {
        std::array<ConstTensorView, kMostTensors> known;
        std::array<TensorType, kMostTensors> found;
        std::array<std::unique_ptr<std::byte[]>, kMostTensors> heap;
    };

    size_t indexOf(TensorId id) {
        const auto [entry, isNew] = mIndexOf.emplace(id, mTensors.size());
        if (isNew) {
            FakeTensor& tensor = mTensors.emplace_back();
            tensor.id = id;
            tensor.type = mGraph->tensor(id).type;
        }
        return entry->second;
    }

    Status prepareNode(const Node& node) {
        FakeNode& fake = mNodes.emplace_back();
        fake.node = &node;
        std::vector<KnownInput> inputs;
        for (const TensorId id : node.inputs) {
            fake.inputs.push_back(indexOf(id));
        }
        fake.output = indexOf(node.outputs[0]);
        for (const size_t index : fake.inputs) {
            const Tensor& tensor = mGraph->tensor(mTensors[index].id);
            inputs.push_back({.type = mTensors[index].isAbsent ? nullptr : &mTensors[index].type,
                              .data = tensor.constant.bytes.data()});
        }
        return inferShapes(node, inputs, {&mTensors[fake.output].type, 1});
    }

    Status runNode(const FakeNode& node, const RunArguments& arguments, Views& views) const {
        std::array<ConstTensorView, kMostInputs> inputs;
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            inputs[i] = views.known[node.inputs[i]];
        }
        const std::span<const ConstTensorView> all(inputs.data(), node.inputs.size());
        HALYARD_ASSIGN_OR_RETURN(const TensorView output, memoryFor(node, all, arguments, views));
        compute(*node.node, all, output);
        views.known[node.output] = {.type = output.type, .data = output.data};
        return {};
    }

    Result<TensorView> memoryFor(const FakeNode& node, std::span<const ConstTensorView> inputs,
                                 const RunArguments& arguments, Views& views) const {
        const FakeTensor& tensor = mTensors[node.output];
        if (tensor.type.shape.isFullyKnown()) {
            if (tensor.isOutput) {
                return arguments.outputs[tensor.position];
            }
            return TensorView{.type = &tensor.type,
                              .data = arguments.workspace.data() + tensor.workspaceOffset};
        }
        TensorType& found = views.found[node.output];
        found = tensor.type;
        HALYARD_RETURN_IF_ERROR(inferShapes(*node.node, inputs, {&found, 1}));
        if (tensor.isOutput) {
            return arguments.allocator->allocate(tensor.position, found.shape);
        }
        views.heap[node.output] = std::make_unique<std::byte[]>(*found.byteSize() + 1);
        return TensorView{.type = &found, .data = views.heap[node.output].get()};
    }

    const FakeBackend& mBackend;
    const std::shared_ptr<const Graph> mGraph;
    std::map<TensorId, size_t> mIndexOf;
    std::vector<FakeTensor> mTensors;
    std::vector<FakeNode> mNodes;
    std::vector<TensorType> mOutputTypes;
    size_t mWorkspaceBytes = 0;
};

// Of no constant.
struct FakePacking {
    uint32_t firstNode = 0;
    uint64_t size = 0;

    static constexpr std::string_view kName = "fake";
    HALYARD_FIELDS(firstNode, size)

    Result<size_t> bytes() const { return static_cast<size_t>(size); }
    Status fill(std::span<std::byte> bytes, const Checkpoint& /*checkpoint*/) const {
        std::memset(bytes.data(), 0x5a, bytes.size());
        return {};
    }
};

class FakeCompiledPartition : public CompiledPartition {
  public:
    FakeCompiledPartition(const FakeBackend& backend, std::shared_ptr<const Graph> graph,
                          Partition partition)
        : mBackend(backend), mGraph(std::move(graph)), mPartition(std::move(partition)) {}

    Result<std::unique_ptr<const SpecializedPartition>> specialize(
            std::span<const TensorType* const> inputs,
            const Checkpoint& /*checkpoint*/) const override {
        ++mBackend.specialized;
        if (mBackend.onSpecialize) {
            HALYARD_RETURN_IF_ERROR(mBackend.onSpecialize(inputs));
        }
        auto shaped = std::make_unique<FakeSpecializedPartition>(mBackend, mGraph);
        HALYARD_RETURN_IF_ERROR(shaped->prepare(mPartition, inputs));
        return std::unique_ptr<const SpecializedPartition>(std::move(shaped));
    }

    Status finish(const PartitionResources& resources) override {
        return mBackend.onFinish ? mBackend.onFinish(resources) : Status();
    }

    Result<std::unique_ptr<PartitionState>> makeState(
            const PartitionResources& resources) const override {
        ++mBackend.statesMade;
        return mBackend.onMakeState ? mBackend.onMakeState(resources)
                                    : std::unique_ptr<PartitionState>();
    }

  private:
    const FakeBackend& mBackend;
    const std::shared_ptr<const Graph> mGraph;
    const Partition mPartition;
};

}  // namespace

Status FakeBackend::supports(const Graph& graph, NodeId node) const {
    const NodeKind kind = graph.node(node).kind();
    if (!mKinds.contains(kind)) {
        return unsupported("has no " + std::string(toString(kind)));
    }
    return {};
}

Result<std::unique_ptr<CompiledPartition>> FakeBackend::compile(
        const CompileArguments& arguments) const {
    if (onCompile) {
        HALYARD_RETURN_IF_ERROR(onCompile(arguments));
    }
    HALYARD_RETURN_IF_ERROR(
            arguments.constants
                    .add(FakePacking{.firstNode = arguments.partition.nodes.front(),
                                     .size = kBytesPerNode * arguments.partition.nodes.size()})
                    .status());
    return std::unique_ptr<CompiledPartition>(
            std::make_unique<FakeCompiledPartition>(*this, arguments.graph, arguments.partition));
}

}  // namespace halyard::engine
