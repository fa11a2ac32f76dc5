// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/launches/bound_kernels.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "engine/backends/gpu/opencl/failure.h"
#include "engine/base/log.h"

namespace halyard::engine::gpu {
namespace {

// Sets of shapes whose kernels stay bound.
constexpr size_t kMostPlans = 4;
// Work-groups along an axis but the first that every device takes.
constexpr size_t kMaxWorkGroups = 65535;
// An operand's block is in the highest bits of its offset, as the prelude has it.
constexpr int kBlockShift = 59;
constexpr size_t kMostBlocks = 32;
constexpr cl_ulong kUnset = ~cl_ulong{0};
// One launch is as quick by itself.
constexpr size_t kFewestInCommandBuffer = 2;
// Beginning and ending a command buffer then count for little.
constexpr int kTimedInCommandBuffer = 32;
// Bytes that a recording is charged for. No interface tells, so this is rather too much. Of each
// launch: 10 KiB for the node of a CUDA graph (NVIDIA says "around 10KB per kernel node" where it
// bounds its own cache of graphs: cccl, pull request 3768), and 1 KiB of the host's for its
// parameters.
constexpr size_t kBytesOfRecordedLaunch = size_t{11} << 10;
// Of the recording: the smallest block that a driver takes of the device for it.
constexpr size_t kBytesOfRecording = size_t{64} << 10;

}  // namespace

Status BoundKernels::clearCounters(GpuMemory& memory, const Checkpoint& checkpoint) {
    if (mCounters.get() != nullptr && !mCountersAreClear) {
        const std::array<std::byte, kCounters * sizeof(uint32_t)> none = {};
        HALYARD_RETURN_IF_ERROR(
                memory.copyIn({.buffer = mCounters.get(), .offset = 0}, none, checkpoint));
    }
    mCountersAreClear = false;
    return {};
}

Status BoundKernels::bind(uint64_t plan, std::span<const Launch> launches) {
    if (!mBound.empty() && mBound.back().plan == plan) {
        return {};
    }
    const auto found = std::ranges::find(mBound, plan, &BoundPlan::plan);
    if (found != mBound.end()) {
        std::rotate(found, found + 1, mBound.end());
        return {};
    }
    BoundPlan bound = {.plan = plan, .launches = {}, .bases = {}, .commandBuffer = {}};
    bound.launches.reserve(launches.size());
    for (const Launch& launch : launches) {
        HALYARD_ASSIGN_OR_RETURN(BoundLaunch one, bindOne(launch));
        bound.launches.push_back(std::move(one));
    }
    if (mBound.size() >= kMostPlans) {
        mBound.erase(mBound.begin());
    }
    mBound.push_back(std::move(bound));
    return {};
}

Result<BoundKernels::BoundLaunch> BoundKernels::bindOne(const Launch& launch) const {
    const OpenCl& cl = mDevice->cl();
    BoundLaunch bound = {.launch = &launch,
                         .kernel = {},
                         .blocks = {},
                         .offsets = {},
                         .ranges = rangesOf(launch)};
    const std::string name(launch.program->family().kernel);
    cl_int code = CL_SUCCESS;
    bound.kernel = KernelHandle(mDevice->library(),
                                cl.clCreateKernel(launch.program->get(), name.c_str(), &code));
    HALYARD_RETURN_IF_ERROR(check(code, "clCreateKernel").withContext(name));
    auto index = static_cast<cl_uint>(launch.program->blocks());
    for (const auto& argument : launch.arguments) {
        if (const auto* const bytes = std::get_if<ByValue>(&argument)) {
            HALYARD_RETURN_IF_ERROR(check(cl.clSetKernelArg(bound.kernel.get(), index,
                                                            bytes->size(), bytes->data()),
                                          "clSetKernelArg")
                                            .withContext(name));
        }
        ++index;
    }
    return bound;
}

// A launch that would take long goes in parts, along the axis that has the most work-groups.
std::vector<GpuQueue::Range> BoundKernels::rangesOf(const Launch& launch) const {
    const std::span<const size_t, 3> local(launch.program->family().local);
    std::array<size_t, 3> groups = {};
    for (size_t axis = 0; axis < groups.size(); ++axis) {
        groups[axis] = (launch.workItems[axis] + local[axis] - 1) / local[axis];
    }
    const size_t axis = static_cast<size_t>(std::ranges::max_element(groups) - groups.begin());
    size_t each = groups[axis] / (1 + launch.work / GpuQueue::mostWork(mDevice->facts()));
    each = std::clamp<size_t>(each, 1, axis == 0 ? groups[axis] : kMaxWorkGroups);
    std::vector<GpuQueue::Range> ranges;
    for (size_t begin = 0; begin < groups[axis]; begin += each) {
        GpuQueue::Range& range = ranges.emplace_back();
        for (size_t i = 0; i < groups.size(); ++i) {
            range.workItems[i] = groups[i] * local[i];
            range.local[i] = local[i];
        }
        range.offset[axis] = begin * local[axis];
        range.workItems[axis] = std::min(each, groups[axis] - begin) * local[axis];
        range.work = launch.work * each / groups[axis];
    }
    return ranges;
}

Status BoundKernels::setOperands(BoundLaunch& bound) const {
    const OpenCl& cl = mDevice->cl();
    const auto set = [&](size_t index, size_t size, const void* value) {
        return check(
                cl.clSetKernelArg(bound.kernel.get(), static_cast<cl_uint>(index), size, value),
                "clSetKernelArg");
    };
    const size_t most = bound.launch->program->blocks();
    std::array<Placed, kMostBlocks> blocks = {};
    size_t count = 0;
    bound.offsets.resize(mPlaced.size(), kUnset);
    for (size_t i = 0; i < mPlaced.size(); ++i) {
        if (!std::holds_alternative<Operand>(bound.launch->arguments[i])) {
            continue;
        }
        const Placed block = {.memory = mPlaced[i].memory, .block = mPlaced[i].block};
        const auto* const end = blocks.begin() + count;
        const auto* const found = std::find(std::as_const(blocks).begin(), end, block);
        if (found == end) {
            if (count == most) {
                return internalError("a kernel's tensors lie in more blocks than were foreseen");
            }
            blocks[count++] = block;
        }
        const auto number = static_cast<cl_ulong>(found - blocks.begin());
        const cl_ulong offset = number << kBlockShift | mPlaced[i].offset;
        if (bound.offsets[i] != offset) {
            bound.offsets[i] = kUnset;
            HALYARD_RETURN_IF_ERROR(set(most + i, sizeof offset, &offset));
            bound.offsets[i] = offset;
        }
    }
    // Those that no tensor lies in are parameters as well.
    std::fill(blocks.begin() + count, blocks.begin() + most, blocks[0]);
    bound.blocks.resize(most);
    for (size_t i = 0; i < most; ++i) {
        if (bound.blocks[i] != blocks[i] || blocks[i].memory == nullptr) {
            bound.blocks[i] = {};
            HALYARD_RETURN_IF_ERROR(set(i, sizeof(cl_mem), &blocks[i].memory));
            bound.blocks[i] = blocks[i];
        }
    }
    return {};
}

Status BoundKernels::enqueue(size_t index, GpuQueue& queue, const Checkpoint& checkpoint) {
    const BoundLaunch& bound = mBound.back().launches[index];
    for (const GpuQueue::Range& range : bound.ranges) {
        const Status status = queue.enqueue(bound.kernel.get(), range, checkpoint);
        if (!status.ok()) {
            return status.withContext(bound.launch->program->family().kernel);
        }
    }
    return {};
}

Status BoundKernels::record(BoundPlan& plan, const GpuQueue& queue, size_t times) const {
    CommandBuffer& commandBuffer = plan.commandBuffer;
    std::vector<GpuQueue::RecordedLaunch> launches;
    for (size_t i = 0; i < times; ++i) {
        for (const BoundLaunch& bound : plan.launches) {
            for (const GpuQueue::Range& range : bound.ranges) {
                launches.push_back({.kernel = bound.kernel.get(), .range = &range});
                commandBuffer.work += range.work;
            }
        }
    }
    commandBuffer.isImpossible = commandBuffer.work > GpuQueue::mostWork(mDevice->facts());
    if (commandBuffer.isImpossible) {
        return {};
    }
    Result<Reservation> memory = Reservation::create(
            mDeviceMemory, kBytesOfRecording + launches.size() * kBytesOfRecordedLaunch);
    commandBuffer.isImpossible = !memory.ok();
    if (commandBuffer.isImpossible) {
        return {};
    }
    Result<RecordingHandle> recording = queue.record(launches);
    commandBuffer.isImpossible = !recording.ok();
    HALYARD_RETURN_IF_ERROR(recording.status());
    commandBuffer.recorded =
            std::make_unique<const ChargedRecording>(*std::move(memory), *std::move(recording));
    return {};
}

Result<bool> BoundKernels::replay(GpuQueue& queue, const Checkpoint& checkpoint) {
    BoundPlan& plan = mBound.back();
    CommandBuffer& commandBuffer = plan.commandBuffer;
    if (commandBuffer.isImpossible || !queue.canRecord() ||
        plan.launches.size() < kFewestInCommandBuffer || commandBuffer.runs++ == 0) {
        return false;
    }
    if (commandBuffer.recorded == nullptr) {
        const Status recorded = record(plan, queue, 1);
        if (!recorded.ok()) {
            log(LogLevel::WARNING,
                "GpuAcc launches kernel by kernel: " + std::string(recorded.message()));
        }
        if (commandBuffer.isImpossible) {
            return false;
        }
    }
    HALYARD_RETURN_IF_ERROR(queue.enqueueRecording(commandBuffer.recorded->recording.get(),
                                                   commandBuffer.work, checkpoint));
    return true;
}

Result<std::optional<std::chrono::nanoseconds>> BoundKernels::timeInCommandBuffer(
        GpuQueue& queue, const Checkpoint& checkpoint) {
    BoundPlan& plan = mBound.back();
    CommandBuffer& commandBuffer = plan.commandBuffer;
    if (!queue.canRecord() || commandBuffer.isImpossible) {
        return std::optional<std::chrono::nanoseconds>();
    }
    if (commandBuffer.recorded == nullptr) {
        if (!record(plan, queue, kTimedInCommandBuffer).ok() || commandBuffer.isImpossible) {
            return std::optional<std::chrono::nanoseconds>();
        }
    }
    HALYARD_RETURN_IF_ERROR(queue.finish());
    const auto start = std::chrono::steady_clock::now();
    HALYARD_RETURN_IF_ERROR(queue.enqueueRecording(commandBuffer.recorded->recording.get(),
                                                   commandBuffer.work, checkpoint));
    HALYARD_RETURN_IF_ERROR(queue.finish());
    return std::optional<std::chrono::nanoseconds>((std::chrono::steady_clock::now() - start) /
                                                   kTimedInCommandBuffer);
}

Status BoundKernels::enqueueTraced(size_t index, GpuQueue& queue, const Checkpoint& checkpoint) {
    const BoundLaunch& bound = mBound.back().launches[index];
    for (const GpuQueue::Range& range : bound.ranges) {
        HALYARD_RETURN_IF_ERROR(queue.enqueueTraced(bound.kernel.get(), range, checkpoint)
                                        .withContext(bound.launch->program->family().kernel));
    }
    return {};
}

}  // namespace halyard::engine::gpu
