// SPDX-License-Identifier: Apache-2.0
//
// ScheduleRun: the memory and the state for running one schedule, once at a time: that of a
// program, or of a graph inside an If or While, whose runs it keeps for the next time.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "engine/base/checkpoint.h"
#include "engine/base/reused_buffer.h"
#include "engine/base/status.h"
#include "engine/plan/bindings.h"
#include "engine/plan/program.h"
#include "engine/plan/schedule.h"
#include "engine/plan/shaped_plan.h"

namespace halyard::engine {

// State that the runs of all graphs of one execution share. The spans and pointers outlive the run.
struct RunContext {
    std::shared_ptr<Budget> memory;        // null: not limited
    std::shared_ptr<Budget> deviceMemory;  // the same
    std::span<const std::byte> constants;
    ThreadLease* threads = nullptr;
    Checkpoint checkpoint;
    std::chrono::nanoseconds loopTimeout{0};
    TraceSink* trace = nullptr;
    OutputMemory* outputMemory = nullptr;  // for outputs of the outermost graph; null: none
    DeviceQueues queues;
    // So far.
    std::chrono::nanoseconds deviceTime{0};
    size_t copies = 0;  // between the host's memory and a device's
    uint64_t copiedBytes = 0;
    uint64_t bindingBytes = 0;  // of the caller's inputs and outputs that were not used in place
};

class ScheduleRun {
  public:
    explicit ScheduleRun(const Schedule& schedule);
    ~ScheduleRun();

    // Before the first run: has the partitions make what they keep, those of the graphs inside too,
    // and the devices the queues that runs need. Fails as the first backend does.
    Status makeStates(const PartitionResources& resources, DeviceQueues& queues);

    // `outermost`: bindings are a caller's, which may overlap each other. The results are told to
    // `reports`, one per output, as Execution::run says. The queues of the context are for the
    // caller to finish, whatever becomes of the run.
    Status run(std::span<const InputBinding> inputs, std::span<RunOutput> outputs, bool outermost,
               RunContext& context, std::span<OutputReport> reports);

    // After a run: output `index` as the next step may read it, wherever it lies.
    ConstTensorView output(size_t index) const;
    size_t arenaBytes() const { return mPlan == nullptr ? 0 : mPlan->arenaBytes; }
    size_t deviceArenaBytes() const {
        return mPlan == nullptr ? 0
                                : std::accumulate(mPlan->deviceArenaBytes.begin(),
                                                  mPlan->deviceArenaBytes.end(), size_t{0});
    }
    size_t deviceTableBytes() const { return mPlan == nullptr ? 0 : mPlan->deviceTableBytes; }

  private:
    // A slot's type and memory in the run at hand.
    struct BoundSlot {
        const TensorType* type = nullptr;  // the plan's, or `foundType`; null: absent
        TensorType foundType;              // where only the run tells the shape
        size_t bytes = 0;                  // 0 while the shape is unknown
        std::byte* data = nullptr;         // null while there is no memory, or on a device
        DevicePlace device;                // where its home is one
        bool inCallersMemory = false;
        // Of a graph input: where it lies on a device, and not on the host unless fetched.
        const DeviceBytes* onDevice = nullptr;
        // For a graph input or output that can't be used in place, or of found shape.
        ReusedBuffer own;
        ReusedDeviceBuffer ownOnDevice;

        bool placed() const { return data != nullptr || device.buffer != nullptr; }
    };

    // A step's state from run to run.
    struct StepState {
        std::unique_ptr<PartitionState> partition;  // null where the backend keeps nothing
        std::unique_ptr<ScheduleRun> first;         // then, condition
        std::unique_ptr<ScheduleRun> second;        // otherwise, body
        std::vector<InputBinding> inputs;           // of the graphs inside, as are the next
        std::vector<RunOutput> outputs;
        std::vector<OutputReport> reports;
        ReusedBuffer verdict;                 // of a While's condition
        std::vector<ReusedBuffer> values[2];  // of a While, by the parity of the round
    };

    class PartitionAllocator;

    void bindTypes();
    Status bindMemory();
    Status bindInput(size_t index);
    Status place(SlotId id);
    Status placeOnDevice(SlotId id);
    Status settleOutputs(std::span<OutputReport> reports, bool finished);
    Status describeShortOutputs(std::span<const OutputReport> reports) const;
    Status runStep(size_t index);
    Status runPartition(size_t index);
    Status runCopy(const Step& step, const CopyStep& copy);
    // Waits for the copies from devices that steps have begun.
    Status finishReads();
    Status runIf(const Step& step, StepState& state);
    Status runWhile(const Step& step, const WhileStep& loop, StepState& state);
    Status runBody(const WhileStep& loop, StepState& state, size_t round);
    Result<bool> holds(StepState& state);
    void bindNested(std::span<const SlotId> values, StepState& state);
    Status takeResult(SlotId id, const ConstTensorView& result);
    Result<std::shared_ptr<const SpecializedPartition>> specialize(const Step& step);
    Status foundShape(SlotId id, const Shape& shape);
    Status copyOutputs();
    // Of the memory of devices that a caller binds (device_bindings.cc).
    void linkOutputs();
    Status fetch(SlotId id);
    const DeviceBytes* deviceTargetOf(SlotId id) const;
    bool staysOnDevice(SlotId id) const;
    Status bringToDevice(size_t output);
    bool asksFor(size_t output) const;
    Result<std::span<uint8_t>> memoryFor(size_t output);
    Result<std::byte*> targetOf(size_t output);
    Result<std::byte*> bufferBytes(ReusedBuffer& buffer, size_t bytes, std::string_view role) const;
    Result<std::byte*> arenaMemory() {
        return bufferBytes(mArena, mPlan->arenaBytes, "the arena of an execution");
    }
    Result<DeviceBuffer*> arenaOn(HomeId device) {
        return mDeviceArenas[device].get(*mSchedule.devices[device], *mQueues[device],
                                         mPlan->deviceArenaBytes[device], mContext->deviceMemory,
                                         "the arena of an execution");
    }
    ConstTensorView viewOf(SlotId id) const {
        const BoundSlot* slot = id == kNoSlot ? nullptr : &mSlots[id];
        return slot == nullptr || slot->type == nullptr
                       ? ConstTensorView()
                       : ConstTensorView{.type = slot->type,
                                         .data = slot->data,
                                         .device = slot->device.buffer,
                                         .offset = slot->device.offset};
    }

    const Schedule& mSchedule;
    std::vector<DeviceQueue*> mQueues;  // as Schedule::devices
    // Per graph output: the next one that is the same tensor; kNoOutput: none.
    static constexpr size_t kNoOutput = static_cast<size_t>(-1);
    std::vector<size_t> mNextSame;
    // Per slot: of what a device computes and a copy brings to the host, the first graph output
    // that it is.
    std::vector<size_t> mOutputOf;
    bool mIsReading = false;

    // The run at hand. The spans are the caller's.
    std::span<const InputBinding> mInputs;
    std::span<RunOutput> mOutputs;
    RunContext* mContext = nullptr;
    std::shared_ptr<const ShapedPlan> mPlan;

    // Memory, kept from run to run.
    std::vector<MaybeShape> mInputShapes;
    std::vector<BoundSlot> mSlots;
    std::vector<StepState> mSteps;
    // For outputs that lie in caller's memory at risk, while the others are brought there.
    std::vector<ReusedBuffer> mSavedOutputs;
    bool mOutermost = false;  // inputs and outputs are the caller's
    std::vector<uint8_t> mOverlaps;
    OverlapFinder mOverlapFinder;
    ReusedBuffer mArena;
    std::vector<ReusedDeviceBuffer> mDeviceArenas;  // as Schedule::devices
    ReusedBuffer mWorkspace;                        // of partitions that the plan left open
    std::vector<ReusedDeviceBuffer> mDeviceWorkspaces;
    std::vector<ConstTensorView> mInputViews;
    std::vector<TensorView> mOutputViews;
    std::vector<const TensorType*> mTypes;  // of an open partition, as is the next
    std::vector<MaybeShape> mShapes;
};

}  // namespace halyard::engine
