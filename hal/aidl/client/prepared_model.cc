// SPDX-License-Identifier: Apache-2.0

#include "hal/aidl/client/prepared_model.h"

#include <fcntl.h>

#include <string_view>
#include <utility>
#include <vector>

#include "driver/model/error_status.h"
#include "hal/aidl/boot_time.h"
#include "hal/aidl/conversion.h"
#include "hal/aidl/types.h"
#include "hal/client/sendable.h"

namespace halyard::hal::aidl {
namespace {

using driver::ExecuteOptions;
using driver::ExecutionResult;
using driver::HalVersion;
using driver::Request;
using nn::IFencedExecutionCallback;

const char kClientModel = 0;  // its address tells one

template <typename Method>
ExecutionResult resultOf(const Result<RemoteInterface::Answer<Method>>& answer) {
    if (!answer.ok()) {
        return {.status = answer.status().withContext(Method::kName),
                .outputShapes = {},
                .timing = {}};
    }
    return decode(answer->results.result);
}

class ClientBurst final : public driver::IBurst {
  public:
    ClientBurst(RemoteInterface burst, bool usesConfigs)
        : mBurst(std::move(burst)), mUsesConfigs(usesConfigs) {}

    ExecutionResult execute(const Request& request, std::span<const int64_t> identifiers,
                            const ExecuteOptions& options) override {
        if (Status ready = checkSendable(request); !ready.ok()) {
            return {.status = std::move(ready), .outputShapes = {}, .timing = {}};
        }
        const std::vector<int64_t> tokens(identifiers.begin(), identifiers.end());
        const int64_t deadline = encodeDeadline(options.deadline);
        if (mUsesConfigs) {
            return resultOf(mBurst.call<nn::IBurst::ExecuteSynchronouslyWithConfig>(
                    {.request = encode(request),
                     .memoryIdentifierTokens = tokens,
                     .config = encodeConfig(options),
                     .deadlineNs = deadline}));
        }
        return resultOf(mBurst.call<nn::IBurst::ExecuteSynchronously>(
                {.request = encode(request),
                 .memoryIdentifierTokens = tokens,
                 .measureTiming = options.measureTiming,
                 .deadlineNs = deadline,
                 .loopTimeoutDurationNs = encodeDuration(options.loopTimeout)}));
    }

    Status releaseMemory(int64_t identifier) override {
        return mBurst.call<nn::IBurst::ReleaseMemoryResource>({.memoryIdentifierToken = identifier})
                .status();
    }

  private:
    const RemoteInterface mBurst;
    const bool mUsesConfigs;
};

driver::FencedExecution::Info infoOf(const RemoteInterface& callback) {
    const auto answer = callback.call<IFencedExecutionCallback::GetExecutionInfo>({});
    if (!answer.ok()) {
        return {.status = answer.status(), .launched = {}, .fenced = {}};
    }
    return {.status = driver::toStatus(answer->results.result, "the execution failed"),
            .launched = decode(answer->results.timingLaunched),
            .fenced = decode(answer->results.timingFenced)};
}

// The fences as they are sent; INVALID_ARGUMENT where one is none.
Result<std::vector<BorrowedDescriptor>> borrowed(const driver::Fences& fences) {
    std::vector<BorrowedDescriptor> wire;
    for (const auto& fence : fences) {
        if (fence == nullptr) {
            return invalidArgument("a fence has no descriptor");
        }
        wire.push_back({.fd = fence->get()});
    }
    return wire;
}

template <typename Method>
Result<driver::FencedExecution> begun(const RemoteInterface& asked,
                                      const Result<RemoteInterface::Answer<Method>>& answer) {
    HALYARD_RETURN_IF_ERROR(answer.status().withContext(Method::kName));
    const nn::FencedExecutionResult& result = answer->results.result;
    HALYARD_ASSIGN_OR_RETURN(
            const RemoteInterface callback,
            RemoteInterface::cast(asked.process(), result.callback,
                                  IFencedExecutionCallback::info(), asked.release()));
    std::shared_ptr<const FileDescriptor> done;
    if (result.syncFence.has_value()) {
        done = std::make_shared<const FileDescriptor>(
                fcntl(result.syncFence->fd, F_DUPFD_CLOEXEC, 0));
    }
    return driver::FencedExecution{.done = std::move(done),
                                   .info = [callback] { return infoOf(callback); }};
}

class ClientExecution final : public driver::IExecution {
  public:
    explicit ClientExecution(RemoteInterface execution) : mExecution(std::move(execution)) {}

    ExecutionResult execute(const Deadline& deadline) override {
        return resultOf(mExecution.call<nn::IExecution::ExecuteSynchronously>(
                {.deadlineNs = encodeDeadline(deadline)}));
    }

    Result<driver::FencedExecution> executeFenced(
            const driver::Fences& waitFor, const Deadline& deadline,
            const driver::Duration& durationAfterFences) override {
        HALYARD_ASSIGN_OR_RETURN(std::vector<BorrowedDescriptor> fences, borrowed(waitFor));
        return begun(mExecution, mExecution.call<nn::IExecution::ExecuteFenced>(
                                         {.waitFor = std::move(fences),
                                          .deadlineNs = encodeDeadline(deadline),
                                          .durationNs = encodeDuration(durationAfterFences)}));
    }

  private:
    const RemoteInterface mExecution;
};

class ClientPreparedModel final : public driver::IPreparedModel {
  public:
    ClientPreparedModel(RemoteInterface model, HalVersion version, bool usesConfigs)
        : mModel(std::move(model)), mVersion(version), mUsesConfigs(usesConfigs) {}

    ExecutionResult execute(const Request& request, const ExecuteOptions& options) override {
        if (Status ready = checkSendable(request); !ready.ok()) {
            return {.status = std::move(ready), .outputShapes = {}, .timing = {}};
        }
        const int64_t deadline = encodeDeadline(options.deadline);
        if (mUsesConfigs) {
            return resultOf(mModel.call<nn::IPreparedModel::ExecuteSynchronouslyWithConfig>(
                    {.request = encode(request),
                     .config = encodeConfig(options),
                     .deadlineNs = deadline}));
        }
        return resultOf(mModel.call<nn::IPreparedModel::ExecuteSynchronously>(
                {.request = encode(request),
                 .measureTiming = options.measureTiming,
                 .deadlineNs = deadline,
                 .loopTimeoutDurationNs = encodeDuration(options.loopTimeout)}));
    }

    Status executeAsync(Request request, const ExecuteOptions& options,
                        driver::ExecuteCallback callback) override {
        if (callback == nullptr) {
            return invalidArgument("execute needs a callback");
        }
        const ExecutionResult result = execute(request, options);
        callback(result);
        return result.status.code() == StatusCode::INVALID_ARGUMENT ? result.status : Status();
    }

    Result<driver::FencedExecution> executeFenced(const Request& request,
                                                  const ExecuteOptions& options) override {
        HALYARD_RETURN_IF_ERROR(checkSendable(request));
        HALYARD_ASSIGN_OR_RETURN(std::vector<BorrowedDescriptor> fences, borrowed(options.waitFor));
        const int64_t deadline = encodeDeadline(options.deadline);
        const int64_t duration = encodeDuration(options.durationAfterFences);
        if (mUsesConfigs) {
            return begun(mModel, mModel.call<nn::IPreparedModel::ExecuteFencedWithConfig>(
                                         {.request = encode(request),
                                          .waitFor = std::move(fences),
                                          .config = encodeConfig(options),
                                          .deadlineNs = deadline,
                                          .durationNs = duration}));
        }
        return begun(mModel, mModel.call<nn::IPreparedModel::ExecuteFenced>(
                                     {.request = encode(request),
                                      .waitFor = std::move(fences),
                                      .measureTiming = options.measureTiming,
                                      .deadlineNs = deadline,
                                      .loopTimeoutDurationNs = encodeDuration(options.loopTimeout),
                                      .durationNs = duration}));
    }

    Result<std::shared_ptr<driver::IBurst>> makeBurst() override {
        HALYARD_ASSIGN_OR_RETURN(const auto answer,
                                 mModel.call<nn::IPreparedModel::ConfigureExecutionBurst>({}));
        HALYARD_ASSIGN_OR_RETURN(RemoteInterface burst,
                                 RemoteInterface::cast(mModel.process(), answer.results.result,
                                                       nn::IBurst::info(), mModel.release()));
        return std::shared_ptr<driver::IBurst>(
                std::make_shared<ClientBurst>(std::move(burst), mUsesConfigs));
    }

    Result<std::shared_ptr<driver::IExecution>> makeExecution(
            const Request& request, const ExecuteOptions& options) override {
        if (mVersion < HalVersion::AIDL_V4) {
            return unsupported("HAL " + std::string(toString(mVersion)) +
                               " has no reusable executions");
        }
        HALYARD_RETURN_IF_ERROR(checkSendable(request));
        const auto answer = mModel.call<nn::IPreparedModel::CreateReusableExecution>(
                {.request = encode(request), .config = encodeConfig(options)});
        HALYARD_RETURN_IF_ERROR(
                answer.status().withContext(nn::IPreparedModel::CreateReusableExecution::kName));
        HALYARD_ASSIGN_OR_RETURN(RemoteInterface execution,
                                 RemoteInterface::cast(mModel.process(), answer->results.result,
                                                       nn::IExecution::info(), mModel.release()));
        return std::shared_ptr<driver::IExecution>(
                std::make_shared<ClientExecution>(std::move(execution)));
    }

    std::string report() override {
        const Result<std::string> text = mModel.dump();
        return text.ok() ? *text : std::string();
    }

    const void* as(const void* kind) const override {
        return kind == &kClientModel ? this : nullptr;
    }
    const std::shared_ptr<RemoteObject>& object() const { return mModel.object(); }

  private:
    const RemoteInterface mModel;
    const HalVersion mVersion;
    const bool mUsesConfigs;
};

}  // namespace

std::shared_ptr<driver::IPreparedModel> makeClientPreparedModel(RemoteInterface model,
                                                                HalVersion version,
                                                                bool usesConfigs) {
    return std::make_shared<ClientPreparedModel>(std::move(model), version, usesConfigs);
}

std::shared_ptr<RemoteObject> remoteObjectOf(const driver::IPreparedModel& model) {
    const auto* const own = static_cast<const ClientPreparedModel*>(model.as(&kClientModel));
    return own == nullptr ? nullptr : own->object();
}

}  // namespace halyard::hal::aidl
