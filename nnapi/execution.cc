// SPDX-License-Identifier: Apache-2.0

#include "nnapi/execution.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/base/log.h"
#include "nnapi/operand_size.h"
#include "nnapi/timeouts.h"

namespace halyard::nnapi {
namespace {

// The model's, where the program says nothing of them or the same.
Answer mergeDimensions(const driver::Operand& operand, const ANeuralNetworksOperandType* type,
                       bool isTensor, std::vector<uint32_t>& dimensions) {
    dimensions = operand.dimensions;
    if (type == nullptr || type->dimensionCount == 0) {
        return {};
    }
    if (type->dimensions == nullptr) {
        return badData("the dimensions are null");
    }
    const std::span<const uint32_t> said(type->dimensions, type->dimensionCount);
    if (!isTensor) {
        return badData("a scalar has no dimensions");
    }
    if (dimensions.empty()) {
        dimensions.assign(said.begin(), said.end());
        return {};
    }
    if (said.size() != dimensions.size()) {
        return badData("the model has " + std::to_string(dimensions.size()) + " dimensions, not " +
                       std::to_string(said.size()));
    }
    for (size_t i = 0; i < said.size(); ++i) {
        if (dimensions[i] != 0 && said[i] != dimensions[i]) {
            return badData("dimension " + std::to_string(i) + " is " +
                           std::to_string(dimensions[i]) + ", not " + std::to_string(said[i]));
        }
        dimensions[i] = said[i];
    }
    return {};
}

bool isOem(const driver::Operand& operand) {
    return operand.type == driver::OperandType::OEM ||
           operand.type == driver::OperandType::TENSOR_OEM_BYTE;
}

// Of two ends the earlier one.
Deadline earlier(const Deadline& a, const Deadline& b) {
    if (!a.has_value() || !b.has_value()) {
        return a.has_value() ? a : b;
    }
    return std::min(*a, *b);
}

}  // namespace

std::string ExecutionBuilder::nameOf(bool isInput, int32_t index) {
    return (isInput ? "input " : "output ") + std::to_string(index);
}

ExecutionBuilder::ExecutionBuilder(std::shared_ptr<const Compiled> compiled)
    : mCompiled(std::move(compiled)),
      mInputs(mCompiled->model->inputs.size()),
      mOutputs(mCompiled->model->outputs.size()) {}

Answer ExecutionBuilder::checkPreparing() const {
    const std::lock_guard lock(mMutex);
    return mState == State::PREPARATION ? Answer() : badState("the execution has been started");
}

bool ExecutionBuilder::isRunning() const {
    const std::lock_guard lock(mMutex);
    return mState == State::COMPUTATION;
}

Answer ExecutionBuilder::checkOnlyDevice(std::string_view what) const {
    return mCompiled->onlyDevice != nullptr
                   ? Answer()
                   : badData("only a compilation for exactly one device takes " +
                             std::string(what));
}

Answer ExecutionBuilder::setMeasureTiming(bool measures) {
    HALYARD_RETURN_UNLESS_OK(checkOnlyDevice("a measurement of time"));
    HALYARD_RETURN_UNLESS_OK(checkPreparing());
    mMeasures = measures;
    return {};
}

Answer ExecutionBuilder::setTimeout(uint64_t nanoseconds) {
    HALYARD_RETURN_UNLESS_OK(checkOnlyDevice("a timeout"));
    HALYARD_RETURN_UNLESS_OK(checkPreparing());
    mTimeout = clampedNanoseconds(nanoseconds);
    return {};
}

Answer ExecutionBuilder::setLoopTimeout(uint64_t nanoseconds) {
    HALYARD_RETURN_UNLESS_OK(checkPreparing());
    mLoopTimeout = std::min(clampedNanoseconds(nanoseconds), driver::kMaxLoopTimeout);
    return {};
}

Answer ExecutionBuilder::setReusable(bool isReusable) {
    HALYARD_RETURN_UNLESS_OK(checkPreparing());
    mIsReusable = isReusable;
    return {};
}

Answer ExecutionBuilder::setPadding(bool isAllowed) {
    HALYARD_RETURN_UNLESS_OK(checkPreparing());
    const auto isSet = [](const Argument& argument) { return argument.isSet; };
    if (std::ranges::any_of(mInputs, isSet) || std::ranges::any_of(mOutputs, isSet)) {
        return badState("padding comes before the first input and output");
    }
    mMayPad = isAllowed;
    return {};
}

Answer ExecutionBuilder::addExtensionAttribute(std::string_view extension, uint16_t code,
                                               std::span<const uint8_t> data) {
    HALYARD_RETURN_UNLESS_OK(checkOnlyDevice("attributes of extensions"));
    HALYARD_RETURN_UNLESS_OK(checkPreparing());
    return addHint(*mCompiled->prefixes, extension, code, data, mHints);
}

// ---- Arguments ----------------------------------------------------------------------------------

Answer ExecutionBuilder::open(bool isInput, int32_t index, const ANeuralNetworksOperandType* type,
                              std::vector<uint32_t>& dimensions) const {
    HALYARD_RETURN_UNLESS_OK(checkPreparing());
    const std::vector<Argument>& arguments = isInput ? mInputs : mOutputs;
    if (index < 0 || static_cast<size_t>(index) >= arguments.size()) {
        return badData("there is no " + nameOf(isInput, index) + " of " +
                       std::to_string(arguments.size()));
    }
    if (arguments[static_cast<size_t>(index)].isSet) {
        return badState(nameOf(isInput, index) + " has been set");
    }
    const driver::Operand& known = operand(isInput, index);
    return mergeDimensions(known, type, isTensor(known, *mCompiled->prefixes), dimensions)
            .withContext(nameOf(isInput, index));
}

Answer ExecutionBuilder::measure(bool isInput, int32_t index, std::span<const uint32_t> dimensions,
                                 size_t length, Place& place) const {
    const driver::Operand& known = operand(isInput, index);
    const std::string name = nameOf(isInput, index);
    if (length > UINT32_MAX) {
        return badData(name + ": more bytes than 32 bits count");
    }
    place.length = length;
    const std::optional<uint64_t> size = byteSizeOf(known, dimensions, *mCompiled->prefixes);
    if (!size.has_value()) {
        return isInput ? badData(name + " has unspecified dimensions") : Answer();
    }
    if (isOem(known)) {
        return {};
    }
    if (length < *size || (length > *size && !mMayPad)) {
        return badData(name + " takes " + std::to_string(*size) + " bytes, not " +
                       std::to_string(length));
    }
    place.length = *size;
    place.padding = length - *size;
    return {};
}

Answer ExecutionBuilder::setPointer(bool isInput, int32_t index,
                                    const ANeuralNetworksOperandType* type, void* buffer,
                                    size_t length) {
    if (buffer == nullptr && length > 0) {
        return unexpectedNull("buffer");
    }
    Argument set;
    HALYARD_RETURN_UNLESS_OK(open(isInput, index, type, set.place.dimensions));
    set.isSet = true;
    if (buffer == nullptr) {
        set.place.isOmitted = true;
        set.place.dimensions.clear();
    } else {
        if (length == 0) {
            return badData(nameOf(isInput, index) + ": there is a buffer of no bytes");
        }
        HALYARD_RETURN_UNLESS_OK(measure(isInput, index, set.place.dimensions, length, set.place));
        const std::span<uint8_t> bytes(static_cast<uint8_t*>(buffer), length);
        set.place.memory = isInput ? driver::borrowMemory(std::span<const uint8_t>(bytes), nullptr)
                                   : driver::borrowMemory(bytes, nullptr);
    }
    argument(isInput, index) = std::move(set);
    return {};
}

Answer ExecutionBuilder::setInput(int32_t index, const ANeuralNetworksOperandType* type,
                                  const void* buffer, size_t length) {
    return setPointer(true, index, type, const_cast<void*>(buffer), length);
}

Answer ExecutionBuilder::setOutput(int32_t index, const ANeuralNetworksOperandType* type,
                                   void* buffer, size_t length) {
    return setPointer(false, index, type, buffer, length);
}

Answer ExecutionBuilder::setFromMemory(bool isInput, int32_t index,
                                       const ANeuralNetworksOperandType* type, const Memory& memory,
                                       size_t offset, size_t length) {
    Argument set;
    Place& place = set.place;
    HALYARD_RETURN_UNLESS_OK(open(isInput, index, type, place.dimensions));
    set.isSet = true;
    set.memory = &memory;
    place.memory = memory.shared();
    if (memory.hasPurpose()) {
        HALYARD_RETURN_UNLESS_OK(memory.checkRole(*mCompiled, isInput, static_cast<uint32_t>(index),
                                                  place.dimensions, offset, length)
                                         .withContext(nameOf(isInput, index)));
        if (memory.buffer() != nullptr) {
            place.token = memory.buffer()->token();
        } else {
            place.length = memory.size();
        }
    } else {
        HALYARD_RETURN_UNLESS_OK(
                memory.checkRange(offset, length).withContext(nameOf(isInput, index)));
        HALYARD_RETURN_UNLESS_OK(measure(isInput, index, place.dimensions, length, place));
        place.offset = offset;
    }
    argument(isInput, index) = std::move(set);
    return {};
}

// ---- Computations -------------------------------------------------------------------------------

Answer ExecutionBuilder::begin() {
    {
        const std::lock_guard lock(mMutex);
        if (mState == State::COMPUTATION) {
            return badState("the execution runs");
        }
        if (mState == State::COMPLETED && !mIsReusable) {
            return badState("the execution is over, and is not reusable");
        }
        mState = State::COMPUTATION;
    }
    for (const bool isInput : {true, false}) {
        const std::vector<Argument>& arguments = isInput ? mInputs : mOutputs;
        const auto unset = std::ranges::find(arguments, false, &Argument::isSet);
        if (unset != arguments.end()) {
            return finish(badData(nameOf(isInput, static_cast<int32_t>(unset - arguments.begin())) +
                                  " is not set"));
        }
    }
    return {};
}

Answer ExecutionBuilder::finish(Answer answer) {
    for (const Argument& output : mOutputs) {
        if (output.memory != nullptr) {
            output.memory->noteWritten(answer.ok(), output.place.dimensions);
        }
    }
    const std::lock_guard lock(mMutex);
    mState = State::COMPLETED;
    mAnswer = answer;
    return answer;
}

Answer ExecutionBuilder::run(Burst* burst, Fenced* fenced) {
    if (mInputPlaces.empty() && mOutputPlaces.empty()) {
        for (Argument& input : mInputs) {
            mInputPlaces.push_back(&input.place);
        }
        for (Argument& output : mOutputs) {
            mOutputPlaces.push_back(&output.place);
            mBefore.push_back(output.place);
        }
    }
    for (size_t i = 0; i < mOutputs.size(); ++i) {
        mOutputPlaces[i]->dimensions = mBefore[i].dimensions;
        mOutputPlaces[i]->isSufficient = true;
    }
    for (const Argument& input : mInputs) {
        if (input.memory != nullptr) {
            HALYARD_RETURN_UNLESS_OK(input.memory->checkReadable(input.place.dimensions));
            HALYARD_RETURN_UNLESS_OK(input.memory->map());
        }
    }
    for (const Argument& output : mOutputs) {
        if (output.memory != nullptr) {
            HALYARD_RETURN_UNLESS_OK(output.memory->map());
        }
    }
    const driver::ExecuteOptions options = {
            .measureTiming = mMeasures,
            .deadline = fenced == nullptr
                                ? deadlineIn(mTimeout)
                                : earlier(fenced->deadline, deadlineIn(fenced->afterFences.value_or(
                                                                    std::chrono::nanoseconds()))),
            .loopTimeout = mLoopTimeout,
            .hints = mHints};
    mResult.timing = {};
    mResult.timingFenced = {};
    const RunStep* const whole = mCompiled->plan.whole();
    const Answer answer = whole != nullptr ? runWhole(*whole, burst, fenced, options)
                                           : runPlan(mCompiled->plan, options);
    if (fenced == nullptr || fenced->device == nullptr) {
        mResult.timingFenced = mResult.timing;
    }
    switch (answer.code()) {
        case ANEURALNETWORKS_NO_ERROR:
        case ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE:
            return answer;
        default:
            break;
    }
    if (mCompiled->reference == nullptr) {
        return answer;
    }
    if (fenced != nullptr) {
        // The device may have refused before any of them has happened.
        for (const auto& fence : fenced->forDevice) {
            HALYARD_RETURN_UNLESS_OK(waitForFence(*fence));
        }
    }
    return fallBack(options, answer);
}

Answer ExecutionBuilder::runWhole(const RunStep& step, Burst* burst, Fenced* fenced,
                                  const driver::ExecuteOptions& options) {
    if (!mHasRequest) {
        HALYARD_RETURN_UNLESS_OK(mRequest.make(*step.device, mInputPlaces, mOutputPlaces));
        mHasRequest = true;
        if (mIsReusable) {
            // Where the device has no such, each computation is told anew.
            if (Result<std::shared_ptr<driver::IExecution>> prepared =
                        step.prepared->makeExecution(mRequest.request(), options);
                prepared.ok()) {
                mPrepared = *std::move(prepared);
            }
        }
    }
    HALYARD_RETURN_UNLESS_OK(mRequest.copyIn());
    if (fenced != nullptr && fenced->device != nullptr) {
        HALYARD_RETURN_UNLESS_OK(runOnDevice(step, *fenced, options));
        return mRequest.copyOut();
    }
    if (burst != nullptr && burst->device() != nullptr) {
        const std::vector<int64_t> identifiers(mRequest.request().pools.size(), -1);
        mResult = burst->device()->execute(mRequest.request(), identifiers, options);
    } else if (mPrepared != nullptr) {
        mPrepared->executeInto(options.deadline, mResult);
    } else {
        mResult = step.prepared->execute(mRequest.request(), options);
    }
    for (size_t i = 0; i < mResult.outputShapes.size() && i < mOutputs.size(); ++i) {
        mOutputPlaces[i]->dimensions = mResult.outputShapes[i].dimensions;
        mOutputPlaces[i]->isSufficient = mResult.outputShapes[i].isSufficient;
    }
    if (!mResult.status.ok()) {
        return answerOf(mResult.status, &step.device->device()).withContext(step.device->name());
    }
    return mRequest.copyOut();
}

Answer ExecutionBuilder::runPlan(const Plan& plan, const driver::ExecuteOptions& options) {
    if (mRun == nullptr) {
        mRun = std::make_unique<PlanRun>(*mCompiled, plan);
    }
    return mRun->run(mInputPlaces, mOutputPlaces, options, mResult);
}

Answer ExecutionBuilder::fallBack(const driver::ExecuteOptions& options, const Answer& failure) {
    log(LogLevel::WARNING, "the reference computes what failed: " + failure.reason());
    RunStep step;
    if (const Answer prepared = mCompiled->fallBack(mCompiled->plan.model, step); !prepared.ok()) {
        return failure;
    }
    for (size_t i = 0; i < mOutputs.size(); ++i) {
        mOutputPlaces[i]->dimensions = mBefore[i].dimensions;
        mOutputPlaces[i]->isSufficient = true;
    }
    StepRequest request;
    HALYARD_RETURN_UNLESS_OK(request.make(*step.device, mInputPlaces, mOutputPlaces));
    mResult = step.prepared->execute(request.request(), options);
    mResult.timingFenced = mResult.timing;
    for (size_t i = 0; i < mResult.outputShapes.size() && i < mOutputs.size(); ++i) {
        mOutputPlaces[i]->dimensions = mResult.outputShapes[i].dimensions;
        mOutputPlaces[i]->isSufficient = mResult.outputShapes[i].isSufficient;
    }
    return answerOf(mResult.status);
}

Answer ExecutionBuilder::runToTheEnd(ANeuralNetworksDiagnosticExecutionMode mode, Burst* burst,
                                     Fenced* fenced) {
    const auto begin = std::chrono::steady_clock::now();
    Answer answer = run(burst, fenced);
    tellDiagnostics(mode, answer, std::chrono::steady_clock::now() - begin);
    return finish(std::move(answer));
}

void ExecutionBuilder::tellDiagnostics(ANeuralNetworksDiagnosticExecutionMode mode,
                                       const Answer& answer, std::chrono::nanoseconds took) const {
    if (Diagnostics::instance().wants()) {
        Diagnosed diagnosed = mCompiled->diagnosed();
        diagnosed.errorCode = answer.code();
        // What failed may have left the times of a computation before it.
        Diagnostics::instance().executionFinished(diagnosed, mode, took,
                                                  answer.ok() ? mResult.timing : driver::Timing());
    }
}

Answer ExecutionBuilder::compute(Burst* burst) {
    std::unique_lock<std::mutex> taken;
    if (burst != nullptr) {
        if (!burst->isOf(mCompiled)) {
            return badData("the burst is of another compilation");
        }
        taken = burst->take();
        if (!taken.owns_lock()) {
            return badState("another computation runs in the burst");
        }
    }
    HALYARD_RETURN_UNLESS_OK(begin());
    return runToTheEnd(
            burst == nullptr ? ANNDIAG_EXECUTION_MODE_SYNC : ANNDIAG_EXECUTION_MODE_BURST, burst,
            nullptr);
}

Answer ExecutionBuilder::start(std::unique_ptr<ANeuralNetworksEvent>& event) {
    HALYARD_RETURN_UNLESS_OK(begin());
    event = std::make_unique<ANeuralNetworksEvent>(
            [this](Completion& /*itself*/) {
                return runToTheEnd(ANNDIAG_EXECUTION_MODE_ASYNC, nullptr, nullptr);
            },
            FileDescriptor());
    return {};
}

}  // namespace halyard::nnapi
