// SPDX-License-Identifier: Apache-2.0
//
// An execution: what a program binds to a compilation's inputs and outputs, and its computations.

#pragma once

#include <android/NeuralNetworks.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "driver/device/device_interface.h"
#include "nnapi/answer.h"
#include "nnapi/burst.h"
#include "nnapi/compilation.h"
#include "nnapi/event.h"
#include "nnapi/memory.h"
#include "nnapi/plan_run.h"

namespace halyard::nnapi {

// One thread prepares it; any may ask what came of it.
class ExecutionBuilder {
  public:
    explicit ExecutionBuilder(std::shared_ptr<const Compiled> compiled);

    // Each answers BAD_STATE once a computation was begun.
    Answer setMeasureTiming(bool measures);
    Answer setTimeout(uint64_t nanoseconds);      // 0: none
    Answer setLoopTimeout(uint64_t nanoseconds);  // the maximum at most counts
    Answer setReusable(bool isReusable);
    Answer setPadding(bool isAllowed);
    Answer addExtensionAttribute(std::string_view extension, uint16_t code,
                                 std::span<const uint8_t> data);
    // `type`: null, or what the model leaves open of the dimensions. Memory outlives the execution.
    Answer setInput(int32_t index, const ANeuralNetworksOperandType* type, const void* buffer,
                    size_t length);
    Answer setOutput(int32_t index, const ANeuralNetworksOperandType* type, void* buffer,
                     size_t length);
    Answer setFromMemory(bool isInput, int32_t index, const ANeuralNetworksOperandType* type,
                         const Memory& memory, size_t offset, size_t length);

    // On this thread, until it is over. `burst`: null, or one of the same compilation.
    Answer compute(Burst* burst);
    // On another thread.
    Answer start(std::unique_ptr<ANeuralNetworksEvent>& event);
    // The same once the dependencies have happened; `nanoseconds`: how long it may take from then
    // on, 0: as long as it takes.
    Answer startFenced(std::span<const ANeuralNetworksEvent* const> dependencies,
                       uint64_t nanoseconds, std::unique_ptr<ANeuralNetworksEvent>& event);

    Answer duration(int32_t code, uint64_t& nanoseconds) const;
    // Of an output. OUTPUT_INSUFFICIENT_SIZE: they are what it takes, and its memory was too small.
    Answer outputRank(int32_t index, uint32_t& rank) const;
    Answer outputDimensions(int32_t index, uint32_t* dimensions) const;

    bool isRunning() const;
    const std::shared_ptr<const Compiled>& compiled() const { return mCompiled; }

  private:
    enum class State : uint8_t { PREPARATION, COMPUTATION, COMPLETED };

    struct Argument {
        bool isSet = false;
        const Memory* memory = nullptr;
        Place place;
    };

    // What is said of one computation that waits for fences.
    struct Fenced {
        std::vector<std::shared_ptr<Completion>> waitFor;
        Deadline deadline;             // from the call on
        driver::Duration afterFences;  // how long it may take from the last fence on
        // That waits itself for the fences that it can be told, and may answer with one of its own;
        // null: this process waits.
        const RuntimeDevice* device = nullptr;
        bool handsOver = false;  // the program's fences to the device
        bool givesBack = false;  // the device's fence to the program
        driver::Fences forDevice;
        bool isAnswered = false;  // by the device
        Completion* completion = nullptr;
    };

    // Whether all of them lie where neither this process has anything to copy nor to note.
    static bool areShared(std::span<const Argument> arguments);

    Answer checkPreparing() const;
    Answer checkOnlyDevice(std::string_view what) const;
    // The index, the state and the dimensions of an argument that is to be set.
    Answer open(bool isInput, int32_t index, const ANeuralNetworksOperandType* type,
                std::vector<uint32_t>& dimensions) const;
    // How many of `length` bytes are of the operand and how many are padding.
    Answer measure(bool isInput, int32_t index, std::span<const uint32_t> dimensions, size_t length,
                   Place& place) const;
    Answer setPointer(bool isInput, int32_t index, const ANeuralNetworksOperandType* type,
                      void* buffer, size_t length);
    Argument& argument(bool isInput, int32_t index) {
        return (isInput ? mInputs : mOutputs)[static_cast<size_t>(index)];
    }
    const driver::Operand& operand(bool isInput, int32_t index) const {
        return (isInput ? mCompiled->model->inputs
                        : mCompiled->model->outputs)[static_cast<size_t>(index)];
    }
    Answer checkOutputs(int32_t index) const;
    // "input 3", for messages.
    static std::string nameOf(bool isInput, int32_t index);

    Answer begin();
    // run() and finish(), of which somebody may want to know.
    Answer runToTheEnd(ANeuralNetworksDiagnosticExecutionMode mode, Burst* burst, Fenced* fenced);
    void tellDiagnostics(ANeuralNetworksDiagnosticExecutionMode mode, const Answer& answer,
                         std::chrono::nanoseconds took) const;
    // Between begin() and its return the execution is this thread's.
    Answer run(Burst* burst, Fenced* fenced);
    Answer runPlan(const Plan& plan, const driver::ExecuteOptions& options);
    Answer runWhole(const RunStep& step, Burst* burst, Fenced* fenced,
                    const driver::ExecuteOptions& options);
    Answer runFenced(Fenced& fenced);
    // What comes of it is in mResult.
    Answer runOnDevice(const RunStep& step, Fenced& fenced, driver::ExecuteOptions options);
    Answer fallBack(const driver::ExecuteOptions& options, const Answer& failure);
    Answer finish(Answer answer);

    const std::shared_ptr<const Compiled> mCompiled;
    bool mMeasures = false;
    bool mIsReusable = false;
    bool mMayPad = false;
    std::chrono::nanoseconds mTimeout = {};
    std::chrono::nanoseconds mLoopTimeout = driver::kDefaultLoopTimeout;
    driver::ExtensionHints mHints;
    std::vector<Argument> mInputs;
    std::vector<Argument> mOutputs;

    mutable std::mutex mMutex;  // of the next two
    State mState = State::PREPARATION;
    Answer mAnswer;

    // Kept from one computation to the next.
    std::vector<Place> mBefore;  // of outputs
    std::vector<Place*> mInputPlaces;
    std::vector<Place*> mOutputPlaces;
    StepRequest mRequest;
    bool mHasRequest = false;
    std::shared_ptr<driver::IExecution> mPrepared;  // of a device that has such
    std::unique_ptr<PlanRun> mRun;
    driver::ExecutionResult mResult;
};

}  // namespace halyard::nnapi

struct ANeuralNetworksExecution final : halyard::nnapi::ExecutionBuilder {
    using ExecutionBuilder::ExecutionBuilder;
};
