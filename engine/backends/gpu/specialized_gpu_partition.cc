// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/specialized_gpu_partition.h"

#include <atomic>
#include <chrono>

#include "engine/backends/gpu/kernels/kernels.h"
#include "engine/backends/gpu/launches/building.h"
#include "engine/backends/gpu/tuning/tuner.h"
#include "engine/base/log.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine::gpu {
namespace {

constexpr size_t kStepsPerCheck = 64;
constexpr size_t kLaunchesPerCheck = 8;

uint64_t nextNumber() {
    // Numbers tell plans apart that come to lie at one address after the other.
    static std::atomic<uint64_t> last = 0;
    return ++last;
}

}  // namespace

SpecializedGpuPartition::SpecializedGpuPartition(std::shared_ptr<const PartitionParts> parts)
    : mParts(std::move(parts)), mLayout(mParts->layout), mNumber(nextNumber()) {}

Status SpecializedGpuPartition::inferTypes(std::span<const TensorType* const> inputs,
                                           const Checkpoint& checkpoint) {
    if (inputs.size() != mLayout.inputs.size()) {
        return internalError("a partition was given the types of another number of inputs");
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

Status SpecializedGpuPartition::planSteps(const Checkpoint& checkpoint) {
    Status planned = planWith(mParts->matrixFeatures, checkpoint);
    // A trial shows that an instruction is there, and not that every kernel with it builds.
    if (planned.code() == StatusCode::INTERNAL && mParts->matrixFeatures.any()) {
        log(LogLevel::WARNING, "GpuAcc goes without the device's matrix unit for a model: " +
                                       std::string(planned.message()));
        planned = planWith(MatrixFeatures(), checkpoint);
    }
    HALYARD_RETURN_IF_ERROR(planned);
    const std::vector<bool> open(mLayout.steps.size(), false);
    std::vector<KernelBytes> bytes;
    for (const size_t scratch : mPlan.scratchBytes) {
        bytes.push_back({.workspace = scratch});
    }
    HALYARD_ASSIGN_OR_RETURN(mWorkspace, planWorkspace(mLayout, mTypes, open, bytes, 1));
    std::erase_if(mPlan.launches,
                  [this](const Launch& launch) { return mWorkspace.inPlace[launch.step]; });
    return {};
}

Status SpecializedGpuPartition::planWith(const MatrixFeatures& matrixFeatures,
                                         const Checkpoint& checkpoint) {
    mPlan = {};
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
                                     .matrixFeatures = matrixFeatures,
                                     .mayRound = mParts->mayRound,
                                     .plan = mPlan,
                                     .chooser = resources.tuning.isOff() ? nullptr : &tuner},
                                    checkpoint);
    // Others have a use for what was measured, even where this partition comes to nothing.
    resources.tuning.save();
    return planned;
}

Status SpecializedGpuPartition::planEach(const StepPlan::Environment& environment,
                                         const Checkpoint& checkpoint) const {
    for (size_t step = 0; step < mLayout.steps.size(); ++step) {
        HALYARD_RETURN_IF_ERROR(checkpoint.check("while kernels were made ready"));
        StepPlan plan(environment, step);
        HALYARD_RETURN_IF_ERROR(planStep(plan).withContext(plan.node(plan.leader()).label));
        if (environment.chooser != nullptr) {
            // The measurements that follow have the device to themselves.
            HALYARD_RETURN_IF_ERROR(plan.buildPrograms());
        }
    }
    return buildPrograms(environment.layout, environment.plan.launches, environment.programs,
                         environment.blobs, checkpoint);
}

Status SpecializedGpuPartition::uploadTables(const Checkpoint& checkpoint) {
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

Placed SpecializedGpuPartition::placeOf(const Operand& operand, size_t step,
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
            return in(workspace.buffer, workspace.offset + mWorkspace.kernels[step].workspace);
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
Status SpecializedGpuPartition::placeOperands(const RunArguments& arguments,
                                              BoundKernels& kernels) const {
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

Status SpecializedGpuPartition::enqueueSteps(const RunArguments& arguments, BoundKernels& kernels,
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
std::string_view SpecializedGpuPartition::nameOf(size_t step,
                                                 std::span<const Launch> launches) const {
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
Status SpecializedGpuPartition::runTraced(const RunArguments& arguments, BoundKernels& kernels,
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

uint64_t SpecializedGpuPartition::bytesMovedBy(const LocalStep& step) const {
    uint64_t bytes = 0;
    for (const std::vector<LocalId>* const locals : {&step.inputs, &step.outputs}) {
        for (const LocalId local : *locals) {
            const Result<size_t> size = isPresent(local) ? mTypes[local].byteSize() : size_t{0};
            bytes += size.ok() ? *size : 0;
        }
    }
    return bytes;
}

Status SpecializedGpuPartition::run(const RunArguments& arguments) const {
    auto* const kernels = static_cast<BoundKernels*>(arguments.state);
    if (kernels == nullptr || arguments.inputs.size() != mLayout.inputs.size() ||
        arguments.outputs.size() != mLayout.outputs.size()) {
        return internalError("a partition was run without its state or with the wrong tensors");
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

Status SpecializedGpuPartition::readFindings(const RunArguments& arguments, GpuQueue& queue) const {
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

}  // namespace halyard::engine::gpu
