// SPDX-License-Identifier: Apache-2.0

#include "hal/aidl/execution_object.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "driver/model/footprint.h"
#include "hal/aidl/boot_time.h"
#include "hal/aidl/conversion.h"
#include "hal/aidl/execution_answer.h"
#include "hal/aidl/fenced.h"
#include "hal/aidl/in_use_guard.h"

namespace halyard::hal::aidl {

using nn::IExecution;

namespace {

// Bytes that an object takes beside its request.
constexpr size_t kExecutionOverhead = 1024;

Status checkCount(std::string_view what, size_t given, size_t model) {
    return given == model ? Status()
                          : invalidArgument("the request has " + std::to_string(given) + " " +
                                            std::string(what) + ", and the model " +
                                            std::to_string(model));
}

}  // namespace

ExecutionObject::ExecutionObject(std::shared_ptr<const driver::PreparedModel> model,
                                 driver::ExecuteOptions options, const Dialect& dialect)
    : AidlObject(IExecution::info(), dialect.release, dialect.number()),
      mModel(std::move(model)),
      mOptions(std::move(options)),
      mDialect(dialect) {}

Result<std::shared_ptr<ExecutionObject>> ExecutionObject::create(
        std::shared_ptr<const driver::PreparedModel> model, const nn::Request& request,
        driver::ExecuteOptions options, const Dialect& dialect) {
    const driver::Client& client = *model->client();
    const driver::ModelBoundary& boundary = model->boundary();
    HALYARD_RETURN_IF_ERROR(checkCount("inputs", request.inputs.size(), boundary.inputs.size()));
    HALYARD_RETURN_IF_ERROR(checkCount("outputs", request.outputs.size(), boundary.outputs.size()));
    // Hints are ignored: they are neither kept nor copied for each execution.
    driver::noteIgnored(options.hints, "createReusableExecution");
    options.hints = {};
    std::shared_ptr<ExecutionObject> execution(
            new ExecutionObject(std::move(model), std::move(options), dialect));
    HALYARD_ASSIGN_OR_RETURN(execution->mRequest, decodeArguments(request));
    // Memory is mapped on the caller's thread.
    HALYARD_ASSIGN_OR_RETURN(const driver::CallGate::Permit permit, client.shares().calls->enter());
    for (size_t i = 0; i < request.pools.size(); ++i) {
        const auto* memory = std::get_if<nn::Memory>(&request.pools[i].value);
        if (memory == nullptr) {
            HALYARD_ASSIGN_OR_RETURN(driver::RequestPool pool, decode(request.pools[i]));
            execution->mRequest.pools.push_back(std::move(pool));
            continue;
        }
        Result<KeptMemory> kept = keepMemory(*memory, client);
        if (!kept.ok()) {
            return kept.status().withContext("pool " + std::to_string(i));
        }
        if (kept->whole.mapping() == nullptr && kept->memory->size() != 0) {
            Result<driver::MemoryUse> whole = kept->memory->useWhole(&client.account());
            if (!whole.ok()) {
                return whole.status().withContext("pool " + std::to_string(i));
            }
            kept->whole = *std::move(whole);
        }
        execution->mRequest.pools.emplace_back(kept->memory);
        execution->mMemory.push_back(*std::move(kept));
    }
    HALYARD_ASSIGN_OR_RETURN(
            execution->mHeld,
            Reservation::create(client.account().memory,
                                kExecutionOverhead + driver::footprintOf(execution->mRequest) +
                                        execution->mMemory.size() * sizeof(KeptMemory) +
                                        driver::resultFootprintOf(boundary.outputs.size())));
    return execution;
}

Status ExecutionObject::serve(uint32_t code, Call& call) {
    using Self = ExecutionObject;
    static constexpr Handler<Self> kHandlers[] = {
            {IExecution::ExecuteSynchronously::kCode, &Self::executeSynchronously},
            {IExecution::ExecuteFenced::kCode, &Self::executeFenced},
    };
    return dispatch(*this, kHandlers, code, call);
}

Status ExecutionObject::executeSynchronously(Call& call) {
    using Method = IExecution::ExecuteSynchronously;
    HALYARD_ASSIGN_OR_RETURN(const auto arguments, call.read<Method>());
    HALYARD_RETURN_IF_ERROR(call.end());
    const InUseGuard inUse(mComputing);
    const Result<Deadline> deadline = decodeDeadline(arguments.deadlineNs);
    for (const Status& status : {deadline.status(), inUse.status()}) {
        if (!status.ok()) {
            return refuse(call, status, Method::kName);
        }
    }
    driver::ExecuteOptions options = mOptions;
    options.deadline = *deadline;
    mModel->execute(mRequest, mDialect.version, options, mResult);
    return answerExecution<Method>(call, mResult, Method::kName);
}

Status ExecutionObject::executeFenced(Call& call) {
    using Method = IExecution::ExecuteFenced;
    HALYARD_ASSIGN_OR_RETURN(const auto arguments, call.read<Method>());
    const InUseGuard inUse(mComputing);
    const Result<Deadline> deadline = decodeDeadline(arguments.deadlineNs);
    driver::ExecuteOptions own = mOptions;
    own.deadline = deadline.ok() ? *deadline : Deadline();
    const Result<driver::ExecuteOptions> options =
            fencedOptions(own, arguments.waitFor, arguments.durationNs, call.caller);
    HALYARD_RETURN_IF_ERROR(call.end());
    for (const Status& status : {deadline.status(), inUse.status()}) {
        if (!status.ok()) {
            return refuse(call, status, Method::kName);
        }
    }
    return answerFenced<Method>(call, aidl::executeFenced(*mModel, mRequest, options, mDialect));
}

}  // namespace halyard::hal::aidl
