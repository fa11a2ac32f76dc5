// SPDX-License-Identifier: Apache-2.0

#include "hal/aidl/burst_object.h"

#include <cstddef>
#include <string>
#include <utility>
#include <variant>

#include "driver/model/footprint.h"
#include "hal/aidl/conversion.h"
#include "hal/aidl/execution_answer.h"
#include "hal/aidl/in_use_guard.h"
#include "hal/aidl/memory.h"

namespace halyard::hal::aidl {

using nn::IBurst;

namespace {

// Of memory that need not be kept.
constexpr int64_t kNoToken = -1;

// Bytes that an object takes beside the last execution's report.
constexpr size_t kBurstOverhead = 1024;

Status checkTokens(const nn::Request& request, std::span<const int64_t> tokens) {
    if (tokens.size() != request.pools.size()) {
        return invalidArgument(std::to_string(tokens.size()) + " memory tokens for " +
                               std::to_string(request.pools.size()) + " pools");
    }
    for (size_t i = 0; i < tokens.size(); ++i) {
        if (tokens[i] < kNoToken) {
            return invalidArgument("memory token " + std::to_string(i) + " is " +
                                   std::to_string(tokens[i]) + ", and must be -1 or more");
        }
    }
    return {};
}

}  // namespace

BurstObject::BurstObject(std::shared_ptr<const driver::PreparedModel> model, Reservation held,
                         const Dialect& dialect)
    : AidlObject(IBurst::info(), dialect.release, dialect.number()),
      mModel(std::move(model)),
      mHeld(std::move(held)),
      mDialect(dialect) {}

Result<std::shared_ptr<BurstObject>> BurstObject::create(
        std::shared_ptr<const driver::PreparedModel> model, const Dialect& dialect) {
    const size_t outputs = model->boundary().outputs.size();
    HALYARD_ASSIGN_OR_RETURN(
            Reservation held,
            Reservation::create(model->client()->account().memory,
                                kBurstOverhead + driver::resultFootprintOf(outputs)));
    return std::shared_ptr<BurstObject>(
            new BurstObject(std::move(model), std::move(held), dialect));
}

Status BurstObject::serve(uint32_t code, Call& call) {
    using Self = BurstObject;
    static constexpr Handler<Self> kHandlers[] = {
            {IBurst::ExecuteSynchronously::kCode, &Self::executeSynchronously},
            {IBurst::ReleaseMemoryResource::kCode, &Self::releaseMemoryResource},
            {IBurst::ExecuteSynchronouslyWithConfig::kCode, &Self::executeSynchronouslyWithConfig},
    };
    return dispatch(*this, kHandlers, code, call);
}

Result<std::shared_ptr<const KeptMemory>> BurstObject::memoryOf(int64_t token,
                                                                const nn::Memory& wire) {
    {
        const std::lock_guard lock(mMutex);
        if (const auto known = mKnown.find(token); known != mKnown.end()) {
            return known->second;
        }
    }
    // It is mapped on the caller's thread.
    HALYARD_ASSIGN_OR_RETURN(const driver::CallGate::Permit permit,
                             mModel->client()->shares().calls->enter());
    HALYARD_ASSIGN_OR_RETURN(KeptMemory kept, keepMemory(wire, *mModel->client()));
    auto shared = std::make_shared<const KeptMemory>(std::move(kept));
    if (shared->whole.mapping() != nullptr) {
        const std::lock_guard lock(mMutex);
        mKnown.emplace(token, shared);
    }
    return shared;
}

Result<driver::Request> BurstObject::decodeRequest(const nn::Request& wire,
                                                   std::span<const int64_t> tokens, Held& held) {
    HALYARD_RETURN_IF_ERROR(checkTokens(wire, tokens));
    HALYARD_ASSIGN_OR_RETURN(driver::Request request, decodeArguments(wire));
    for (size_t i = 0; i < wire.pools.size(); ++i) {
        const auto* memory = std::get_if<nn::Memory>(&wire.pools[i].value);
        if (memory == nullptr || tokens[i] == kNoToken) {
            HALYARD_ASSIGN_OR_RETURN(driver::RequestPool pool, decode(wire.pools[i]));
            request.pools.push_back(std::move(pool));
            continue;
        }
        HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<const KeptMemory> kept,
                                 memoryOf(tokens[i], *memory));
        request.pools.emplace_back(kept->memory);
        held.push_back(std::move(kept));
    }
    return request;
}

Status BurstObject::execute(Call& call, std::string_view what, const nn::Request& wire,
                            std::span<const int64_t> tokens,
                            const Result<driver::ExecuteOptions>& options) {
    const InUseGuard inUse(mComputing);
    Held held;
    const Result<driver::Request> request = decodeRequest(wire, tokens, held);
    HALYARD_RETURN_IF_ERROR(call.end());
    for (const Status& status : {request.status(), options.status(), inUse.status()}) {
        if (!status.ok()) {
            return refuse(call, status, what);
        }
    }
    mModel->execute(*request, mDialect.version, *options, mResult);
    return answerExecution<IBurst::ExecuteSynchronously>(call, mResult, what);
}

Status BurstObject::executeSynchronously(Call& call) {
    using Method = IBurst::ExecuteSynchronously;
    HALYARD_ASSIGN_OR_RETURN(const auto arguments, call.read<Method>());
    return execute(call, Method::kName, arguments.request, arguments.memoryIdentifierTokens,
                   decodeOptions(arguments.measureTiming, arguments.deadlineNs,
                                 arguments.loopTimeoutDurationNs));
}

Status BurstObject::executeSynchronouslyWithConfig(Call& call) {
    using Method = IBurst::ExecuteSynchronouslyWithConfig;
    HALYARD_ASSIGN_OR_RETURN(const auto arguments, call.read<Method>());
    return execute(call, Method::kName, arguments.request, arguments.memoryIdentifierTokens,
                   decodeOptions(arguments.config, arguments.deadlineNs));
}

Status BurstObject::releaseMemoryResource(Call& call) {
    using Method = IBurst::ReleaseMemoryResource;
    HALYARD_ASSIGN_OR_RETURN(const auto arguments, call.read<Method>());
    HALYARD_RETURN_IF_ERROR(call.end());
    if (arguments.memoryIdentifierToken < kNoToken) {
        return refuse(call,
                      invalidArgument("the memory token is " +
                                      std::to_string(arguments.memoryIdentifierToken) +
                                      ", and must be -1 or more"),
                      Method::kName);
    }
    std::shared_ptr<const KeptMemory> released;
    const std::lock_guard lock(mMutex);
    if (const auto known = mKnown.find(arguments.memoryIdentifierToken); known != mKnown.end()) {
        released = std::move(known->second);
        mKnown.erase(known);
    }
    return call.answer();
}

}  // namespace halyard::hal::aidl
