// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/run_queue.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/backends/gpu/opencl/failure.h"

namespace halyard::engine::gpu {
namespace {

// Sets of shapes whose kernels stay bound.
constexpr size_t kMostPlans = 4;
// What a compute unit does in about a tenth of a second, or less: no more is in the queue before
// the checkpoint is asked.
constexpr uint64_t kWorkPerUnit = uint64_t{1} << 26;
// Groups along an axis but the first that every device takes.
constexpr size_t kMostGroups = 65535;

}  // namespace

Status RunQueue::create() {
    HALYARD_ASSIGN_OR_RETURN(mQueue, mDevice->makeQueue());
    return {};
}

Status RunQueue::bind(uint64_t plan, std::span<const Launch> launches) {
    const auto found = std::ranges::find(mBound, plan, &BoundPlan::plan);
    if (found != mBound.end()) {
        std::rotate(found, found + 1, mBound.end());
        return {};
    }
    BoundPlan bound = {.plan = plan, .launches = {}};
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

Result<RunQueue::BoundLaunch> RunQueue::bindOne(const Launch& launch) const {
    const OpenCl& cl = mDevice->cl();
    BoundLaunch bound = {.launch = &launch, .kernel = {}, .set = {}};
    const std::string name(launch.program->family().kernel);
    cl_int code = CL_SUCCESS;
    bound.kernel = KernelHandle(mDevice->library(),
                                cl.clCreateKernel(launch.program->get(), name.c_str(), &code));
    HALYARD_RETURN_IF_ERROR(check(code, "clCreateKernel").withContext(name));
    cl_uint place = 0;
    for (const auto& argument : launch.arguments) {
        if (const auto* const bytes = std::get_if<ByValue>(&argument)) {
            HALYARD_RETURN_IF_ERROR(check(cl.clSetKernelArg(bound.kernel.get(), place,
                                                            bytes->size(), bytes->data()),
                                          "clSetKernelArg")
                                            .withContext(name));
            ++place;
        } else {
            bound.set.emplace_back();
            place += 2;
        }
    }
    return bound;
}

Status RunQueue::setOperand(BoundLaunch& bound, cl_uint place, const Placed& where) const {
    const OpenCl& cl = mDevice->cl();
    const cl_ulong offset = where.offset;
    HALYARD_RETURN_IF_ERROR(
            check(cl.clSetKernelArg(bound.kernel.get(), place, sizeof(cl_mem), &where.memory),
                  "clSetKernelArg"));
    return check(cl.clSetKernelArg(bound.kernel.get(), place + 1, sizeof offset, &offset),
                 "clSetKernelArg");
}

Status RunQueue::pace(uint64_t work, const Checkpoint& checkpoint, cl_command_queue queue) {
    mEnqueued += work;
    if (mEnqueued <= kWorkPerUnit * mDevice->facts().computeUnits) {
        return {};
    }
    mEnqueued = 0;
    HALYARD_RETURN_IF_ERROR(check(mDevice->cl().clFinish(queue), "clFinish"));
    return checkpoint.check("while it ran");
}

// A launch that would take long goes in parts, along the axis that has the most groups.
Status RunQueue::enqueueGroups(BoundLaunch& bound, const Checkpoint& checkpoint, bool traced) {
    const OpenCl& cl = mDevice->cl();
    const Launch& launch = *bound.launch;
    if (traced && mTraced.get() == nullptr) {
        HALYARD_ASSIGN_OR_RETURN(mTraced, mDevice->makeQueue(true));
    }
    const cl_command_queue queue = traced ? mTraced.get() : mQueue.get();
    const std::span<const size_t, 3> local(launch.program->family().local);
    std::array<size_t, 3> groups = {};
    for (size_t axis = 0; axis < groups.size(); ++axis) {
        groups[axis] = (launch.items[axis] + local[axis] - 1) / local[axis];
    }
    const size_t axis = static_cast<size_t>(std::ranges::max_element(groups) - groups.begin());
    const uint64_t limit = kWorkPerUnit * mDevice->facts().computeUnits;
    size_t each = groups[axis] / (1 + launch.work / limit);
    each = std::clamp<size_t>(each, 1, axis == 0 ? groups[axis] : kMostGroups);
    const uint64_t share = launch.work * each / groups[axis];
    for (size_t begin = 0; begin < groups[axis]; begin += each) {
        std::array<size_t, 3> offset = {};
        std::array<size_t, 3> items = {};
        for (size_t i = 0; i < items.size(); ++i) {
            items[i] = groups[i] * local[i];
        }
        offset[axis] = begin * local[axis];
        items[axis] = std::min(each, groups[axis] - begin) * local[axis];
        cl_event event = nullptr;
        const cl_int code = cl.clEnqueueNDRangeKernel(
                queue, bound.kernel.get(), 3, begin == 0 ? nullptr : offset.data(), items.data(),
                local.data(), 0, nullptr, traced ? &event : nullptr);
        HALYARD_RETURN_IF_ERROR(
                check(code, "clEnqueueNDRangeKernel").withContext(launch.program->family().kernel));
        if (event != nullptr) {
            mEvents.emplace_back(mDevice->library(), event);
        }
        HALYARD_RETURN_IF_ERROR(pace(share, checkpoint, queue));
    }
    return {};
}

Result<std::chrono::nanoseconds> RunQueue::finish() {
    const OpenCl& cl = mDevice->cl();
    mEnqueued = 0;
    Status status = check(cl.clFinish(mQueue.get()), "clFinish");
    if (mTraced.get() != nullptr) {
        const Status traced = check(cl.clFinish(mTraced.get()), "clFinish");
        status = status.ok() ? traced : status;
    }
    std::chrono::nanoseconds time{0};
    for (const EventHandle& event : mEvents) {
        cl_ulong begin = 0;
        cl_ulong end = 0;
        // A device that tells no time leaves it at none.
        if (cl.clGetEventProfilingInfo(event.get(), CL_PROFILING_COMMAND_START, sizeof begin,
                                       &begin, nullptr) == CL_SUCCESS &&
            cl.clGetEventProfilingInfo(event.get(), CL_PROFILING_COMMAND_END, sizeof end, &end,
                                       nullptr) == CL_SUCCESS &&
            end > begin) {
            time += std::chrono::nanoseconds(end - begin);
        }
    }
    mEvents.clear();
    HALYARD_RETURN_IF_ERROR(status);
    return time;
}

}  // namespace halyard::engine::gpu
