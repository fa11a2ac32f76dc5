// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/gpu_partition.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/backends/gpu/fusion.h"
#include "engine/backends/gpu/kernels/convolution.h"
#include "engine/backends/gpu/kernels/kernels.h"
#include "engine/backends/gpu/kernels/matrix_probe.h"
#include "engine/backends/gpu/launches/bound_kernels.h"
#include "engine/backends/gpu/launches/launch.h"
#include "engine/backends/gpu/launches/step_leader.h"
#include "engine/backends/gpu/specialized_gpu_partition.h"
#include "engine/backends/gpu/vendor/matrix_unit.h"
#include "engine/plan/partition_layout.h"

namespace halyard::engine::gpu {
namespace {

// A constant as it is, for the device to have.
struct DeviceConstant {
    ConstantSource<std::byte> source;
    uint64_t size = 0;

    static constexpr std::string_view kName = "gpu constant";
    HALYARD_FIELDS(source, size)

    Result<size_t> bytes() const { return static_cast<size_t>(size); }
    Status fill(std::span<std::byte> to, const Checkpoint& checkpoint) const {
        return copyInChunks(to.data(), source.data, to.size(), checkpoint,
                            "while a constant was packed");
    }
};

class GpuPartition final : public CompiledPartition {
  public:
    explicit GpuPartition(const GpuResources& resources)
        : mParts(std::make_shared<PartitionParts>(resources)) {}

    Status compile(const CompileArguments& arguments);
    Status finish(const PartitionResources& resources) override;
    Result<std::unique_ptr<const SpecializedPartition>> specialize(
            std::span<const TensorType* const> inputs,
            const Checkpoint& checkpoint) const override {
        auto shaped = std::make_unique<SpecializedGpuPartition>(mParts);
        HALYARD_RETURN_IF_ERROR(shaped->create(inputs, checkpoint));
        return std::unique_ptr<const SpecializedPartition>(std::move(shaped));
    }
    Result<std::unique_ptr<PartitionState>> makeState(
            const PartitionResources& resources) const override {
        ChargedBuffer counters;
        if (mParts->matrixFeatures.copiesAsync()) {
            HALYARD_ASSIGN_OR_RETURN(counters, ChargedBuffer::allocate(mParts->resources.memory,
                                                                       kCounters * sizeof(uint32_t),
                                                                       resources.deviceMemory));
        }
        return std::unique_ptr<PartitionState>(std::make_unique<BoundKernels>(
                mParts->resources.device, resources.deviceMemory, std::move(counters)));
    }
    std::string_view kernelOf(size_t node) const override {
        return mParts->traces[mParts->layout.stepOf[node]].name;
    }
    std::string_view lostFormsOf(size_t node) const override {
        return mLostForms[mParts->layout.stepOf[node]];
    }
    std::span<const TensorId> packed() const override { return mPacked; }
    size_t deviceConstantBytes() const override { return mParts->uploaded.size(); }

  private:
    // Of a constant: who reads it in this partition.
    struct Reading {
        bool asData = false;
        bool asControl = false;
        size_t times = 0;
    };
    std::map<LocalId, Reading> readingsOfConstants() const;

    const std::shared_ptr<PartitionParts> mParts;
    std::vector<TensorId> mPacked;
    std::vector<std::string> mLostForms;  // by step
};

std::map<LocalId, GpuPartition::Reading> GpuPartition::readingsOfConstants() const {
    std::map<LocalId, Reading> readings;
    for (const LocalStep& step : mParts->layout.steps) {
        for (const LocalNode& node : step.nodes) {
            const NodeSignature signature = signatureOf(node.node->descriptor);
            for (size_t i = 0; i < node.inputs.size(); ++i) {
                const LocalId local = node.inputs[i];
                if (local == kNoLocal ||
                    mParts->layout.tensors[local].role != LocalTensor::Role::CONSTANT) {
                    continue;
                }
                Reading& reading = readings[local];
                const bool isControl = signature.isControlInput(i) || readsOnHost(*node.node, i);
                reading.asControl = reading.asControl || isControl;
                reading.asData = reading.asData || !isControl || readsOnDevice(*node.node, i);
                reading.times += isControl ? 0 : 1;
            }
        }
    }
    return readings;
}

// Whether a node that is fused with a GEMM makes it one of another choice than it is alone.
bool hasGemmOfItsOwn(const Node* node) {
    switch (node->kind()) {
        case NodeKind::DepthwiseConv2d:
        case NodeKind::FullyConnected:
        case NodeKind::Pool2d:
        case NodeKind::Reduce:
            return true;
        default:
            return false;
    }
}

GemmTypes gemmTypesOf(const CompileArguments& arguments, bool mayRound) {
    GemmTypes types;
    for (const NodeId node : arguments.partition.nodes) {
        for (const TensorId input : arguments.graph->node(node).inputs) {
            if (input == kNoTensor) {
                continue;
            }
            const DataType type = arguments.graph->tensor(input).type.type;
            types.bytes = types.bytes || isQuantized(type);
            types.halves = types.halves || type == DataType::FLOAT16;
            const bool isFloat32 = type == DataType::FLOAT32;
            types.tf32 = types.tf32 || (isFloat32 && mayRound);
            types.exactFloats = types.exactFloats || (isFloat32 && !mayRound);
        }
    }
    return types;
}

Status GpuPartition::compile(const CompileArguments& arguments) {
    mParts->mayRound = arguments.graph->relaxedFloat() || arguments.options.fastMath;
    mParts->matrixFeatures = probeMatrixUnit(gemmTypesOf(arguments, mParts->mayRound),
                                             mParts->resources.device->facts(),
                                             mParts->resources.programs, arguments.blobs);
    const std::vector<FusedNodes> fused = findFusions(*arguments.graph, arguments.partition,
                                                      {.facts = mParts->resources.device->facts(),
                                                       .matrixFeatures = mParts->matrixFeatures,
                                                       .mayRound = mParts->mayRound});
    HALYARD_ASSIGN_OR_RETURN(mParts->layout, layOut(arguments.graph, arguments.partition, fused));
    for (const LocalStep& step : mParts->layout.steps) {
        StepTrace& trace = mParts->traces.emplace_back();
        trace.name = "gpu::";
        trace.leader = step.nodes[leaderOf(step.nodes)].node;
        for (const LocalNode& node : step.nodes) {
            trace.name.append(&node == &step.nodes.front() ? "" : " + ");
            trace.name.append(toString(node.node->kind()));
            if (node.node != trace.leader) {
                trace.others.push_back(node.node);
            }
        }
        mLostForms.push_back(
                std::ranges::none_of(trace.others, hasGemmOfItsOwn)
                        ? lostGemmForms(*arguments.graph, *trace.leader, mParts->mayRound,
                                        mParts->resources.device->facts(), mParts->matrixFeatures)
                        : std::string());
    }
    for (const auto& [local, reading] : readingsOfConstants()) {
        HALYARD_RETURN_IF_ERROR(arguments.checkpoint.check("while constants were packed"));
        if (!reading.asData) {
            continue;
        }
        const TensorId id = mParts->layout.tensors[local].id;
        const Tensor& constant = arguments.graph->tensor(id);
        HALYARD_ASSIGN_OR_RETURN(const size_t size, constant.type.byteSize());
        HALYARD_ASSIGN_OR_RETURN(
                mParts->constants[local],
                arguments.constants.add(DeviceConstant{
                        .source = ConstantSource<std::byte>::of(constant), .size = size}));
        if (!reading.asControl) {
            mPacked.insert(mPacked.end(), reading.times, id);
        }
    }
    return {};
}

Status GpuPartition::finish(const PartitionResources& resources) {
    mParts->blobs = resources.blobs;
    mParts->deviceMemory = resources.deviceMemory;
    size_t bytes = 0;
    // Tensors that are one constant in the store are one on the device. What has no elements may
    // lie where another begins.
    std::map<std::pair<size_t, size_t>, size_t> placeOf;  // by offset and size in the store
    std::vector<std::pair<size_t, PackedConstant>> copied;
    for (const auto& [local, constant] : mParts->constants) {
        const auto [place, isNew] =
                placeOf.emplace(std::pair(constant.offset, constant.bytes), bytes);
        mParts->places[local] = place->second;
        if (isNew) {
            copied.emplace_back(bytes, constant);
            bytes += (constant.bytes + kConstantAlignment - 1) / kConstantAlignment *
                     kConstantAlignment;
        }
    }
    if (mParts->constants.empty()) {
        return {};
    }
    GpuMemory& memory = mParts->resources.memory;
    HALYARD_ASSIGN_OR_RETURN(mParts->uploaded,
                             ChargedBuffer::allocate(memory, std::max(bytes, kConstantAlignment),
                                                     resources.deviceMemory));
    return memory.withQueue([&](GpuQueue& queue) -> Status {
        for (const auto& [place, constant] : copied) {
            HALYARD_RETURN_IF_ERROR(
                    queue.copyIn({.buffer = mParts->uploaded.get(), .offset = place},
                                 constant.in(resources.constants), resources.checkpoint));
        }
        return {};
    });
}

}  // namespace

Result<std::unique_ptr<CompiledPartition>> compilePartition(const GpuResources& resources,
                                                            const CompileArguments& arguments) {
    auto partition = std::make_unique<GpuPartition>(resources);
    HALYARD_RETURN_IF_ERROR(partition->compile(arguments));
    return std::unique_ptr<CompiledPartition>(std::move(partition));
}

}  // namespace halyard::engine::gpu
