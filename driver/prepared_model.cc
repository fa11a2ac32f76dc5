// SPDX-License-Identifier: Apache-2.0

#include "driver/prepared_model.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include "driver/device_state.h"
#include "driver/request_binding.h"
#include "driver/request_dump.h"

namespace halyard::driver {
namespace {

using Clock = std::chrono::steady_clock;

Status deadlinePassed() {
    return {StatusCode::DEADLINE_EXCEEDED, "the deadline had passed before the start"};
}

uint64_t microseconds(std::chrono::nanoseconds time) {
    return static_cast<uint64_t>(
            std::chrono::duration_cast<std::chrono::microseconds>(time).count());
}

// Unknown extents become 0; an unknown rank leaves what the request and the model said.
std::vector<uint32_t> dimensionsOf(const engine::Shape& shape, const Operand& operand,
                                   const RequestArgument& argument) {
    if (!shape.hasKnownRank()) {
        return mergedDimensions(operand, argument);
    }
    std::vector<uint32_t> dimensions;
    for (const int32_t extent : shape.extents()) {
        dimensions.push_back(extent < 0 ? 0U : static_cast<uint32_t>(extent));
    }
    return dimensions;
}

// A report's fields are separated by tabs and its rows by line ends.
std::string field(std::string text) {
    std::ranges::replace_if(
            text, [](char c) { return c == '\t' || c == '\n'; }, ' ');
    return "\t" + text;
}

}  // namespace

struct PreparedModel::State {
    std::shared_ptr<DeviceState> device;  // outlives the program, whose backends it holds
    ModelBoundary boundary;
    std::vector<SharedMemory> pools;
    std::shared_ptr<const engine::Program> program;
    Priority priority = Priority::MEDIUM;
    std::atomic<size_t> arenaBytes = 0;

    void noteArena(size_t bytes) {
        size_t largest = arenaBytes.load();
        while (bytes > largest && !arenaBytes.compare_exchange_weak(largest, bytes)) {
        }
    }

    // For a valid request that was received at `start`.
    ExecutionResult run(const Request& request, const ExecuteOptions& options,
                        Clock::time_point start) {
        ExecutionResult result;
        Result<RequestBinding> binding = RequestBinding::create(request, boundary, device->memory);
        if (!binding.ok()) {
            result.status = binding.status();
            return result;
        }
        const uint64_t number = ++device->requests;
        dump(number, "input", binding->inputs());

        std::unique_ptr<engine::Execution> execution = device->idle->take(program);
        engine::ExecutionReport report;
        result.status =
                execution->run(binding->inputs(), binding->outputs(), options.deadline, &report);
        device->idle->giveBack(*program, std::move(execution));
        noteArena(report.arenaBytes);

        if (result.status.ok()) {
            binding->publish();
            result.status = checkPoolsIntact(request);
        }
        const bool ok = result.status.ok();
        if (ok) {
            dump(number, "output", binding->outputs());
        }
        if (ok || result.status.code() == StatusCode::OUTPUT_TOO_SMALL) {
            describeOutputs(request, report, result);
        }
        if (ok && options.measureTiming) {
            // The device's share is measured inside the driver's, but rounded on its own.
            result.timing.timeInDriver = microseconds(Clock::now() - start);
            result.timing.timeOnDevice =
                    std::min(microseconds(report.deviceTime), result.timing.timeInDriver);
        }
        return result;
    }

    Status checkPoolsIntact(const Request& request) const {
        for (size_t i = 0; i < pools.size(); ++i) {
            HALYARD_RETURN_IF_ERROR(checkIntact(*pools[i], "model", i));
        }
        for (size_t i = 0; i < request.pools.size(); ++i) {
            if (const auto* pool = std::get_if<SharedMemory>(&request.pools[i]); pool != nullptr) {
                HALYARD_RETURN_IF_ERROR(checkIntact(**pool, "request", i));
            }
        }
        return {};
    }

    template <typename Binding>
    void dump(uint64_t number, const std::string& role, std::span<const Binding> bindings) const {
        if (device->options.dumpDirectory.empty()) {
            return;
        }
        for (size_t i = 0; i < bindings.size(); ++i) {
            dumpTensor(device->options.dumpDirectory, number, role + std::to_string(i),
                       bindings[i].bytes);
        }
    }

    void describeOutputs(const Request& request, const engine::ExecutionReport& report,
                         ExecutionResult& result) const {
        for (size_t i = 0; i < report.outputs.size() && i < boundary.outputs.size(); ++i) {
            const engine::OutputReport& output = report.outputs[i];
            result.outputShapes.push_back(
                    {.dimensions =
                             dimensionsOf(output.shape, boundary.outputs[i], request.outputs[i]),
                     .isSufficient = output.sufficient});
        }
    }
};

PreparedModel::PreparedModel(std::shared_ptr<DeviceState> device, ModelBoundary boundary,
                             std::vector<SharedMemory> pools,
                             std::shared_ptr<const engine::Program> program, Priority priority)
    : mState(std::make_unique<State>()) {
    mState->device = std::move(device);
    mState->boundary = std::move(boundary);
    mState->pools = std::move(pools);
    mState->program = std::move(program);
    mState->priority = priority;
    ++mState->device->liveModels;
}

PreparedModel::~PreparedModel() {
    mState->device->idle->drop(*mState->program);
    --mState->device->liveModels;
}

ExecutionResult PreparedModel::execute(const Request& request, HalVersion version,
                                       const ExecuteOptions& options) const {
    const Clock::time_point start = Clock::now();
    ExecutionResult result;
    result.status = validateRequest(request, mState->boundary, version);
    if (result.status.ok() && hasPassed(options.deadline)) {
        result.status = deadlinePassed();
    }
    return result.status.ok() ? mState->run(request, options, start) : result;
}

Status PreparedModel::executeAsync(Request request, HalVersion version,
                                   const ExecuteOptions& options, ExecuteCallback callback) const {
    const Clock::time_point start = Clock::now();
    if (callback == nullptr) {
        return invalidArgument("execute needs a callback");
    }
    ExecutionResult failure;
    failure.status = validateRequest(request, mState->boundary, version);
    if (!failure.status.ok()) {
        callback(failure);
        return failure.status;
    }
    if (hasPassed(options.deadline)) {
        failure.status = deadlinePassed();
        callback(failure);
        return {};
    }
    const auto shared = std::make_shared<ExecuteCallback>(std::move(callback));
    auto task = [shared, options, start, self = shared_from_this(), request = std::move(request)] {
        (*shared)(self->mState->run(request, options, start));
    };
    failure.status = mState->device->scheduler.post(mState->priority, std::move(task));
    if (!failure.status.ok()) {
        (*shared)(failure);
    }
    return failure.status;
}

const engine::Program& PreparedModel::program() const {
    return *mState->program;
}

std::string PreparedModel::report() const {
    std::string text = "constant_bytes" + field(std::to_string(program().constantBytes())) + "\n";
    text += "arena_bytes" + field(std::to_string(mState->arenaBytes.load())) + "\n";
    for (const engine::NodePlacement& node : program().placement()) {
        text += "node" + field(std::to_string(node.source)) + field(node.label) + field(node.kind) +
                field(node.backend) + field(std::to_string(node.piece));
        for (const engine::NodePlacement::Refusal& refusal : node.refusals) {
            text += field(refusal.backend + ": " + refusal.reason);
        }
        text += "\n";
    }
    return text;
}

}  // namespace halyard::driver
