// SPDX-License-Identifier: Apache-2.0

#include "harness/device/ndk/execution.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace halyard::ndk {

using driver::ExecuteOptions;
using driver::ExecutionResult;

Execution::Execution(CompiledModel compiled)
    : mCompiled(std::move(compiled)),
      mObject(mCompiled->model->library, mCompiled->library().ANeuralNetworksExecution_free) {}

Status Execution::prepare(const driver::Request& request, const ExecuteOptions& options,
                          bool isReusable) {
    const Library& library = mCompiled->library();
    HALYARD_RETURN_IF_ERROR(statusOf(
            library.ANeuralNetworksExecution_create(mCompiled->object.get(), mObject.out()),
            "Execution_create"));
    if (isReusable) {
        HALYARD_RETURN_IF_ERROR(statusOf(
                library.ANeuralNetworksExecution_setReusable(mObject.get(), true), "setReusable"));
    }
    const auto isPadded = [](const driver::RequestArgument& argument) {
        return argument.location.padding > 0;
    };
    if (std::ranges::any_of(request.inputs, isPadded) ||
        std::ranges::any_of(request.outputs, isPadded)) {
        HALYARD_RETURN_IF_ERROR(statusOf(
                library.ANeuralNetworksExecution_enableInputAndOutputPadding(mObject.get(), true),
                "enableInputAndOutputPadding"));
    }
    if (mCompiled->device != nullptr) {
        if (options.measureTiming) {
            HALYARD_RETURN_IF_ERROR(
                    statusOf(library.ANeuralNetworksExecution_setMeasureTiming(mObject.get(), true),
                             "setMeasureTiming"));
        }
        if (options.deadline.has_value()) {
            HALYARD_RETURN_IF_ERROR(statusOf(library.ANeuralNetworksExecution_setTimeout(
                                                     mObject.get(), remaining(options.deadline)),
                                             "setTimeout"));
        }
    }
    if (options.loopTimeout != driver::kDefaultLoopTimeout) {
        HALYARD_RETURN_IF_ERROR(
                statusOf(library.ANeuralNetworksExecution_setLoopTimeout(
                                 mObject.get(), static_cast<uint64_t>(options.loopTimeout.count())),
                         "setLoopTimeout"));
    }
    mMeasures = options.measureTiming && mCompiled->device != nullptr;
    mOutputs = request.outputs.size();
    for (size_t i = 0; i < request.inputs.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(bind(request, true, i));
    }
    for (size_t i = 0; i < request.outputs.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(bind(request, false, i));
    }
    return {};
}

driver::ExecutionResult Execution::result(Status status) const {
    const Library& library = mCompiled->library();
    ExecutionResult result;
    result.status = std::move(status);
    const bool isTooSmall = result.status.code() == StatusCode::OUTPUT_TOO_SMALL;
    if (!result.status.ok() && !isTooSmall) {
        return result;
    }
    for (size_t i = 0; i < mOutputs; ++i) {
        const auto index = static_cast<int32_t>(i);
        uint32_t rank = 0;
        const int code = library.ANeuralNetworksExecution_getOutputOperandRank(get(), index, &rank);
        driver::OutputShape& shape = result.outputShapes.emplace_back();
        shape.isSufficient = code != ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE;
        shape.dimensions.resize(rank);
        if (rank > 0) {
            static_cast<void>(library.ANeuralNetworksExecution_getOutputOperandDimensions(
                    get(), index, shape.dimensions.data()));
        }
    }
    if (mMeasures && result.status.ok()) {
        result.timing.timeOnDevice = duration(ANEURALNETWORKS_DURATION_ON_HARDWARE);
        result.timing.timeInDriver = duration(ANEURALNETWORKS_DURATION_IN_DRIVER);
    }
    return result;
}

driver::Duration Execution::duration(int32_t code) const {
    uint64_t nanoseconds = UINT64_MAX;
    static_cast<void>(
            mCompiled->library().ANeuralNetworksExecution_getDuration(get(), code, &nanoseconds));
    return nanoseconds == UINT64_MAX ? driver::Duration()
                                     : driver::Duration(std::chrono::nanoseconds(nanoseconds));
}

bool Execution::hasKnownSize(size_t output, const driver::RequestArgument& argument) const {
    const driver::Subgraph& main = mCompiled->model->source.main;
    const std::vector<uint32_t>& dimensions =
            !argument.dimensions.empty() || output >= main.outputIndexes.size()
                    ? argument.dimensions
                    : main.operands[main.outputIndexes[output]].dimensions;
    return !dimensions.empty() && std::ranges::find(dimensions, 0U) == dimensions.end();
}

Status Execution::bind(const driver::Request& request, bool isInput, size_t index) {
    const Library& library = mCompiled->library();
    const driver::RequestArgument& argument =
            isInput ? request.inputs[index] : request.outputs[index];
    const auto number = static_cast<int32_t>(index);
    const driver::Subgraph& main = mCompiled->model->source.main;
    const std::vector<uint32_t>& boundary = isInput ? main.inputIndexes : main.outputIndexes;
    ANeuralNetworksOperandType type = {};
    const bool hasType = !argument.dimensions.empty() && index < boundary.size();
    if (hasType) {
        const driver::Operand& operand = main.operands[boundary[index]];
        type = {.type = static_cast<int32_t>(operand.type),
                .dimensionCount = static_cast<uint32_t>(argument.dimensions.size()),
                .dimensions = argument.dimensions.data(),
                .scale = operand.scale,
                .zeroPoint = operand.zeroPoint};
    }
    const ANeuralNetworksOperandType* const said = hasType ? &type : nullptr;
    const driver::DataLocation& location = argument.location;
    // In C padding is a part of the length: of an output whose size the run tells, that would be
    // more room than the request has for it.
    const size_t length =
            location.length + (isInput || hasKnownSize(index, argument) ? location.padding : 0);
    const auto bindPointer = [&](uint8_t* bytes, size_t size) {
        return isInput ? statusOf(library.ANeuralNetworksExecution_setInput(get(), number, said,
                                                                            bytes, size),
                                  "setInput")
                       : statusOf(library.ANeuralNetworksExecution_setOutput(get(), number, said,
                                                                             bytes, size),
                                  "setOutput");
    };
    if (argument.hasNoValue) {
        return bindPointer(nullptr, 0);
    }
    if (!isInput && length == 0) {
        // No elements will come; a buffer of no bytes would be no buffer.
        return bindPointer(&mNoElements, 1);
    }
    const auto* const pool =
            location.poolIndex < request.pools.size()
                    ? std::get_if<driver::SharedMemory>(&request.pools[location.poolIndex])
                    : nullptr;
    if (pool == nullptr || *pool == nullptr) {
        return invalidArgument("an argument lies in no memory that a program has");
    }
    HALYARD_ASSIGN_OR_RETURN(ANeuralNetworksMemory* const memory, mCompiled->memories.of(*pool));
    if (memory != nullptr) {
        return isInput ? statusOf(library.ANeuralNetworksExecution_setInputFromMemory(
                                          get(), number, said, memory, location.offset, length),
                                  "setInputFromMemory")
                       : statusOf(library.ANeuralNetworksExecution_setOutputFromMemory(
                                          get(), number, said, memory, location.offset, length),
                                  "setOutputFromMemory");
    }
    if (location.offset > (*pool)->size() || length > (*pool)->size() - location.offset) {
        return invalidArgument("an argument lies outside of its pool");
    }
    HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> bytes, (*pool)->map());
    return bindPointer(bytes.data() + location.offset, length);
}

}  // namespace halyard::ndk
