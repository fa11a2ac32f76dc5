// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/gpu_piece.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/backends/gpu/bound_kernels.h"
#include "engine/backends/gpu/building.h"
#include "engine/backends/gpu/fusion.h"
#include "engine/backends/gpu/gpu_queue.h"
#include "engine/backends/gpu/instructions.h"
#include "engine/backends/gpu/kernels/kernels.h"
#include "engine/backends/gpu/launch.h"
#include "engine/backends/gpu/step_plan.h"
#include "engine/backends/gpu/tuner.h"
#include "engine/graph/shape_inference.h"
#include "engine/plan/piece_layout.h"
#include "engine/plan/workspace_plan.h"

namespace halyard::engine::gpu {
namespace {

// Where a constant begins on the device.
constexpr size_t kConstantAlignment = 128;
constexpr size_t kStepsPerCheck = 64;
constexpr size_t kLaunchesPerCheck = 8;

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

// How a traced run tells of a step.
struct StepTrace {
    std::string name;
    const Node* leader = nullptr;
    std::vector<const Node*> others;
};

// What the stations of a piece share.
struct PieceParts {
    explicit PieceParts(GpuResources all) : resources(std::move(all)) {}

    const GpuResources resources;
    PieceLayout layout;
    std::vector<StepTrace> traces;                // per step
    std::map<LocalId, PackedConstant> constants;  // in the program's store
    std::map<LocalId, size_t> places;             // in `uploaded`
    ChargedBuffer uploaded;
    Blobs blobs;
    std::shared_ptr<Budget> deviceMemory;  // null: not limited
    Instructions instructions;
    bool mayRound = false;  // float32 may be computed with float16's precision

    // Where it lies on the device; nothing for a tensor that does not lie there all the time.
    std::optional<Placed> constantAt(LocalId local) const {
        const auto place = places.find(local);
        return place == places.end() ? std::nullopt
                                     : std::optional(Placed::at(uploaded.get(), place->second));
    }

    // A name that traces may point to as long as the program lives, whatever becomes of the shapes
    // that it is for.
    std::string_view keep(std::string name) const {
        const std::lock_guard lock(mMutex);
        return *mKept.insert(std::move(name)).first;
    }

  private:
    mutable std::mutex mMutex;
    mutable std::set<std::string> mKept;
};

uint64_t nextNumber() {
    // Numbers tell plans apart that come to lie at one address after the other.
    static std::atomic<uint64_t> last = 0;
    return ++last;
}

class GpuShaped final : public ShapedPiece {
  public:
    explicit GpuShaped(std::shared_ptr<const PieceParts> parts)
        : mParts(std::move(parts)), mLayout(mParts->layout), mNumber(nextNumber()) {}

    Status create(std::span<const TensorType* const> inputs, const Checkpoint& checkpoint) {
        HALYARD_RETURN_IF_ERROR(inferTypes(inputs, checkpoint));
        HALYARD_RETURN_IF_ERROR(planSteps(checkpoint));
        return uploadTables(checkpoint);
    }

    std::span<const TensorType> outputTypes() const override { return mOutputTypes; }
    size_t workspaceBytes() const override { return 0; }
    size_t deviceWorkspaceBytes() const override {
        return mPlan.checks.empty() ? mWorkspace.bytes
                                    : findingsBegin() + mPlan.checks.size() * sizeof(Finding);
    }
    size_t deviceTableBytes() const override { return mTables.size(); }
    Status run(const RunArguments& arguments) const override;

  private:
    Status inferTypes(std::span<const TensorType* const> inputs, const Checkpoint& checkpoint);
    Status planSteps(const Checkpoint& checkpoint);
    Status planEach(const StepPlan::Environment& environment, const Checkpoint& checkpoint) const;
    Status uploadTables(const Checkpoint& checkpoint);
    // Findings lie behind the rest of the workspace.
    size_t findingsBegin() const {
        return (mWorkspace.bytes + kConstantAlignment - 1) / kConstantAlignment *
               kConstantAlignment;
    }
    // Why the run that the queue ends has failed, if it has.
    Status readFindings(const RunArguments& arguments, GpuQueue& queue) const;
    bool isPresent(LocalId local) const { return local != kNoLocal && mPresent[local]; }
    Placed placeOf(const Operand& operand, size_t step, const RunArguments& arguments) const;
    Status placeOperands(const RunArguments& arguments, BoundKernels& kernels) const;
    Status enqueueSteps(const RunArguments& arguments, BoundKernels& kernels,
                        GpuQueue& queue) const;
    Status runTraced(const RunArguments& arguments, BoundKernels& kernels, GpuQueue& queue) const;
    std::string_view nameOf(size_t step, std::span<const Launch> launches) const;
    uint64_t bytesMovedBy(const LocalStep& step) const;

    const std::shared_ptr<const PieceParts> mParts;
    const PieceLayout& mLayout;
    const uint64_t mNumber;
    std::vector<TensorType> mTypes;  // per local tensor
    std::vector<bool> mPresent;      // the same: false for inputs that were left out
    std::vector<TensorType> mOutputTypes;
    PiecePlan mPlan;
    WorkspacePlan mWorkspace;
    ChargedBuffer mTables;
};

Status GpuShaped::inferTypes(std::span<const TensorType* const> inputs,
                             const Checkpoint& checkpoint) {
    if (inputs.size() != mLayout.inputs.size()) {
        return internalError("a piece was given the types of another number of inputs");
    }
    for (LocalId local = 0; local < mLayout.tensors.size(); ++local) {
        mTypes.push_back(mLayout.graphType(local));
    }
    mPresent.resize(mTypes.size(), true);
    for (size_t i = 0; i < inputs.size(); ++i) {
        mPresent[mLayout.inputs[i]] = inputs[i] != nullptr;
        if (inputs[i] != nullptr) {
            mTypes[mLayout.inputs[i]] = *inputs[i];
        }
    }
    std::vector<KnownInput> known;
    std::vector<TensorType> outputs;
    for (size_t step = 0; step < mLayout.steps.size(); ++step) {
        if (step % kStepsPerCheck == 0) {
            HALYARD_RETURN_IF_ERROR(checkpoint.check("while shapes were inferred"));
        }
        for (const LocalNode& node : mLayout.steps[step].nodes) {
            known.clear();
            for (const LocalId local : node.inputs) {
                known.push_back(
                        !isPresent(local)
                                ? KnownInput()
                                : KnownInput{
                                          .type = &mTypes[local],
                                          .data = mLayout.graph->tensor(mLayout.tensors[local].id)
                                                          .constant.bytes.data()});
            }
            outputs.clear();
            for (const LocalId local : node.outputs) {
                outputs.push_back(mTypes[local]);
            }
            HALYARD_RETURN_IF_ERROR(inferShapes(*node.node, known, outputs));
            for (size_t i = 0; i < outputs.size(); ++i) {
                if (!outputs[i].shape.isFullyKnown()) {
                    return internalError(node.node->label +
                                         ": GpuAcc took a node whose shapes only a run tells");
                }
                mTypes[node.outputs[i]].shape = outputs[i].shape;
            }
        }
    }
    for (const LocalId local : mLayout.outputs) {
        mOutputTypes.push_back(mTypes[local]);
    }
    return {};
}

Status GpuShaped::planSteps(const Checkpoint& checkpoint) {
    mPlan.scratchBytes.resize(mLayout.steps.size(), 0);
    const GpuResources& resources = mParts->resources;
    const Tuner tuner({.device = resources.device,
                       .memory = resources.memory,
                       .tuning = resources.tuning,
                       .blobs = mParts->blobs,
                       .deviceMemory = mParts->deviceMemory,
                       .constant = [this](LocalId local) { return mParts->constantAt(local); },
                       .checkpoint = checkpoint});
    const Status planned = planEach({.facts = resources.device->facts(),
                                     .programs = resources.programs,
                                     .blobs = mParts->blobs,
                                     .layout = mLayout,
                                     .types = mTypes,
                                     .present = mPresent,
                                     .instructions = mParts->instructions,
                                     .mayRound = mParts->mayRound,
                                     .plan = mPlan,
                                     .tuner = resources.tuning.isOff() ? nullptr : &tuner},
                                    checkpoint);
    // Others have a use for what was measured, even where this piece comes to nothing.
    resources.tuning.save();
    HALYARD_RETURN_IF_ERROR(planned);
    const std::vector<bool> open(mLayout.steps.size(), false);
    HALYARD_ASSIGN_OR_RETURN(mWorkspace, planWorkspace(mLayout, mTypes, open, mPlan.scratchBytes));
    std::erase_if(mPlan.launches,
                  [this](const Launch& launch) { return mWorkspace.inPlace[launch.step]; });
    return {};
}

Status GpuShaped::planEach(const StepPlan::Environment& environment,
                           const Checkpoint& checkpoint) const {
    for (size_t step = 0; step < mLayout.steps.size(); ++step) {
        HALYARD_RETURN_IF_ERROR(checkpoint.check("while kernels were made ready"));
        StepPlan plan(environment, step);
        HALYARD_RETURN_IF_ERROR(planStep(plan).withContext(plan.node(plan.leader()).label));
        if (environment.tuner != nullptr) {
            // What is measured next has the device to itself.
            HALYARD_RETURN_IF_ERROR(plan.buildPrograms());
        }
    }
    return buildPrograms(environment.layout, environment.plan.launches, environment.programs,
                         environment.blobs, checkpoint);
}

Status GpuShaped::uploadTables(const Checkpoint& checkpoint) {
    if (mPlan.tables.empty()) {
        return {};
    }
    GpuMemory& memory = mParts->resources.memory;
    HALYARD_ASSIGN_OR_RETURN(
            mTables, ChargedBuffer::allocate(memory, mPlan.tables.size(), mParts->deviceMemory));
    HALYARD_RETURN_IF_ERROR(
            memory.copyIn({.buffer = mTables.get(), .offset = 0}, mPlan.tables, checkpoint));
    mPlan.tables = {};
    return {};
}

Placed GpuShaped::placeOf(const Operand& operand, size_t step,
                          const RunArguments& arguments) const {
    const auto in = [&](const DeviceBuffer* buffer, size_t begin) {
        return Placed::at(buffer,
                          static_cast<uint64_t>(static_cast<int64_t>(begin) + operand.offset));
    };
    const DevicePlace& workspace = arguments.deviceWorkspace;
    switch (operand.place) {
        case Operand::Place::TABLE:
            return in(mTables.get(), 0);
        case Operand::Place::SCRATCH:
            return in(workspace.buffer, workspace.offset + mWorkspace.kernels[step]);
        case Operand::Place::FINDING:
            return in(workspace.buffer, workspace.offset + findingsBegin());
        case Operand::Place::COUNTERS:
            return in(static_cast<const BoundKernels*>(arguments.state)->counters(), 0);
        case Operand::Place::TENSOR:
            break;
    }
    const LocalTensor& tensor = mLayout.tensors[operand.local];
    switch (tensor.role) {
        case LocalTensor::Role::CONSTANT:
            return in(mParts->uploaded.get(), mParts->places.at(operand.local));
        case LocalTensor::Role::INPUT: {
            const ConstTensorView& view = arguments.inputs[tensor.position];
            return in(view.device, view.offset);
        }
        case LocalTensor::Role::OUTPUT: {
            const TensorView& view = arguments.outputs[tensor.position];
            return in(view.device, view.offset);
        }
        case LocalTensor::Role::INTERNAL:
        case LocalTensor::Role::INSIDE:
            break;
    }
    return in(workspace.buffer, workspace.offset + mWorkspace.tensors[operand.local]);
}

// Constants and tables stay where they are as long as the plan.
Status GpuShaped::placeOperands(const RunArguments& arguments, BoundKernels& kernels) const {
    std::vector<Placed>& bases = kernels.emptyBases();
    bases.push_back(Placed::at(arguments.deviceWorkspace.buffer, arguments.deviceWorkspace.offset));
    for (const ConstTensorView& input : arguments.inputs) {
        bases.push_back(Placed::at(input.device, input.offset));
    }
    for (const TensorView& output : arguments.outputs) {
        bases.push_back(Placed::at(output.device, output.offset));
    }
    return kernels.place(bases, [&](const Operand& operand, size_t step) {
        return placeOf(operand, step, arguments);
    });
}

Status GpuShaped::enqueueSteps(const RunArguments& arguments, BoundKernels& kernels,
                               GpuQueue& queue) const {
    HALYARD_ASSIGN_OR_RETURN(const bool isReplayed, kernels.replay(queue, arguments.checkpoint));
    for (size_t i = isReplayed ? mPlan.launches.size() : 0; i < mPlan.launches.size(); ++i) {
        if (i % kLaunchesPerCheck == 0 && arguments.checkpoint.expired()) {
            return arguments.checkpoint.check("while kernels were enqueued");
        }
        const Status status = kernels.enqueue(i, queue, arguments.checkpoint);
        if (!status.ok()) {
            return status.withContext(mParts->traces[mPlan.launches[i].step].leader->label);
        }
    }
    return queue.flush();
}

// Of a traced step with these launches; where the device is asked, with the kernels that ran.
std::string_view GpuShaped::nameOf(size_t step, std::span<const Launch> launches) const {
    if (mWorkspace.inPlace[step]) {
        return "in place";
    }
    if (!mParts->resources.profiles) {
        return mParts->traces[step].name;
    }
    std::string name = mParts->traces[step].name;
    for (const Launch& launch : launches) {
        name.append(&launch == launches.data() ? ": " : " + ");
        name.append(launch.program->family().kernel);
    }
    return mParts->keep(std::move(name));
}

// Step by step, so that each has its own time.
Status GpuShaped::runTraced(const RunArguments& arguments, BoundKernels& kernels,
                            GpuQueue& queue) const {
    size_t next = 0;
    for (size_t step = 0; step < mLayout.steps.size(); ++step) {
        const StepTrace& tells = mParts->traces[step];
        HALYARD_RETURN_IF_ERROR(arguments.checkpoint.check("before a kernel was enqueued"));
        const size_t first = next;
        while (next < mPlan.launches.size() && mPlan.launches[next].step == step) {
            ++next;
        }
        const std::span<const Launch> launches =
                std::span(mPlan.launches).subspan(first, next - first);
        TracedWork traced(arguments.trace, {.name = nameOf(step, launches),
                                            .track = arguments.track,
                                            .node = tells.leader,
                                            .fused = tells.others});
        const bool profiles = mParts->resources.profiles;
        for (size_t i = first; i < next; ++i) {
            const Status status = profiles ? kernels.enqueueTraced(i, queue, arguments.checkpoint)
                                           : kernels.enqueue(i, queue, arguments.checkpoint);
            HALYARD_RETURN_IF_ERROR(status.withContext(tells.leader->label));
        }
        std::chrono::nanoseconds deviceTime{0};
        if (profiles) {
            HALYARD_ASSIGN_OR_RETURN(deviceTime, queue.finishTraced());
        } else {
            HALYARD_RETURN_IF_ERROR(queue.finish());
        }
        traced.end([&] { return mWorkspace.inPlace[step] ? 0 : bytesMovedBy(mLayout.steps[step]); },
                   deviceTime);
    }
    return {};
}

uint64_t GpuShaped::bytesMovedBy(const LocalStep& step) const {
    uint64_t bytes = 0;
    for (const std::vector<LocalId>* const locals : {&step.inputs, &step.outputs}) {
        for (const LocalId local : *locals) {
            const Result<size_t> size = isPresent(local) ? mTypes[local].byteSize() : size_t{0};
            bytes += size.ok() ? *size : 0;
        }
    }
    return bytes;
}

Status GpuShaped::run(const RunArguments& arguments) const {
    auto* const kernels = static_cast<BoundKernels*>(arguments.state);
    if (kernels == nullptr || arguments.inputs.size() != mLayout.inputs.size() ||
        arguments.outputs.size() != mLayout.outputs.size()) {
        return internalError("a piece was run without its state or with the wrong tensors");
    }
    HALYARD_RETURN_IF_ERROR(mParts->resources.device->usable());
    HALYARD_RETURN_IF_ERROR(kernels->bind(mNumber, mPlan.launches));
    HALYARD_RETURN_IF_ERROR(placeOperands(arguments, *kernels));
    HALYARD_RETURN_IF_ERROR(kernels->clearCounters(mParts->resources.memory, arguments.checkpoint));
    const auto work = [&](GpuQueue& queue) -> Status {
        HALYARD_RETURN_IF_ERROR(arguments.trace == nullptr
                                        ? enqueueSteps(arguments, *kernels, queue)
                                        : runTraced(arguments, *kernels, queue));
        kernels->counted();
        return readFindings(arguments, queue);
    };
    return arguments.queue != nullptr ? work(static_cast<GpuQueue&>(*arguments.queue))
                                      : mParts->resources.memory.withQueue(work);
}

Status GpuShaped::readFindings(const RunArguments& arguments, GpuQueue& queue) const {
    if (mPlan.checks.empty()) {
        return {};
    }
    std::vector<Finding> findings(mPlan.checks.size());
    const DevicePlace& workspace = arguments.deviceWorkspace;
    HALYARD_RETURN_IF_ERROR(queue.copyOut(
            std::as_writable_bytes(std::span(findings)),
            {.buffer = workspace.buffer, .offset = workspace.offset + findingsBegin()},
            arguments.checkpoint));
    for (size_t i = 0; i < findings.size(); ++i) {
        if (findings[i].index >= 0) {
            const Check& check = mPlan.checks[i];
            return check.failure(findings[i]).withContext(mParts->traces[check.step].leader->label);
        }
    }
    return {};
}

class GpuPiece final : public CompiledPiece {
  public:
    explicit GpuPiece(const GpuResources& resources)
        : mParts(std::make_shared<PieceParts>(resources)) {}

    Status compile(const CompileArguments& arguments);
    Status finish(const PieceResources& resources) override;
    Result<std::unique_ptr<const ShapedPiece>> specialize(
            std::span<const TensorType* const> inputs,
            const Checkpoint& checkpoint) const override {
        auto shaped = std::make_unique<GpuShaped>(mParts);
        HALYARD_RETURN_IF_ERROR(shaped->create(inputs, checkpoint));
        return std::unique_ptr<const ShapedPiece>(std::move(shaped));
    }
    Result<std::unique_ptr<PieceState>> makeState(const PieceResources& resources) const override {
        ChargedBuffer counters;
        if (mParts->instructions.multipliesMatrices()) {
            HALYARD_ASSIGN_OR_RETURN(counters, ChargedBuffer::allocate(mParts->resources.memory,
                                                                       kCounters * sizeof(uint32_t),
                                                                       resources.deviceMemory));
        }
        return std::unique_ptr<PieceState>(
                std::make_unique<BoundKernels>(mParts->resources.device, std::move(counters)));
    }
    std::string_view kernelOf(size_t node) const override {
        return mParts->traces[mParts->layout.stepOf[node]].name;
    }
    std::span<const TensorId> packed() const override { return mPacked; }
    size_t deviceConstantBytes() const override { return mParts->uploaded.size(); }

  private:
    // Of a constant: who reads it in this piece.
    struct Reading {
        bool asData = false;
        bool asSteering = false;
        size_t times = 0;
    };
    std::map<LocalId, Reading> readingsOfConstants() const;

    const std::shared_ptr<PieceParts> mParts;
    std::vector<TensorId> mPacked;
};

std::map<LocalId, GpuPiece::Reading> GpuPiece::readingsOfConstants() const {
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
                const bool steers = signature.steers(i) || readsOnHost(*node.node, i);
                reading.asSteering = reading.asSteering || steers;
                reading.asData = reading.asData || !steers || readsOnDevice(*node.node, i);
                reading.times += steers ? 0 : 1;
            }
        }
    }
    return readings;
}

ProductTypes productTypesOf(const CompileArguments& arguments) {
    ProductTypes types;
    for (const NodeId node : arguments.piece.nodes) {
        for (const TensorId input : arguments.graph->node(node).inputs) {
            if (input == kNoTensor) {
                continue;
            }
            const DataType type = arguments.graph->tensor(input).type.type;
            types.bytes = types.bytes || isQuantized(type);
            types.halves = types.halves || type == DataType::FLOAT16;
            types.roughFloats = types.roughFloats || type == DataType::FLOAT32;
        }
    }
    types.roughFloats =
            types.roughFloats && (arguments.graph->relaxedFloat() || arguments.options.fastMath);
    return types;
}

Status GpuPiece::compile(const CompileArguments& arguments) {
    mParts->mayRound = arguments.graph->relaxedFloat() || arguments.options.fastMath;
    mParts->instructions =
            instructionsOf(productTypesOf(arguments), mParts->resources.device->facts(),
                           mParts->resources.programs, arguments.blobs);
    const std::vector<FusedNodes> fused =
            findFusions(*arguments.graph, arguments.piece, mParts->resources.device->facts());
    HALYARD_ASSIGN_OR_RETURN(mParts->layout, layOut(arguments.graph, arguments.piece, fused));
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
        if (!reading.asSteering) {
            mPacked.insert(mPacked.end(), reading.times, id);
        }
    }
    return {};
}

Status GpuPiece::finish(const PieceResources& resources) {
    mParts->blobs = resources.blobs;
    mParts->deviceMemory = resources.deviceMemory;
    size_t bytes = 0;
    for (const auto& [local, constant] : mParts->constants) {
        mParts->places[local] = bytes;
        bytes +=
                (constant.bytes + kConstantAlignment - 1) / kConstantAlignment * kConstantAlignment;
    }
    if (mParts->constants.empty()) {
        return {};
    }
    GpuMemory& memory = mParts->resources.memory;
    HALYARD_ASSIGN_OR_RETURN(mParts->uploaded,
                             ChargedBuffer::allocate(memory, std::max(bytes, kConstantAlignment),
                                                     resources.deviceMemory));
    return memory.withQueue([&](GpuQueue& queue) -> Status {
        for (const auto& [local, constant] : mParts->constants) {
            HALYARD_RETURN_IF_ERROR(queue.copyIn(
                    {.buffer = mParts->uploaded.get(), .offset = mParts->places[local]},
                    constant.in(resources.constants), resources.checkpoint));
        }
        return {};
    });
}

}  // namespace

Result<std::unique_ptr<CompiledPiece>> compilePiece(const GpuResources& resources,
                                                    const CompileArguments& arguments) {
    auto piece = std::make_unique<GpuPiece>(resources);
    HALYARD_RETURN_IF_ERROR(piece->compile(arguments));
    return std::unique_ptr<CompiledPiece>(std::move(piece));
}

}  // namespace halyard::engine::gpu
