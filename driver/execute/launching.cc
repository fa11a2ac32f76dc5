// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <future>
#include <string>
#include <utility>
#include <variant>

#include "driver/execute/prepared_model.h"
#include "driver/execute/prepared_model_state.h"
#include "driver/model/error_status.h"
#include "driver/model/footprint.h"

namespace halyard::driver {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

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
        PreparedModelState::Start start;
    };
    Result<Reservation> fences =
            Reservation::create(mState->client->account().descriptors, options.waitFor.size());
    if (!fences.ok()) {
        failure.status = fences.status().withContext("the fences");
        callback(failure);
        return failure.status;
    }
    request.pools.clear();  // what is used of them is
    const auto launch = std::make_shared<Launch>(Launch{
            std::move(callback), std::move(request), std::move(shapes), std::move(pools), options,
            std::move(admission).value(), std::move(*fences), PreparedModelState::Start(start)});
    launch->options.hints = {};
    const auto work = [launch, self = shared_from_this()](const Status& slot) {
        ExecutionResult result;
        result.status = slot;
        if (slot.ok()) {
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

}  // namespace halyard::driver
