// SPDX-License-Identifier: Apache-2.0

#include "driver/execute/prepared_model.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <future>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "driver/charged_work.h"
#include "driver/device_state.h"
#include "driver/error_status.h"
#include "driver/execute/request_binding.h"
#include "driver/execute/request_dump.h"
#include "driver/execute/request_trace.h"
#include "driver/model/footprint.h"
#include "driver/model/pools.h"
#include "driver/prepare/saved_model.h"
#include "engine/base/section_file.h"

namespace halyard::driver {
namespace {

using Clock = std::chrono::steady_clock;

// Of what was in time when it came: the same call may succeed where it waits for less.
Status deadlinePassed() {
    return {StatusCode::DEADLINE_EXCEEDED, "the deadline passed before the start"};
}

// Whether a request that has come can't be in time, however soon it begins.
bool isTooLate(const ExecuteOptions& options) {
    return hasPassed(options.deadline) ||
           (options.durationAfterFences.has_value() &&
            *options.durationAfterFences <= std::chrono::nanoseconds::zero());
}

// The deadline, or so long from now on where that is earlier.
Deadline earlier(const Deadline& deadline, const Duration& duration) {
    if (!duration.has_value()) {
        return deadline;
    }
    const Clock::time_point now = Clock::now();
    const Clock::time_point end =
            *duration < Clock::time_point::max() - now ? now + *duration : Clock::time_point::max();
    return deadline.has_value() ? std::min(*deadline, end) : end;
}

// A report's fields are separated by tabs and its rows by line ends.
std::string field(std::string text) {
    std::ranges::replace_if(
            text, [](char c) { return c == '\t' || c == '\n'; }, ' ');
    return "\t" + text;
}

std::string listOf(const std::vector<uint32_t>& operations) {
    std::string text;
    for (const uint32_t operation : operations) {
        text.append(text.empty() ? "" : ",").append(std::to_string(operation));
    }
    return text;
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

struct PreparedModel::State {
    // When a request was received, and when the last fence that it waited for had happened.
    struct Start {
        Clock::time_point received;
        Clock::time_point ready;

        explicit Start(Clock::time_point at) : received(at), ready(at) {}
    };

    std::shared_ptr<DeviceState> device;  // outlives the program, whose backends it holds
    std::shared_ptr<Client> client;
    Holdings holdings;
    ModelBoundary boundary;
    PoolUses pools;
    std::shared_ptr<const engine::Program> program;
    Priority priority = Priority::MEDIUM;
    uint64_t modelNumber = 0;
    std::atomic<size_t> arenaBytes = 0;

    void noteArena(size_t bytes) {
        size_t largest = arenaBytes.load();
        while (bytes > largest && !arenaBytes.compare_exchange_weak(largest, bytes)) {
        }
    }

    void giveBack(std::unique_ptr<ReusedExecution> reused) const {
        device->idle->giveBack(*program,
                               {.account = client->number(), .uid = client->process().uid},
                               std::move(reused));
    }

    // Takes a request that has to wait, if it is valid: its pools are in use from now on. What it
    // resolves to is not kept: who waits for a slot must not hold the memory of an idle execution
    // meanwhile.
    Status admit(const Request& request, HalVersion version, RequestPools& requestPools) {
        std::unique_ptr<ReusedExecution> reused = device->idle->take(*program);
        Status valid = resolveRequest(request, boundary, version, reused->shapes);
        giveBack(std::move(reused));
        return valid.ok() ? use(request, requestPools) : valid;
    }

    Status use(const Request& request, RequestPools& requestPools) const {
        HALYARD_RETURN_IF_ERROR(usePools(request, &client->account(), requestPools));
        const Status buffers = device->buffers->use(request, *client, modelNumber, requestPools);
        if (!buffers.ok()) {
            requestPools.release();
        }
        return buffers;
    }

    Status await(Fences waitFor, const Deadline& deadline, FenceWatch::Share::Then then) const {
        const std::shared_ptr<FenceWatch::Share>& fences = client->shares().fences;
        HALYARD_RETURN_IF_ERROR(fences->await(std::move(waitFor), deadline, std::move(then)));
        // A client that has died meanwhile refuses what waited before.
        if (const Status alive = client->alive(); !alive.ok()) {
            fences->refuseWaiting(alive);
        }
        return {};
    }

    // Resolves the request and runs it, on a thread that has a slot. `admitted`: its pools, if it
    // had to wait.
    void serve(const Request& request, HalVersion version, const ExecuteOptions& options,
               Clock::time_point start, const RequestPools* admitted, ExecutionResult& result) {
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

    // Waits for a slot and serves the request. A failure is why it never got one; `result` is then
    // as it was.
    Status serveInTurn(const Request& request, HalVersion version, const ExecuteOptions& options,
                       Clock::time_point start, ExecutionResult& result) {
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

    // As serve(), for a request that is resolved and whose pools are in use already.
    void serveResolved(const Request& request, const RequestShapes& shapes,
                       const RequestPools& requestPools, const ExecuteOptions& options,
                       const Start& start, ExecutionResult& result) {
        if (hasPassed(options.deadline)) {
            result.status = deadlinePassed();
            return;
        }
        std::unique_ptr<ReusedExecution> reused = device->idle->take(*program);
        run(request, shapes, requestPools, options, start, *reused, result);
        finish(std::move(reused), result);
    }

    void finish(std::unique_ptr<ReusedExecution> reused, ExecutionResult& result) {
        reused->pools.release();
        giveBack(std::move(reused));
        if (!result.status.ok() && result.status.code() != StatusCode::OUTPUT_TOO_SMALL) {
            result.outputShapes.clear();
        }
    }

    // Sets the status and, where it has them, shapes and times.
    void run(const Request& request, const RequestShapes& shapes, const RequestPools& requestPools,
             const ExecuteOptions& options, const Start& start, ReusedExecution& reused,
             ExecutionResult& result) {
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
        const Precedence::Turn turn(client->precedence(), priority);
        const ChargedWork work(*device, *client, &turn);
        runOptions.stop = work.condition();
        runOptions.trace = options.trace;
        std::optional<RequestTrace> trace;
        if (options.trace == nullptr && (trace = RequestTrace::begin(*device)).has_value()) {
            runOptions.trace = &trace->sink();
        }
        runOptions.loopTimeout = std::min(options.loopTimeout, kMaxLoopTimeout);
        result.status = limit.explain(execute(reused, runOptions));
        noteArena(reused.report.arenaBytes);
        if (trace.has_value()) {
            trace->write();
        }
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

    Status execute(ReusedExecution& reused, const engine::RunOptions& options) const {
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

    Status checkPoolsIntact(const RequestPools& requestPools) const {
        for (size_t i = 0; i < pools.size(); ++i) {
            HALYARD_RETURN_IF_ERROR(checkIntact(pools[i], "model", i));
        }
        for (size_t i = 0; i < requestPools.bound.size(); ++i) {
            if (const auto* pool = std::get_if<MemoryUse>(&requestPools.bound[i])) {
                HALYARD_RETURN_IF_ERROR(checkIntact(*pool, "request", i));
            }
        }
        return {};
    }

    template <typename Binding>
    void dump(uint64_t number, std::string_view role, std::span<const Binding> bindings) const {
        if (device->options.dumpDirectory.empty()) {
            return;
        }
        for (size_t i = 0; i < bindings.size(); ++i) {
            dumpTensor(device->options.dumpDirectory, number, std::string(role) + std::to_string(i),
                       bindings[i].bytes);
        }
    }
};

PreparedModel::PreparedModel(std::shared_ptr<DeviceState> device, std::shared_ptr<Client> client,
                             Holdings holdings, ModelBoundary boundary, PoolUses pools,
                             std::shared_ptr<const engine::Program> program, Priority priority)
    : mState(std::make_unique<State>()) {
    mState->device = std::move(device);
    mState->client = std::move(client);
    mState->holdings = std::move(holdings);
    mState->boundary = std::move(boundary);
    mState->pools = std::move(pools);
    mState->program = std::move(program);
    mState->priority = priority;
    mState->modelNumber = ++mState->device->models;
    ++mState->device->liveModels;
}

PreparedModel::~PreparedModel() {
    mState->device->idle->drop(*mState->program);
    --mState->device->liveModels;
    const std::shared_ptr<DeviceState> device = mState->device;
    mState = nullptr;
    device->heap.note();
}

void PreparedModel::execute(const Request& request, HalVersion version,
                            const ExecuteOptions& options, ExecutionResult& result) const {
    result.timing = {};
    result.timingFenced = {};
    const Status turn = mState->serveInTurn(request, version, options, Clock::now(), result);
    if (!turn.ok()) {
        result.status = turn;
        result.outputShapes.clear();
    }
}

ExecutionResult PreparedModel::execute(const Request& request, HalVersion version,
                                       const ExecuteOptions& options) const {
    ExecutionResult result;
    execute(request, version, options, result);
    return result;
}

Status PreparedModel::executeAsync(Request request, HalVersion version,
                                   const ExecuteOptions& options, ExecuteCallback callback) const {
    const Clock::time_point start = Clock::now();
    if (callback == nullptr) {
        return invalidArgument("execute needs a callback");
    }
    RequestShapes shapes;
    ExecutionResult failure;
    failure.status = resolveRequest(request, mState->boundary, version, shapes);
    noteIgnored(options.hints, "execute");
    if (failure.status.ok() && isTooLate(options)) {
        failure.status = deadlineHadPassed();
    }
    if (!failure.status.ok()) {
        callback(failure);
        return failure.status.code() == StatusCode::INVALID_ARGUMENT ? failure.status : Status();
    }
    Result<Client::Admission> admission = mState->client->admit(footprintOf(request));
    if (!admission.ok()) {
        failure.status = admission.status();
        callback(failure);
        return failure.status;
    }
    RequestPools pools;
    {
        // It works on the caller's thread, like all that asks for a permit.
        const Result<CallGate::Permit> permit = mState->client->shares().calls->enter();
        if (!permit.ok()) {
            failure.status = permit.status();
            callback(failure);
            return failure.status;
        }
        failure.status = mState->use(request, pools);
        if (!failure.status.ok()) {
            callback(failure);
            return failure.status.code() == StatusCode::INVALID_ARGUMENT ? failure.status
                                                                         : Status();
        }
    }
    struct Launch {
        ExecuteCallback callback;
        Request request;
        RequestShapes shapes;
        RequestPools pools;
        ExecuteOptions options;
        Client::Admission admission;
        Reservation fences;
        State::Start start;
    };
    Result<Reservation> fences =
            Reservation::create(mState->client->account().descriptors, options.waitFor.size());
    if (!fences.ok()) {
        failure.status = fences.status().withContext("the fences");
        callback(failure);
        return failure.status;
    }
    request.pools.clear();  // what is used of them is
    const auto launch = std::make_shared<Launch>(
            Launch{std::move(callback), std::move(request), std::move(shapes), std::move(pools),
                   options, std::move(admission).value(), std::move(*fences), State::Start(start)});
    launch->options.hints = {};
    const auto work = [launch, self = shared_from_this()](const Status& turn) {
        ExecutionResult result;
        result.status = turn;
        if (turn.ok()) {
            self->mState->serveResolved(launch->request, launch->shapes, launch->pools,
                                        launch->options, launch->start, result);
        }
        // The client may count on the memory once it is told.
        launch->request = {};
        launch->pools.release();
        launch->callback(result);
    };
    const auto post = [launch, work, state = mState.get()]() {
        return state->client->shares().executing->post(state->priority, launch->options.deadline,
                                                       work);
    };
    if (launch->options.waitFor.empty()) {
        failure.status = post();
    } else {
        // It holds neither a slot nor a thread until then.
        failure.status = mState->await(std::move(launch->options.waitFor), options.deadline,
                                       [launch, work, post](const Status& happened) {
                                           launch->fences = {};
                                           if (!happened.ok()) {
                                               work(happened);
                                               return;
                                           }
                                           launch->start.ready = Clock::now();
                                           ExecuteOptions& rest = launch->options;
                                           rest.deadline =
                                                   earlier(rest.deadline, rest.durationAfterFences);
                                           if (const Status posted = post(); !posted.ok()) {
                                               work(posted);
                                           }
                                       });
    }
    if (!failure.status.ok()) {
        launch->callback(failure);
    }
    return failure.status;
}

ExecutionResult PreparedModel::executeFenced(const Request& request, HalVersion version,
                                             const ExecuteOptions& options) const {
    ExecutionResult result;
    result.status = validateFenced(request, version);
    if (!result.status.ok()) {
        return result;
    }
    if (options.waitFor.empty()) {
        ExecuteOptions now = options;
        now.deadline = earlier(options.deadline, options.durationAfterFences);
        now.durationAfterFences = {};
        execute(request, version, now, result);
    } else {
        const Result<CallGate::Permit> permit = mState->client->shares().calls->enter();
        if (!permit.ok()) {
            result.status = permit.status();
            return result;
        }
        // The caller's thread waits: for no longer than anything may take.
        const TimeLimit limit = mState->device->timeLimit(options.deadline);
        ExecuteOptions limited = options;
        limited.deadline = limit.deadline();
        std::promise<ExecutionResult> told;
        static_cast<void>(executeAsync(
                request, version, limited,
                [&told](const ExecutionResult& executed) { told.set_value(executed); }));
        result = told.get_future().get();
        result.status = limit.explain(result.status);
    }
    if (result.status.code() == StatusCode::OUTPUT_TOO_SMALL) {
        result.status = internalError(std::string(result.status.message()));
    }
    result.outputShapes.clear();
    return result;
}

Status PreparedModel::validateFenced(const Request& request, HalVersion version) const {
    RequestShapes shapes;
    HALYARD_RETURN_IF_ERROR(resolveRequest(request, mState->boundary, version, shapes));
    for (size_t i = 0; i < shapes.outputs.size(); ++i) {
        const RequestArgument& output = request.outputs[i];
        const bool isInBuffer =
                !output.hasNoValue &&
                std::holds_alternative<uint32_t>(request.pools[output.location.poolIndex]);
        if (!output.hasNoValue && !isInBuffer && !shapes.outputs[i].isFullyKnown()) {
            return invalidArgument("output " + std::to_string(i) +
                                   ": its dimensions are not fully specified, as a fenced "
                                   "execution needs them");
        }
    }
    return {};
}

SectionWriter PreparedModel::saved() const {
    SectionWriter file;
    file.addDescription("model", toBytes({.boundary = mState->boundary,
                                          .footprint = mState->holdings.memory.count(),
                                          .settings = settingsOf(*mState->device)}));
    mState->program->save(file);
    return file;
}

Status PreparedModel::write(const SectionWriter& saved, ByteSink& sink) const {
    HALYARD_RETURN_IF_ERROR(saved.writeTo(sink));
    for (size_t i = 0; i < mState->pools.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(checkIntact(mState->pools[i], "model", i));
    }
    return {};
}

uint64_t PreparedModel::number() const {
    return mState->modelNumber;
}

const ModelBoundary& PreparedModel::boundary() const {
    return mState->boundary;
}

const engine::Program& PreparedModel::program() const {
    return *mState->program;
}

Priority PreparedModel::priority() const {
    return mState->priority;
}

const std::shared_ptr<Client>& PreparedModel::client() const {
    return mState->client;
}

std::string PreparedModel::report() const {
    std::string text = "constant_bytes" + field(std::to_string(program().constantBytes())) + "\n";
    text += "arena_bytes" + field(std::to_string(mState->arenaBytes.load())) + "\n";
    text += "pieces" + field(std::to_string(program().pieceCount())) + "\n";
    text += "bytes_between_pieces" + field(std::to_string(program().bytesBetweenPieces())) + "\n";
    for (const engine::Program::Copy& copy : program().copies()) {
        text += "copy" + field(copy.tensor) + field(copy.from) + field(copy.to) +
                field(std::to_string(copy.bytes)) + "\n";
    }
    for (const engine::NodePlacement& node : program().placement()) {
        text += "node" + field(listOf(node.sources)) + field(node.label) + field(node.kind) +
                field(node.backend) + field(std::to_string(node.piece)) + field(node.kernel);
        for (const engine::NodePlacement::Refusal& refusal : node.refusals) {
            text += field(refusal.backend + ": " + refusal.reason);
        }
        text += "\n";
    }
    for (const engine::VanishedOperation& vanished : program().graph().vanished()) {
        text += "vanished" + field(std::to_string(vanished.operation)) + field(vanished.fate) +
                "\n";
    }
    return text;
}

}  // namespace halyard::driver
