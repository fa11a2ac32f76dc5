// SPDX-License-Identifier: Apache-2.0
//
// What an execution keeps on the device: a queue, and the kernels of the shapes that it ran last
// with their arguments, which are set again only where they changed.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/backends/gpu/device.h"
#include "engine/backends/gpu/launch.h"
#include "engine/base/checkpoint.h"
#include "engine/plan/backend.h"

namespace halyard::engine::gpu {

// Where an operand lies in the run at hand.
struct Placed {
    cl_mem memory = nullptr;
    uint64_t offset = 0;

    bool operator==(const Placed&) const = default;
};

// One thread at a time.
class RunQueue final : public PieceState {
  public:
    explicit RunQueue(std::shared_ptr<const Device> device) : mDevice(std::move(device)) {}
    Status create();

    // Makes the kernels of a plan ready, unless they are: `plan` is none other's number in the
    // process. The launches outlive the runs.
    Status bind(uint64_t plan, std::span<const Launch> launches);

    // Enqueues the launch with this index among those that are bound; placed(operand) tells where
    // one lies. Polls the checkpoint where so much is in the queue that it takes a while. Traced:
    // what it took on the device is to be had from finish().
    template <typename Where>
    Status enqueue(size_t index, const Where& placed, const Checkpoint& checkpoint, bool traced) {
        BoundLaunch& bound = mBound.back().launches[index];
        cl_uint place = 0;
        size_t operand = 0;
        for (const auto& argument : bound.launch->arguments) {
            const auto* const tensor = std::get_if<Operand>(&argument);
            if (tensor == nullptr) {
                ++place;
                continue;
            }
            const Placed where = placed(*tensor);
            if (bound.set[operand] != where) {
                HALYARD_RETURN_IF_ERROR(setOperand(bound, place, where));
                bound.set[operand] = where;
            }
            ++operand;
            place += 2;
        }
        return enqueueGroups(bound, checkpoint, traced);
    }

    // Waits for all that was enqueued. The time that what was traced took on the device.
    Result<std::chrono::nanoseconds> finish();

  private:
    struct BoundLaunch {
        const Launch* launch = nullptr;
        KernelHandle kernel;
        std::vector<Placed> set;  // per operand
    };
    struct BoundPlan {
        uint64_t plan = 0;
        std::vector<BoundLaunch> launches;
    };

    Result<BoundLaunch> bindOne(const Launch& launch) const;
    Status setOperand(BoundLaunch& bound, cl_uint place, const Placed& where) const;
    Status enqueueGroups(BoundLaunch& bound, const Checkpoint& checkpoint, bool traced);
    // Waits where much is in the queue.
    Status pace(uint64_t work, const Checkpoint& checkpoint, cl_command_queue queue);

    const std::shared_ptr<const Device> mDevice;
    QueueHandle mQueue;
    QueueHandle mTraced;            // made when somebody first asks
    std::vector<BoundPlan> mBound;  // the one at hand is the last
    std::vector<EventHandle> mEvents;
    uint64_t mEnqueued = 0;  // operations since the queue was last empty
};

}  // namespace halyard::engine::gpu
