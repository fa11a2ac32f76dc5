// SPDX-License-Identifier: Apache-2.0

#include "nnapi/plan_run.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "engine/base/log.h"
#include "hal/memory/shared_memory.h"
#include "nnapi/operand_size.h"

namespace halyard::nnapi {
namespace {

using driver::OperandLifeTime;

// Of tensors in memory of this library.
constexpr uint64_t kBoundary = 64;
// What memory of an unknown size begins with; a device says what it takes.
constexpr uint64_t kFirstGuess = 4096;

uint64_t alignedUp(uint64_t bytes) {
    return (bytes + kBoundary - 1) / kBoundary * kBoundary;
}

Answer copyBytes(const Place& place, bool isToPlace, std::span<uint8_t> other) {
    const Result<driver::MemoryUse> use =
            place.memory->use({.begin = place.offset, .end = place.offset + place.length}, nullptr);
    if (!use.ok()) {
        return {ANEURALNETWORKS_UNMAPPABLE, std::string(use.status().message())};
    }
    const Result<std::span<uint8_t>> bytes = use->bytes(place.offset, place.length);
    if (!bytes.ok()) {
        return answerOf(bytes.status());
    }
    if (isToPlace) {
        std::ranges::copy(other.first(bytes->size()), bytes->begin());
    } else {
        std::ranges::copy(*bytes, other.begin());
    }
    return {};
}

bool isFailureOfDevice(const Answer& answer) {
    switch (answer.code()) {
        case ANEURALNETWORKS_NO_ERROR:
        case ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE:
        case ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT:
        case ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT:
            return false;
        default:
            return true;
    }
}

// So many elements, if all of them are known.
std::optional<uint64_t> bytesOf(const Compiled& compiled, const driver::Operand& operand,
                                std::span<const uint32_t> dimensions) {
    return byteSizeOf(operand, dimensions, *compiled.prefixes);
}

std::vector<bool> readByControlFlow(const Plan& plan) {
    std::vector<bool> isRead(plan.model->main.operands.size());
    const auto read = [&](std::span<const uint32_t> operands) {
        for (const uint32_t operand : operands) {
            isRead[operand] = true;
        }
    };
    for (const Step& step : plan.steps) {
        if (const auto* const branch = std::get_if<IfStep>(&step)) {
            read({&branch->condition, 1});
            read(branch->inputs);
        } else if (const auto* const loop = std::get_if<WhileStep>(&step)) {
            read(loop->inputs);
        }
    }
    return isRead;
}

}  // namespace

// ---- StepRequest --------------------------------------------------------------------------------

uint32_t StepRequest::poolOf(const Place& place) {
    const driver::RequestPool pool =
            place.token != 0 ? driver::RequestPool(place.token) : driver::RequestPool(place.memory);
    const auto found = std::ranges::find(mRequest.pools, pool);
    if (found != mRequest.pools.end()) {
        return static_cast<uint32_t>(found - mRequest.pools.begin());
    }
    mRequest.pools.push_back(pool);
    return static_cast<uint32_t>(mRequest.pools.size() - 1);
}

driver::RequestArgument StepRequest::argumentOf(Place& place, bool isInput) {
    driver::RequestArgument argument;
    argument.hasNoValue = place.isOmitted;
    argument.dimensions = place.dimensions;
    if (place.isOmitted) {
        return argument;
    }
    if (mIsRemote && place.token == 0 && place.memory->handle() == nullptr) {
        // Its pool is the first.
        argument.location = {.poolIndex = 0, .offset = mStagedBytes, .length = place.length};
        mStaged.push_back({.place = &place, .offset = mStagedBytes, .isInput = isInput});
        mStagedBytes += alignedUp(place.length);
        return argument;
    }
    argument.location = {.poolIndex = poolOf(place),
                         .offset = place.offset,
                         .length = place.length,
                         .padding = place.padding};
    return argument;
}

Answer StepRequest::make(const RuntimeDevice& device, std::span<Place* const> inputs,
                         std::span<Place* const> outputs) {
    mIsRemote = !device.isInProcess();
    mStaged.clear();
    mStagedBytes = 0;
    mRequest = {};
    const auto needsStaging = [&](const Place* place) {
        return mIsRemote && !place->isOmitted && place->token == 0 &&
               place->memory->handle() == nullptr;
    };
    const bool isStaged =
            std::ranges::any_of(inputs, needsStaging) || std::ranges::any_of(outputs, needsStaging);
    if (isStaged) {
        mRequest.pools.emplace_back(driver::SharedMemory());
    }
    for (Place* const place : inputs) {
        mRequest.inputs.push_back(argumentOf(*place, true));
    }
    for (Place* const place : outputs) {
        mRequest.outputs.push_back(argumentOf(*place, false));
    }
    if (!isStaged) {
        return {};
    }
    if (mStaging == nullptr || mStaging->size() < mStagedBytes) {
        Result<hal::ExportedMemory> memory = hal::createSharedMemory(mStagedBytes);
        HALYARD_RETURN_UNLESS_OK(answerOf(memory.status()));
        mStaging = memory->memory;
    }
    mRequest.pools.front() = mStaging;
    return {};
}

Answer StepRequest::copyIn() const {
    if (mStaged.empty()) {
        return {};
    }
    const Result<std::span<uint8_t>> staging = mStaging->map();
    HALYARD_RETURN_UNLESS_OK(answerOf(staging.status()));
    for (const Staged& each : mStaged) {
        if (each.isInput) {
            HALYARD_RETURN_UNLESS_OK(copyBytes(*each.place, false, staging->subspan(each.offset)));
        }
    }
    return {};
}

Answer StepRequest::copyOut() const {
    if (mStaged.empty()) {
        return {};
    }
    const Result<std::span<uint8_t>> staging = mStaging->map();
    HALYARD_RETURN_UNLESS_OK(answerOf(staging.status()));
    for (const Staged& each : mStaged) {
        if (!each.isInput) {
            HALYARD_RETURN_UNLESS_OK(copyBytes(*each.place, true, staging->subspan(each.offset)));
        }
    }
    return {};
}

// ---- PlanRun ------------------------------------------------------------------------------------

PlanRun::PlanRun(const Compiled& compiled, const Plan& plan)
    : mCompiled(compiled),
      mPlan(plan),
      mIsShared(plan.hasRemoteSteps()),
      mPlaces(plan.model->main.operands.size()),
      mIsOwn(plan.model->main.operands.size()) {
    // Of constants only those that no part has in itself.
    const std::vector<bool> isRead = readByControlFlow(plan);
    for (size_t i = 0; i < mPlaces.size(); ++i) {
        const driver::Operand& operand = plan.model->main.operands[i];
        mPlaces[i].dimensions = operand.dimensions;
        const driver::DataLocation& location = operand.location;
        if (!isRead[i]) {
            continue;
        }
        if (operand.lifetime == OperandLifeTime::NO_VALUE) {
            mPlaces[i].isOmitted = true;
        } else if (operand.lifetime == OperandLifeTime::CONSTANT_REFERENCE) {
            mPlaces[i].memory = plan.model->pools[location.poolIndex];
            mPlaces[i].offset = location.offset;
            mPlaces[i].length = location.length;
        } else if (operand.lifetime == OperandLifeTime::CONSTANT_COPY) {
            mPlaces[i].memory =
                    driver::borrowMemory(std::span<const uint8_t>(*plan.model->operandValues)
                                                 .subspan(location.offset, location.length),
                                         plan.model->operandValues);
            mPlaces[i].length = location.length;
        }
    }
}

Place& PlanRun::placeOf(uint32_t operand) {
    return mPlaces[operand];
}

std::vector<Place*> PlanRun::placesOf(std::span<const uint32_t> operands) {
    std::vector<Place*> places;
    for (const uint32_t operand : operands) {
        places.push_back(&mPlaces[operand]);
    }
    return places;
}

Answer PlanRun::allocate(const driver::Operand& operand, uint64_t atLeast, Place& place) const {
    const uint64_t bytes = bytesOf(mCompiled, operand, place.dimensions).value_or(atLeast);
    if (place.memory == nullptr || place.memory->size() < bytes) {
        // Memory has a byte at least.
        const uint64_t size = std::max<uint64_t>(alignedUp(bytes), kBoundary);
        if (mIsShared) {
            Result<hal::ExportedMemory> memory = hal::createSharedMemory(size);
            HALYARD_RETURN_UNLESS_OK(answerOf(memory.status()));
            place.memory = memory->memory;
        } else {
            place.memory = driver::allocateHeapMemory(size);
        }
        if (place.memory == nullptr) {
            return {ANEURALNETWORKS_OUT_OF_MEMORY,
                    "there are no " + std::to_string(size) + " bytes between two devices"};
        }
    }
    place.offset = 0;
    // All of it where the size is not known, and no less than a byte.
    place.length = bytesOf(mCompiled, operand, place.dimensions).has_value() ? bytes
                                                                             : place.memory->size();
    return {};
}

Answer PlanRun::run(std::span<Place* const> inputs, std::span<Place* const> outputs,
                    const driver::ExecuteOptions& options, driver::ExecutionResult& result) {
    const driver::Subgraph& main = mPlan.model->main;
    for (size_t i = 0; i < mPlaces.size(); ++i) {
        if (main.operands[i].lifetime == OperandLifeTime::TEMPORARY_VARIABLE ||
            main.operands[i].lifetime == OperandLifeTime::SUBGRAPH_OUTPUT) {
            mPlaces[i].dimensions = main.operands[i].dimensions;
            mIsOwn[i] = true;
        }
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
        mPlaces[main.inputIndexes[i]] = *inputs[i];
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
        const uint32_t operand = main.outputIndexes[i];
        if (outputs[i]->isSomewhere() || outputs[i]->isOmitted) {
            mPlaces[operand] = *outputs[i];
            mIsOwn[operand] = false;
        }
    }
    Answer answer;
    for (const Step& step : mPlan.steps) {
        answer = std::visit([&](const auto& each) { return runStep(each, options, result); }, step);
        if (!answer.ok()) {
            break;
        }
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
        *outputs[i] = mPlaces[main.outputIndexes[i]];
    }
    return answer;
}

Answer PlanRun::execute(const RuntimeDevice& device, driver::IPreparedModel& prepared,
                        std::span<Place* const> inputs, std::span<Place* const> outputs,
                        const driver::ExecuteOptions& options, driver::ExecutionResult& result) {
    HALYARD_RETURN_UNLESS_OK(mRequest.make(device, inputs, outputs));
    HALYARD_RETURN_UNLESS_OK(mRequest.copyIn());
    result = prepared.execute(mRequest.request(), options);
    for (size_t i = 0; i < result.outputShapes.size() && i < outputs.size(); ++i) {
        outputs[i]->dimensions = result.outputShapes[i].dimensions;
        outputs[i]->isSufficient = result.outputShapes[i].isSufficient;
    }
    if (!result.status.ok()) {
        return answerOf(result.status, &device.device()).withContext(device.name());
    }
    return mRequest.copyOut();
}

Answer PlanRun::runStep(const RunStep& step, const driver::ExecuteOptions& options,
                        driver::ExecutionResult& result) {
    const std::vector<Place*> inputs = placesOf(step.part.inputs);
    const std::vector<Place*> outputs = placesOf(step.part.outputs);
    const auto operandOf = [&](size_t i) -> const driver::Operand& {
        return mPlan.model->main.operands[step.part.outputs[i]];
    };
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (mIsOwn[step.part.outputs[i]]) {
            HALYARD_RETURN_UNLESS_OK(allocate(operandOf(i), kFirstGuess, *outputs[i]));
        }
    }
    const std::vector<Place> before = [&] {
        std::vector<Place> copies;
        for (const Place* place : outputs) {
            copies.push_back(*place);
        }
        return copies;
    }();
    const auto restore = [&](size_t i) { outputs[i]->dimensions = before[i].dimensions; };
    // Each round memory grows that the device has found too small: more rounds than outputs there
    // can't be, but for those that a guess doubles.
    for (;;) {
        Answer answer = execute(*step.device, *step.prepared, inputs, outputs, options, result);
        if (isFailureOfDevice(answer) && mCompiled.reference != nullptr &&
            !step.device->isReference()) {
            log(LogLevel::WARNING, "the reference computes what failed: " + answer.reason());
            for (size_t i = 0; i < outputs.size(); ++i) {
                restore(i);
            }
            RunStep other;
            if (const Answer prepared = mCompiled.fallBack(step.part.model, other);
                !prepared.ok()) {
                return answer;
            }
            answer = execute(*other.device, *other.prepared, inputs, outputs, options, result);
        }
        if (answer.code() != ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE) {
            fitOwn(step.part.outputs);
            return answer;
        }
        bool grows = false;
        for (size_t i = 0; i < outputs.size(); ++i) {
            if (outputs[i]->isSufficient) {
                continue;
            }
            if (!mIsOwn[step.part.outputs[i]]) {
                return answer;
            }
            const uint64_t twice = outputs[i]->length * 2;
            if (twice > std::numeric_limits<uint32_t>::max()) {
                return answer;
            }
            HALYARD_RETURN_UNLESS_OK(allocate(operandOf(i), twice, *outputs[i]));
            grows = true;
        }
        if (!grows) {
            return answer;
        }
        for (size_t i = 0; i < outputs.size(); ++i) {
            restore(i);
            outputs[i]->isSufficient = true;
        }
    }
}

void PlanRun::fitOwn(std::span<const uint32_t> operands) {
    for (const uint32_t operand : operands) {
        Place& place = mPlaces[operand];
        if (mIsOwn[operand]) {
            place.length = bytesOf(mCompiled, mPlan.model->main.operands[operand], place.dimensions)
                                   .value_or(place.length);
        }
    }
}

void PlanRun::letGoOfOutputs() {
    for (const uint32_t output : mPlan.model->main.outputIndexes) {
        mPlaces[output].memory = nullptr;
    }
}

Answer PlanRun::deliver(const Place& from, uint32_t operand) {
    Place& to = mPlaces[operand];
    if (mIsOwn[operand]) {
        to = from;
        return {};
    }
    to.dimensions = from.dimensions;
    if (to.isOmitted) {
        return {};
    }
    to.isSufficient = from.length <= to.length;
    if (!to.isSufficient) {
        return {ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE,
                "an output of a WHILE takes " + std::to_string(from.length) + " bytes, not " +
                        std::to_string(to.length)};
    }
    std::vector<uint8_t> bytes(from.length);
    HALYARD_RETURN_UNLESS_OK(copyBytes(from, false, bytes));
    Place exact = to;
    exact.length = from.length;
    return copyBytes(exact, true, bytes);
}

Answer PlanRun::condition(const Place& place, bool& value) const {
    uint8_t byte = 0;
    if (place.length != 1 || place.memory == nullptr) {
        return badData("a condition is one byte");
    }
    HALYARD_RETURN_UNLESS_OK(copyBytes(place, false, {&byte, 1}));
    value = byte != 0;
    return {};
}

PlanRun& PlanRun::inside(const Plan& plan) {
    std::unique_ptr<PlanRun>& run = mInside[&plan];
    if (run == nullptr) {
        run = std::make_unique<PlanRun>(mCompiled, plan);
    }
    return *run;
}

Answer PlanRun::runStep(const IfStep& step, const driver::ExecuteOptions& options,
                        driver::ExecutionResult& result) {
    bool isTrue = false;
    HALYARD_RETURN_UNLESS_OK(condition(placeOf(step.condition), isTrue));
    const std::vector<Place*> outputs = placesOf(step.outputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (mIsOwn[step.outputs[i]]) {
            outputs[i]->memory = nullptr;  // of the branch then
        }
    }
    return inside(isTrue ? *step.then : *step.otherwise)
            .run(placesOf(step.inputs), outputs, options, result);
}

Answer PlanRun::runStep(const WhileStep& step, const driver::ExecuteOptions& options,
                        driver::ExecutionResult& result) {
    const auto end = std::chrono::steady_clock::now() +
                     std::min(options.loopTimeout, driver::kMaxLoopTimeout);
    PlanRun& condition = inside(*step.condition);
    PlanRun& body = inside(*step.body);
    const size_t carried = step.body->model->main.outputIndexes.size();
    std::vector<Place> state;
    for (const Place* place : placesOf(step.inputs)) {
        state.push_back(*place);
    }
    const auto pointers = [](std::vector<Place>& places) {
        std::vector<Place*> all;
        for (Place& place : places) {
            all.push_back(&place);
        }
        return all;
    };
    for (;;) {
        Place answer;
        Place* const only[] = {&answer};
        HALYARD_RETURN_UNLESS_OK(condition.run(pointers(state), only, options, result));
        bool goesOn = false;
        HALYARD_RETURN_UNLESS_OK(this->condition(answer, goesOn));
        if (!goesOn) {
            break;
        }
        if (std::chrono::steady_clock::now() > end) {
            return {ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT, "a WHILE took longer than it may"};
        }
        std::vector<Place> next(carried);
        HALYARD_RETURN_UNLESS_OK(body.run(pointers(state), pointers(next), options, result));
        // The body writes into other memory the next time: what it has written is what it reads.
        body.letGoOfOutputs();
        std::ranges::move(next, state.begin());
    }
    for (size_t i = 0; i < step.outputs.size(); ++i) {
        HALYARD_RETURN_UNLESS_OK(deliver(state[i], step.outputs[i]));
    }
    return {};
}

}  // namespace halyard::nnapi
