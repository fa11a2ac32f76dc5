// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/client/prepared_model.h"

#include <fcntl.h>

#include <future>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/model/error_status.h"
#include "hal/client/answers.h"
#include "hal/client/sendable.h"
#include "hal/hidl/client/burst.h"
#include "hal/hidl/client/receivers.h"
#include "hal/hidl/client/wire_deadline.h"
#include "hal/hidl/client/wire_pools.h"
#include "hal/hidl/v1_3.h"
#include "hal/hidl/version_delta.h"

namespace halyard::hal::hidl {
namespace {

using driver::ErrorStatus;
using driver::ExecuteOptions;
using driver::ExecutionResult;
using driver::HalVersion;
using driver::Request;

// Checks a request before it is sent.
Status check(const Request& request, const ExecuteOptions& options, HalVersion version) {
    HALYARD_RETURN_IF_ERROR(checkSendable(request));
    if (version < HalVersion::V1_3 && driver::hasPassed(options.deadline)) {
        // The service is not told of it.
        return driver::deadlineHadPassed();
    }
    return {};
}

const char kClientModel = 0;  // its address tells one

class ClientPreparedModel : public driver::IPreparedModel {
  public:
    ClientPreparedModel(RemoteInterface model, const ClientVersion& version,
                        std::shared_ptr<Liveness> service)
        : mModel(std::move(model)), mVersion(version), mService(std::move(service)) {}

    ExecutionResult execute(const Request& request, const ExecuteOptions& options) override {
        if (mVersion.executeSynchronously != 0) {
            return executeSynchronously(request, options);
        }
        std::promise<ExecutionResult> result;
        static_cast<void>(executeAsync(
                request, options,
                [&result](const ExecutionResult& executed) { result.set_value(executed); }));
        return result.get_future().get();
    }

    Status executeAsync(Request request, const ExecuteOptions& options,
                        driver::ExecuteCallback callback) override {
        static constexpr std::string_view kMethod = "execute";
        if (callback == nullptr) {
            return invalidArgument("execute needs a callback");
        }
        if (const Status ready = check(request, options, mVersion.version); !ready.ok()) {
            callback({.status = ready, .outputShapes = {}, .timing = {}});
            return ready.code() == StatusCode::INVALID_ARGUMENT ? ready : Status();
        }
        const auto pending = Pending<ExecutedReply>::create(
                mService, serviceDied(kMethod),
                [callback = std::move(callback)](Result<ExecutedReply> reply) {
                    if (!reply.ok()) {
                        callback({.status = reply.status(), .outputShapes = {}, .timing = {}});
                        return;
                    }
                    callback({.status = answered(kMethod, reply->status),
                              .outputShapes = std::move(reply->outputShapes),
                              .timing = reply->timing});
                });
        const Result<std::unique_ptr<Reply>> reply =
                mModel.call(mVersion.execute, [&](ParcelWriter& arguments) {
                    writeArguments(arguments, request, options);
                    arguments.writeObject(
                            std::shared_ptr<LocalObject>(std::make_shared<ExecutionReceiver>(
                                    mVersion.executionCallback(), pending)));
                });
        const Result<ErrorStatus> launched =
                reply.ok() ? readEnum<ErrorStatus>((*reply)->reader()) : reply.status();
        const Status begun = launched.ok() ? answered(kMethod, *launched)
                                           : callFailed(kMethod, launched.status());
        if (!begun.ok()) {
            // Unless the service's own notification has come first.
            pending->complete(begun);
        }
        return begun;
    }

    Result<driver::FencedExecution> executeFenced(const Request& request,
                                                  const ExecuteOptions& options) override {
        constexpr std::string_view kMethod = "executeFenced";
        if (mVersion.version < HalVersion::V1_3) {
            return unsupported("HAL " + std::string(toString(mVersion.version)) +
                               " has no executeFenced");
        }
        HALYARD_RETURN_IF_ERROR(checkSendable(request));
        const Result<std::unique_ptr<Reply>> reply = mModel.call(
                nn::v1_3::IPreparedModel::executeFenced,
                [&](ParcelWriter& arguments) { writeFenced(arguments, request, options); });
        if (!reply.ok()) {
            return callFailed(kMethod, reply.status());
        }
        ParcelReader& reader = (*reply)->reader();
        const Result<ErrorStatus> status = readEnum<ErrorStatus>(reader);
        if (!status.ok()) {
            return callFailed(kMethod, status.status());
        }
        const Result<ReceivedHandle> fence = readNativeHandle(reader);
        const Result<ObjectRef> object = fence.ok() ? reader.readObject() : fence.status();
        if (const Status refused = answered(kMethod, *status); !refused.ok()) {
            // Results beside a failure are to be empty; an answer that ends early has none.
            return (fence.ok() && fence->valid) || (object.ok() && !isNull(*object))
                           ? callFailed(kMethod, internalError("a fence or a callback comes beside "
                                                               "the failure: " +
                                                               refused.toString()))
                           : refused;
        }
        if (!fence.ok()) {
            return callFailed(kMethod, fence.status());
        }
        std::shared_ptr<const FileDescriptor> done;
        if (fence->valid && fence->handle.fds.size() == 1) {
            done = std::make_shared<const FileDescriptor>(
                    fcntl(fence->handle.fds.front(), F_DUPFD_CLOEXEC, 0));
        }
        const auto callback =
                object.ok() ? RemoteInterface::cast(mModel.process(), *object,
                                                    nn::v1_3::IFencedExecutionCallback::layout())
                            : object.status();
        if (!callback.ok()) {
            return callFailed(kMethod, callback.status());
        }
        return driver::FencedExecution{.done = std::move(done),
                                       .info = [callback = *callback] { return infoOf(callback); }};
    }

    Result<std::shared_ptr<driver::IExecution>> makeExecution(
            const Request& /*request*/, const ExecuteOptions& /*options*/) override {
        return unsupported("HAL " + std::string(toString(mVersion.version)) +
                           " has no reusable executions");
    }

    Result<std::shared_ptr<driver::IBurst>> makeBurst() override {
        HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<BurstChannel> channel, openChannel({}));
        return makeClientBurst(std::move(channel));
    }

    Result<std::unique_ptr<BurstChannel>> openChannel(const BurstChannel::Lengths& lengths) const {
        if (mVersion.version < HalVersion::V1_2) {
            return unsupported("HAL " + std::string(toString(mVersion.version)) + " has no bursts");
        }
        return openBurstChannel(mModel, mService, lengths);
    }

    std::string report() override {
        const Result<std::string> text = mModel.debug();
        return text.ok() ? *text : std::string();
    }

    const void* as(const void* kind) const override {
        return kind == &kClientModel ? this : nullptr;
    }
    const std::shared_ptr<RemoteObject>& object() const { return mModel.object(); }

  private:
    static driver::FencedExecution::Info infoOf(const RemoteInterface& callback) {
        static constexpr std::string_view kMethod = "getExecutionInfo";
        const auto failed = [](const Status& status) {
            return driver::FencedExecution::Info{
                    .status = callFailed(kMethod, status), .launched = {}, .fenced = {}};
        };
        const Result<std::unique_ptr<Reply>> reply =
                callback.call(nn::v1_3::IFencedExecutionCallback::getExecutionInfo);
        if (!reply.ok()) {
            return failed(reply.status());
        }
        ParcelReader& reader = (*reply)->reader();
        const Result<ErrorStatus> status = readEnum<ErrorStatus>(reader);
        if (!status.ok()) {
            return failed(status.status());
        }
        const auto launched = readValue<nn::v1_2::Timing>(reader);
        const auto fenced = launched.ok() ? readValue<nn::v1_2::Timing>(reader) : launched;
        if (!fenced.ok()) {
            return failed(fenced.status());
        }
        return {.status = answered(kMethod, *status),
                .launched = nn::v1_2::decode(**launched),
                .fenced = nn::v1_2::decode(**fenced)};
    }

    void writeFenced(ParcelWriter& arguments, const Request& request,
                     const ExecuteOptions& options) const {
        versionDelta(mVersion.version)
                .writeRequest(arguments, request, wirePools(arguments, request));
        std::vector<HidlHandle> fences;
        for (const auto& fence : options.waitFor) {
            // No fence is a null handle, about which the service has its say.
            fences.push_back(fence == nullptr
                                     ? HidlHandle()
                                     : makeHandle(arguments, {.fds = {fence->get()}, .ints = {}}));
        }
        writeValue(arguments, makeVec(arguments, fences));
        writeLimits(arguments, options);
        nn::v1_3::OptionalTimeoutDuration duration;
        if (options.durationAfterFences.has_value()) {
            nn::v1_3::encode(arguments, *options.durationAfterFences, duration);
        }
        writeValue(arguments, duration);
    }

    // The arguments that all execute methods begin with.
    void writeArguments(ParcelWriter& arguments, const Request& request,
                        const ExecuteOptions& options) const {
        versionDelta(mVersion.version)
                .writeRequest(arguments, request, wirePools(arguments, request));
        writeLimits(arguments, options);
    }

    void writeLimits(ParcelWriter& arguments, const ExecuteOptions& options) const {
        if (mVersion.version >= HalVersion::V1_2) {
            writeEnum(arguments, options.measureTiming ? nn::v1_2::MeasureTiming::YES
                                                       : nn::v1_2::MeasureTiming::NO);
        }
        if (mVersion.version >= HalVersion::V1_3) {
            writeValue(arguments, wireDeadline(arguments, options.deadline));
            nn::v1_3::OptionalTimeoutDuration loopTimeout;
            nn::v1_3::encode(arguments, options.loopTimeout, loopTimeout);
            writeValue(arguments, loopTimeout);
        }
    }

    ExecutionResult executeSynchronously(const Request& request, const ExecuteOptions& options) {
        constexpr std::string_view kMethod = "executeSynchronously";
        if (Status ready = check(request, options, mVersion.version); !ready.ok()) {
            return {.status = std::move(ready), .outputShapes = {}, .timing = {}};
        }
        const Result<std::unique_ptr<Reply>> reply = mModel.call(
                mVersion.executeSynchronously,
                [&](ParcelWriter& arguments) { writeArguments(arguments, request, options); });
        if (!reply.ok()) {
            return {.status = callFailed(kMethod, reply.status()),
                    .outputShapes = {},
                    .timing = {}};
        }
        ParcelReader& reader = (*reply)->reader();
        const Result<ErrorStatus> status = readEnum<ErrorStatus>(reader);
        Result<nn::v1_2::ShapesAndTiming> results = nn::v1_2::readShapesAndTiming(reader);
        if (!status.ok() || !results.ok()) {
            return {.status = callFailed(kMethod, status.ok() ? results.status() : status.status()),
                    .outputShapes = {},
                    .timing = {}};
        }
        return {.status = answered(kMethod, *status),
                .outputShapes = std::move(results->shapes),
                .timing = results->timing};
    }

    const RemoteInterface mModel;
    const ClientVersion& mVersion;
    const std::shared_ptr<Liveness> mService;
};

}  // namespace

std::shared_ptr<driver::IPreparedModel> makeClientPreparedModel(RemoteInterface model,
                                                                const ClientVersion& version,
                                                                std::shared_ptr<Liveness> service) {
    return std::make_shared<ClientPreparedModel>(std::move(model), version, std::move(service));
}

Result<std::unique_ptr<BurstChannel>> openBurstChannel(const driver::IPreparedModel& model,
                                                       const BurstChannel::Lengths& lengths) {
    const auto* const client = static_cast<const ClientPreparedModel*>(model.as(&kClientModel));
    return client == nullptr ? unsupported("a model that is not behind HIDL has no queues")
                             : client->openChannel(lengths);
}

std::shared_ptr<RemoteObject> remoteObjectOf(const driver::IPreparedModel& model) {
    const auto* const client = static_cast<const ClientPreparedModel*>(model.as(&kClientModel));
    return client == nullptr ? nullptr : client->object();
}

}  // namespace halyard::hal::hidl
