// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "driver/clients/charged_work.h"
#include "driver/execute/prepared_model_state.h"
#include "driver/execute/request_dump.h"
#include "driver/execute/request_trace.h"
#include "driver/model/error_status.h"
#include "driver/model/pools.h"

namespace halyard::driver {
namespace {

using Clock = std::chrono::steady_clock;

// Of what was in time when it came: the same call may succeed where it waits for less.
Status deadlinePassed() {
    return {StatusCode::DEADLINE_EXCEEDED, "the deadline passed before the start"};
}

// One per output of the run. Unknown extents become 0; of an output whose rank the run did not find
// out, only what the request and the model said is known.
void describeOutputs(const engine::ExecutionReport& report, const RequestShapes& shapes,
                     std::vector<OutputShape>& described) {
    described.resize(report.outputs.size());
    for (size_t i = 0; i < described.size(); ++i) {
        const engine::OutputReport& output = report.outputs[i];
        const engine::Shape& shape = output.shape.hasKnownRank() ? output.shape : shapes.outputs[i];
        described[i].isSufficient = output.sufficient;
        described[i].dimensions.clear();
        for (const int32_t extent : shape.extents()) {
            described[i].dimensions.push_back(extent < 0 ? 0U : static_cast<uint32_t>(extent));
        }
    }
}

}  // namespace

bool isTooLate(const ExecuteOptions& options) {
    return hasPassed(options.deadline) ||
           (options.durationAfterFences.has_value() &&
            *options.durationAfterFences <= std::chrono::nanoseconds::zero());
}

Deadline earlier(const Deadline& deadline, const Duration& duration) {
    if (!duration.has_value()) {
        return deadline;
    }
    const Clock::time_point now = Clock::now();
    const Clock::time_point end =
            *duration < Clock::time_point::max() - now ? now + *duration : Clock::time_point::max();
    return deadline.has_value() ? std::min(*deadline, end) : end;
}

template <typename Binding>
void PreparedModelState::dump(uint64_t number, std::string_view role,
                              std::span<const Binding> bindings) const {
    if (device->options.dumpDirectory.empty()) {
        return;
    }
    for (size_t i = 0; i < bindings.size(); ++i) {
        dumpTensor(device->options.dumpDirectory, number, std::string(role) + std::to_string(i),
                   bindings[i].bytes);
    }
}

void PreparedModelState::giveBack(std::unique_ptr<ReusedExecution> reused) const {
    device->idle->giveBack(*program, {.account = client->number(), .uid = client->process().uid},
                           std::move(reused));
}

Status PreparedModelState::admit(const Request& request, HalVersion version,
                                 RequestPools& requestPools) {
    std::unique_ptr<ReusedExecution> reused = device->idle->take(*program);
    Status valid = resolveRequest(request, boundary, version, reused->shapes);
    giveBack(std::move(reused));
    return valid.ok() ? use(request, requestPools) : valid;
}

Status PreparedModelState::use(const Request& request, RequestPools& requestPools) const {
    HALYARD_RETURN_IF_ERROR(usePools(request, &client->account(), requestPools));
    const Status buffers = device->buffers->use(request, *client, modelNumber, requestPools);
    if (!buffers.ok()) {
        requestPools.release();
    }
    return buffers;
}

Status PreparedModelState::await(Fences waitFor, const Deadline& deadline,
                                 FenceWatch::Share::Then then) const {
    const std::shared_ptr<FenceWatch::Share>& fences = client->shares().fences;
    HALYARD_RETURN_IF_ERROR(fences->await(std::move(waitFor), deadline, std::move(then)));
    // A client that has died meanwhile refuses what waited before.
    if (const Status alive = client->alive(); !alive.ok()) {
        fences->refuseWaiting(alive);
    }
    return {};
}

void PreparedModelState::serve(const Request& request, HalVersion version,
                               const ExecuteOptions& options, Clock::time_point start,
                               const RequestPools* admitted, ExecutionResult& result) {
    std::unique_ptr<ReusedExecution> reused = device->idle->take(*program);
    result.status = resolveRequest(request, boundary, version, reused->shapes);
    if (result.status.ok() && hasPassed(options.deadline)) {
        // Without a wait it had passed when the request came.
        result.status = admitted == nullptr ? deadlineHadPassed() : deadlinePassed();
    }
    if (result.status.ok() && admitted == nullptr) {
        result.status = use(request, reused->pools);
        admitted = &reused->pools;
    }
    if (result.status.ok()) {
        run(request, reused->shapes, *admitted, options, Start(start), *reused, result);
    }
    finish(std::move(reused), result);
}

Status PreparedModelState::serveInSlot(const Request& request, HalVersion version,
                                       const ExecuteOptions& options, Clock::time_point start,
                                       ExecutionResult& result) {
    noteIgnored(options.hints, "execute");
    if (!options.waitFor.empty()) {
        return unsupported("no thread is held while fences are waited for");
    }
    HALYARD_RETURN_IF_ERROR(client->alive());
    const Client::Shares& shares = client->shares();
    HALYARD_ASSIGN_OR_RETURN(const CallGate::Permit permit, shares.calls->enter());
    if (const std::optional<Scheduler::Slot> free = shares.executing->tryEnter()) {
        serve(request, version, options, start, nullptr, result);
        return {};
    }
    RequestPools admitted;
    HALYARD_RETURN_IF_ERROR(admit(request, version, admitted));
    if (isTooLate(options)) {
        return deadlineHadPassed();
    }
    HALYARD_ASSIGN_OR_RETURN(const Scheduler::Slot slot,
                             shares.executing->enter(priority, options.deadline));
    serve(request, version, options, start, &admitted, result);
    return {};
}

void PreparedModelState::serveResolved(const Request& request, const RequestShapes& shapes,
                                       const RequestPools& requestPools,
                                       const ExecuteOptions& options, const Start& start,
                                       ExecutionResult& result) {
    if (hasPassed(options.deadline)) {
        result.status = deadlinePassed();
        return;
    }
    std::unique_ptr<ReusedExecution> reused = device->idle->take(*program);
    run(request, shapes, requestPools, options, start, *reused, result);
    finish(std::move(reused), result);
}

void PreparedModelState::finish(std::unique_ptr<ReusedExecution> reused, ExecutionResult& result) {
    reused->pools.release();
    giveBack(std::move(reused));
    if (!result.status.ok() && result.status.code() != StatusCode::OUTPUT_TOO_SMALL) {
        result.outputShapes.clear();
    }
}

void PreparedModelState::run(const Request& request, const RequestShapes& shapes,
                             const RequestPools& requestPools, const ExecuteOptions& options,
                             const Start& start, ReusedExecution& reused, ExecutionResult& result) {
    RequestTrace trace(*device, options.trace);
    trace.enter(TracePhase::INPUTS_AND_OUTPUTS, "bind");
    result.status = bindRequest(request, shapes, requestPools.bound, reused.binding);
    if (!result.status.ok()) {
        return;
    }
    const uint64_t number = ++device->requests;
    dump(number, "input", std::span<const engine::InputBinding>(reused.binding.inputs));

    engine::RunOptions runOptions;
    const TimeLimit limit = device->timeLimit(options.deadline);
    runOptions.deadline = limit.deadline();
    runOptions.cancelled = &client->ended();
    const Precedence::Running running(client->precedence(), priority);
    const ChargedWork work(device->processors, *client, &running);
    runOptions.stop = work.condition();
    trace.leave();
    runOptions.trace = trace.sink();
    runOptions.loopTimeout = std::min(options.loopTimeout, kMaxLoopTimeout);
    result.status = limit.explain(execute(reused, runOptions));
    noteMemory(reused.report);
    trace.enter(TracePhase::RESULTS, "settle");
    if (result.status.ok()) {
        result.status = checkPoolsIntact(requestPools);
    }
    result.status = settleBuffers(request, requestPools.bound, reused.report, result.status);
    const bool ok = result.status.ok();
    if (ok) {
        dump(number, "output", std::span<const engine::OutputBinding>(reused.binding.outputs));
    }
    if (ok || result.status.code() == StatusCode::OUTPUT_TOO_SMALL) {
        describeOutputs(reused.report, shapes, result.outputShapes);
    }
    if (ok && options.measureTiming) {
        const Clock::time_point now = Clock::now();
        result.timing = {.timeOnDevice = reused.report.deviceTime,
                         .timeInDriver = now - start.received};
        result.timingFenced = {.timeOnDevice = reused.report.deviceTime,
                               .timeInDriver = now - start.ready};
    }
}

Status PreparedModelState::execute(ReusedExecution& reused,
                                   const engine::RunOptions& options) const {
    if (!reused.execution.has_value()) {
        const Checkpoint checkpoint(options.deadline, options.cancelled);
        Result<engine::Execution> made =
                engine::Execution::create(program, checkpoint.unless(options.stop));
        if (!made.ok()) {
            return made.status();
        }
        reused.execution.emplace(*std::move(made));
    }
    return reused.execution->run(reused.binding.inputs, reused.binding.outputs, options,
                                 &reused.report);
}

Status PreparedModelState::checkPoolsIntact() const {
    for (size_t i = 0; i < pools.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(checkIntact(MemoryUse(pools[i].lock(), 0, {}), "model", i));
    }
    return {};
}

Status PreparedModelState::checkPoolsIntact(const RequestPools& requestPools) const {
    HALYARD_RETURN_IF_ERROR(checkPoolsIntact());
    for (size_t i = 0; i < requestPools.bound.size(); ++i) {
        if (const auto* pool = std::get_if<MemoryUse>(&requestPools.bound[i])) {
            HALYARD_RETURN_IF_ERROR(checkIntact(*pool, "request", i));
        }
    }
    return {};
}

}  // namespace halyard::driver
