// SPDX-License-Identifier: Apache-2.0
//
// One run of a plan after another, with the memory that lies between its steps.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "driver/device/device_interface.h"
#include "driver/model/memory.h"
#include "nnapi/answer.h"
#include "nnapi/compilation.h"
#include "nnapi/plan.h"

namespace halyard::nnapi {

// Where an operand lies while a plan runs.
struct Place {
    driver::SharedMemory memory;  // null: nowhere, or in a device's buffer
    uint32_t token = 0;           // of that
    uint64_t offset = 0;          // bytes, as the next two
    uint64_t length = 0;
    uint64_t padding = 0;
    std::vector<uint32_t> dimensions;  // empty: not known, or a scalar; 0: unspecified
    bool isOmitted = false;
    bool isSufficient = true;  // of an output, after the run

    bool isSomewhere() const { return memory != nullptr || token != 0; }
};

// A request of one step: its places as the device can take them. What a device of another process
// can't take lies in memory that both share, and is copied.
class StepRequest {
  public:
    // The places outlive this.
    Answer make(const RuntimeDevice& device, std::span<Place* const> inputs,
                std::span<Place* const> outputs);
    const driver::Request& request() const { return mRequest; }
    // What goes there before an execution, and comes back after it.
    Answer copyIn() const;
    Answer copyOut() const;

  private:
    struct Staged {
        const Place* place = nullptr;
        uint64_t offset = 0;
        bool isInput = true;
    };

    driver::RequestArgument argumentOf(Place& place, bool isInput);
    uint32_t poolOf(const Place& place);

    driver::Request mRequest;
    bool mIsRemote = false;
    std::vector<Staged> mStaged;
    uint64_t mStagedBytes = 0;
    driver::SharedMemory mStaging;  // kept as long as it is large enough
};

// For one thread at a time. The memory that it took stays for the next run.
class PlanRun {
  public:
    PlanRun(const Compiled& compiled, const Plan& plan);

    // The model's inputs and outputs, in order. Outputs without memory get some of this run's; the
    // dimensions of outputs are known afterwards. OUTPUT_INSUFFICIENT_SIZE: an output's memory is
    // too small, and its dimensions are what it takes. `result`: of the device, where the plan is
    // one step.
    Answer run(std::span<Place* const> inputs, std::span<Place* const> outputs,
               const driver::ExecuteOptions& options, driver::ExecutionResult& result);

  private:
    Answer runStep(const RunStep& step, const driver::ExecuteOptions& options,
                   driver::ExecutionResult& result);
    Answer runStep(const IfStep& step, const driver::ExecuteOptions& options,
                   driver::ExecutionResult& result);
    Answer runStep(const WhileStep& step, const driver::ExecuteOptions& options,
                   driver::ExecutionResult& result);
    // On one device.
    Answer execute(const RuntimeDevice& device, driver::IPreparedModel& prepared,
                   std::span<Place* const> inputs, std::span<Place* const> outputs,
                   const driver::ExecuteOptions& options, driver::ExecutionResult& result);
    Answer condition(const Place& place, bool& value) const;
    // The result of a loop to where the operand lies.
    Answer deliver(const Place& from, uint32_t operand);
    // Memory of this run holds what the dimensions say, and may be larger.
    void fitOwn(std::span<const uint32_t> operands);
    // The next run takes other memory for the model's outputs.
    void letGoOfOutputs();
    PlanRun& inside(const Plan& plan);
    Place& placeOf(uint32_t operand);
    std::vector<Place*> placesOf(std::span<const uint32_t> operands);
    // Of bytes as the dimensions say, or of `atLeast` where they say nothing.
    Answer allocate(const driver::Operand& operand, uint64_t atLeast, Place& place) const;

    const Compiled& mCompiled;
    const Plan& mPlan;
    const bool mIsShared;        // with a device of another process
    std::vector<Place> mPlaces;  // by operand of the main subgraph
    std::vector<bool> mIsOwn;    // allocated here
    std::map<const Plan*, std::unique_ptr<PlanRun>> mInside;
    StepRequest mRequest;
};

}  // namespace halyard::nnapi
