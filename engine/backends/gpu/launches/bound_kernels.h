// SPDX-License-Identifier: Apache-2.0
//
// BoundKernels: an execution's state of a partition: the kernels of the shapes that it ran last,
// with their arguments and the ranges that they are launched over. Where a run's tensors lie as
// they did in the last, nothing is left to do but to enqueue.

#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/backends/gpu/device/device.h"
#include "engine/backends/gpu/device/gpu_memory.h"
#include "engine/backends/gpu/device/gpu_queue.h"
#include "engine/backends/gpu/launches/launch.h"
#include "engine/base/budget.h"
#include "engine/base/checkpoint.h"
#include "engine/plan/backend.h"

namespace halyard::engine::gpu {

// Where something lies in the run at hand; nowhere: an input that was left out.
struct Placed {
    cl_mem memory = nullptr;
    uint64_t block = 0;  // the number of the block, whose handle may have been another's
    uint64_t offset = 0;

    static Placed at(const DeviceBuffer* buffer, uint64_t offset) {
        return buffer == nullptr ? Placed()
                                 : Placed{.memory = memoryOf(buffer),
                                          .block = static_cast<const GpuBuffer*>(buffer)->number(),
                                          .offset = offset};
    }
    bool operator==(const Placed&) const = default;
};

// One thread at a time.
class BoundKernels final : public PartitionState {
  public:
    // `deviceMemory`: what command buffer are charged to; null: not limited. `counters`: room for
    // kCounters of them; nothing where no launch has them.
    explicit BoundKernels(std::shared_ptr<const Device> device,
                          std::shared_ptr<Budget> deviceMemory = nullptr,
                          ChargedBuffer counters = {})
        : mDevice(std::move(device)),
          mDeviceMemory(std::move(deviceMemory)),
          mCounters(std::move(counters)) {}

    const DeviceBuffer* counters() const { return mCounters.get(); }
    // Clears them, unless every run since they were has come to counted().
    Status clearCounters(GpuMemory& memory, const Checkpoint& checkpoint);
    // All launches of the run are enqueued.
    void counted() { mCountersAreClear = true; }

    // Makes the kernels of a plan ready, unless they are: `plan` is none other's number in the
    // process. The launches outlive the runs.
    Status bind(uint64_t plan, std::span<const Launch> launches);

    // Of the plan that is bound. `bases`: what decides where operands lie; placed(operand, step)
    // tells where one does, and is asked only where a base has moved.
    template <typename Where>
    Status place(std::span<const Placed> bases, const Where& placed) {
        BoundPlan& plan = mBound.back();
        if (std::ranges::equal(plan.bases, bases)) {
            return {};
        }
        plan.bases.clear();
        plan.commandBuffer = {};
        for (BoundLaunch& bound : plan.launches) {
            mPlaced.clear();
            for (const auto& argument : bound.launch->arguments) {
                const auto* const tensor = std::get_if<Operand>(&argument);
                mPlaced.push_back(tensor == nullptr ? Placed()
                                                    : placed(*tensor, bound.launch->step));
            }
            HALYARD_RETURN_IF_ERROR(setOperands(bound));
        }
        plan.bases.assign(bases.begin(), bases.end());
        return {};
    }

    // Enqueues the launch with this index among those that are bound and placed.
    Status enqueue(size_t index, GpuQueue& queue, const Checkpoint& checkpoint);
    // Enqueues them all, in their order, as a command buffer that the device has kept from the run
    // before. False: it has kept none, and each is to be enqueued. A command buffer is worth making
    // once a second run finds everything where it was, and while the budget has room for it.
    Result<bool> replay(GpuQueue& queue, const Checkpoint& checkpoint);
    // Time of one run of them all amid others of the same, by a command buffer, which is run to its
    // end; nothing where the device keeps none, it would take too long, or the budget has no room
    // for it.
    Result<std::optional<std::chrono::nanoseconds>> timeInCommandBuffer(
            GpuQueue& queue, const Checkpoint& checkpoint);
    // As enqueue(), for GpuQueue::finishTraced().
    Status enqueueTraced(size_t index, GpuQueue& queue, const Checkpoint& checkpoint);

    // For the caller to put bases into; kept so that a run allocates nothing.
    std::vector<Placed>& emptyBases() {
        mBases.clear();
        return mBases;
    }

  private:
    struct BoundLaunch {
        const Launch* launch = nullptr;
        KernelHandle kernel;
        std::vector<Placed> blocks;     // as they are set, each at its beginning
        std::vector<cl_ulong> offsets;  // per argument that is an operand, the same
        std::vector<GpuQueue::Range> ranges;
    };
    struct ChargedRecording {
        Reservation memory;  // ends after the recording
        RecordingHandle recording;
    };
    // Of a plan's launches with the arguments that they have.
    struct CommandBuffer {
        uint64_t runs = 0;
        uint64_t work = 0;
        std::unique_ptr<const ChargedRecording> recorded;
        bool isImpossible = false;
    };
    struct BoundPlan {
        uint64_t plan = 0;
        std::vector<BoundLaunch> launches;
        std::vector<Placed> bases;  // that the operands were placed by; none: not all are
        CommandBuffer commandBuffer;
    };

    Result<BoundLaunch> bindOne(const Launch& launch) const;
    std::vector<GpuQueue::Range> rangesOf(const Launch& launch) const;
    // So many `times` one after the other, unless that takes so long that somebody should be able
    // to stop it in between, or there is no room for it.
    Status record(BoundPlan& plan, const GpuQueue& queue, size_t times) const;
    // Where mPlaced has them.
    Status setOperands(BoundLaunch& bound) const;

    const std::shared_ptr<const Device> mDevice;
    const std::shared_ptr<Budget> mDeviceMemory;  // null: not limited
    const ChargedBuffer mCounters;
    bool mCountersAreClear = false;
    std::vector<BoundPlan> mBound;  // the one at hand is the last
    std::vector<Placed> mBases;
    std::vector<Placed> mPlaced;  // per argument of the launch at hand
};

}  // namespace halyard::engine::gpu
