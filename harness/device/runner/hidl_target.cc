// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/hidl_target.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "hal/hidl/codec.h"
#include "hal/hidl/types.h"
#include "hal/hidl/v1_2.h"
#include "hal/hidl/v1_3.h"
#include "hal/hidl/version_delta.h"
#include "harness/device/runner/canonical_model.h"
#include "harness/device/runner/client_callbacks.h"
#include "harness/device/runner/process_memory.h"

namespace halyard::runner {

namespace {

using driver::ErrorStatus;
using driver::HalVersion;
using hal::ParcelReader;
using hal::ParcelWriter;
using hal::hidl::HidlBool;
using hal::hidl::HidlHandle;
using hal::hidl::HidlMemory;
using hal::hidl::HidlString;
using hal::hidl::HidlVec;
using hal::hidl::readEnum;
using hal::hidl::readValue;
using hal::hidl::versionDelta;
using hal::hidl::writeEnum;
using hal::hidl::writeValue;
using hal::hidl::nn::v1_2::MeasureTiming;
using hal::hidl::nn::v1_3::IDevice;
using hal::hidl::nn::v1_3::OptionalTimeoutDuration;
using hal::hidl::nn::v1_3::OptionalTimePoint;

using CacheToken = std::array<uint8_t, 32>;

// What a binder transaction holds is less than 1 MiB, the model's structure included.
constexpr size_t kMostInlineConstants = 65536;
// How long the callback of a call that failed may take: it was called before the call returned.
constexpr std::chrono::milliseconds kLateCallback(2000);

// A call that got no proper answer.
Outcome callFailed(std::string_view method, const Status& status) {
    if (status.code() == StatusCode::UNAVAILABLE) {
        return {.status = ErrorStatus::DEVICE_UNAVAILABLE,
                .message = std::string(method) + ": the service died",
                .targetDied = true};
    }
    return {.status = ErrorStatus::GENERAL_FAILURE,
            .message = std::string(method) + ": " + status.toString()};
}

Outcome answered(std::string_view method, ErrorStatus status) {
    if (status == ErrorStatus::NONE) {
        return {};
    }
    const std::string_view name = driver::nameOf(status);
    return {.status = status,
            .message = std::string(method) + ": the service answers " +
                       (name.empty() ? std::to_string(static_cast<int32_t>(status))
                                     : std::string(name))};
}

// What an asynchronous call came to: `launch` is the call's own answer, `notified` the callback's.
Outcome completed(std::string_view method, ErrorStatus launch, std::optional<ErrorStatus> notified,
                  const DeathWatch& service) {
    if (!notified.has_value()) {
        if (launch == ErrorStatus::NONE || service.hasDied()) {
            return callFailed(method, Status(StatusCode::UNAVAILABLE, ""));
        }
        Outcome outcome = answered(method, launch);
        outcome.message += " and does not call back";
        return outcome;
    }
    Outcome outcome = answered(method, launch != ErrorStatus::NONE ? launch : *notified);
    if (launch != ErrorStatus::NONE && *notified != launch) {
        outcome.message += " and calls back with " + std::string(driver::nameOf(*notified));
    }
    return outcome;
}

// "; not supported: operation 3 (POW)", or nothing.
std::string refusedOperations(const driver::Model& model, const std::vector<bool>& supported) {
    constexpr size_t kMostNamed = 5;
    std::string text;
    size_t refused = 0;
    for (size_t i = 0; i < std::min(supported.size(), model.main.operations.size()); ++i) {
        if (!supported[i] && ++refused <= kMostNamed) {
            text += (text.empty() ? "; not supported: " : ", ") +
                    labelOf(model.main.operations[i], i);
        }
    }
    if (refused > kMostNamed) {
        text += " and " + std::to_string(refused - kMostNamed) + " more";
    }
    return text;
}

std::vector<HidlMemory> wirePools(ParcelWriter& writer,
                                  const std::vector<hal::ExportedMemory>& pools) {
    std::vector<HidlMemory> wire;
    wire.reserve(pools.size());
    for (const hal::ExportedMemory& pool : pools) {
        wire.push_back(hal::hidl::makeMemory(writer, pool.memory->name(), pool.handle,
                                             pool.memory->size()));
    }
    return wire;
}

class HidlModel : public PreparedTarget {
  public:
    HidlModel(RemoteInterface model, const ClientVersion& version,
              std::shared_ptr<DeathWatch> service)
        : mModel(std::move(model)), mVersion(version), mService(std::move(service)) {}

    Answer<Execution> execute(const TargetRequest& request,
                              const ExecuteSettings& settings) override {
        return settings.synchronous && mVersion.executeSynchronously != 0
                       ? executeSynchronously(request, settings)
                       : executeAsynchronously(request, settings);
    }

    void startAndForget(const TargetRequest& request) override {
        static_cast<void>(launch(
                request, {},
                std::make_shared<ExecutionReceiver>(mVersion.executionCallback(), mService)));
    }

    std::string report() override {
        const Result<std::string> text = mModel.debug();
        return text.ok() ? *text : std::string();
    }

  private:
    // The arguments that all execute methods begin with.
    void writeArguments(ParcelWriter& arguments, const TargetRequest& request,
                        const ExecuteSettings& settings) const {
        versionDelta(mVersion.version)
                .writeRequest(arguments, request.request, wirePools(arguments, request.pools));
        if (mVersion.version >= HalVersion::V1_2) {
            writeEnum(arguments, settings.measureTiming ? MeasureTiming::YES : MeasureTiming::NO);
        }
        if (mVersion.version >= HalVersion::V1_3) {
            writeValue(arguments, OptionalTimePoint());
            writeValue(arguments, OptionalTimeoutDuration());
        }
    }

    Result<std::unique_ptr<hal::Reply>> launch(
            const TargetRequest& request, const ExecuteSettings& settings,
            const std::shared_ptr<ExecutionReceiver>& callback) const {
        return mModel.call(mVersion.execute, [&](ParcelWriter& arguments) {
            writeArguments(arguments, request, settings);
            arguments.writeObject(std::shared_ptr<hal::LocalObject>(callback));
        });
    }

    Answer<Execution> executeSynchronously(const TargetRequest& request,
                                           const ExecuteSettings& settings) {
        constexpr std::string_view kMethod = "executeSynchronously";
        const Result<std::unique_ptr<hal::Reply>> reply = mModel.call(
                mVersion.executeSynchronously,
                [&](ParcelWriter& arguments) { writeArguments(arguments, request, settings); });
        if (!reply.ok()) {
            return {.outcome = callFailed(kMethod, reply.status()), .value = {}};
        }
        ParcelReader& reader = (*reply)->reader();
        const Result<ErrorStatus> status = readEnum<ErrorStatus>(reader);
        Result<hal::hidl::nn::v1_2::ShapesAndTiming> results =
                hal::hidl::nn::v1_2::readShapesAndTiming(reader);
        if (!status.ok() || !results.ok()) {
            return {.outcome =
                            callFailed(kMethod, status.ok() ? results.status() : status.status()),
                    .value = {}};
        }
        return {.outcome = answered(kMethod, *status),
                .value = {.outputShapes = std::move(results->shapes), .timing = results->timing}};
    }

    Answer<Execution> executeAsynchronously(const TargetRequest& request,
                                            const ExecuteSettings& settings) {
        constexpr std::string_view kMethod = "execute";
        const auto callback =
                std::make_shared<ExecutionReceiver>(mVersion.executionCallback(), mService);
        const Result<std::unique_ptr<hal::Reply>> reply = launch(request, settings, callback);
        const Result<ErrorStatus> launched =
                reply.ok() ? readEnum<ErrorStatus>((*reply)->reader()) : reply.status();
        if (!launched.ok()) {
            return {.outcome = callFailed(kMethod, launched.status()), .value = {}};
        }
        std::optional<ExecutedReply> executed = *launched == ErrorStatus::NONE
                                                        ? callback->reply().wait()
                                                        : callback->reply().wait(kLateCallback);
        const std::optional<ErrorStatus> notified =
                executed.has_value() ? std::optional(executed->status) : std::nullopt;
        return {.outcome = completed(kMethod, *launched, notified, *mService),
                .value = executed.has_value() ? std::move(executed->execution) : Execution()};
    }

    const RemoteInterface mModel;
    const ClientVersion& mVersion;
    const std::shared_ptr<DeathWatch> mService;
};

class HidlTarget : public Target {
  public:
    explicit HidlTarget(ServiceConnection connection) : mConnection(std::move(connection)) {}

    HalVersion version() const override { return mConnection.version.version; }

    std::string versionString() override {
        if (version() < HalVersion::V1_2) {
            return {};
        }
        const Result<std::unique_ptr<hal::Reply>> reply =
                mConnection.device.call(IDevice::getVersionString);
        if (!reply.ok() || !readEnum<ErrorStatus>((*reply)->reader()).ok()) {
            return {};
        }
        const auto text = readValue<HidlString>((*reply)->reader());
        return text.ok() ? std::string((*text)->view()) : std::string();
    }

    Answer<std::vector<bool>> supportedOperations(const TargetModel& model) override {
        constexpr std::string_view kMethod = "getSupportedOperations";
        Answer<std::vector<bool>> answer;
        answer.outcome = checkCapabilities();
        TargetModel sent = model;
        if (answer.outcome.ok()) {
            answer.outcome = makeSendable(sent);
        }
        if (!answer.outcome.ok()) {
            return answer;
        }
        const Result<std::unique_ptr<hal::Reply>> reply = mConnection.device.call(
                mConnection.version.getSupportedOperations,
                [&](ParcelWriter& arguments) { writeModel(arguments, sent); });
        if (!reply.ok()) {
            answer.outcome = callFailed(kMethod, reply.status());
            return answer;
        }
        const Result<ErrorStatus> status = readEnum<ErrorStatus>((*reply)->reader());
        const auto flags = readValue<HidlVec<HidlBool>>((*reply)->reader());
        if (!status.ok() || !flags.ok()) {
            answer.outcome = callFailed(kMethod, status.ok() ? flags.status() : status.status());
            return answer;
        }
        answer.outcome = answered(kMethod, *status);
        answer.value.assign((*flags)->view().begin(), (*flags)->view().end());
        mRefused = refusedOperations(model.model, answer.value);
        return answer;
    }

    Answer<std::unique_ptr<PreparedTarget>> prepare(const TargetModel& model,
                                                    const PrepareSettings& settings) override {
        constexpr std::string_view kMethod = "prepareModel";
        TargetModel sent = model;
        const Outcome sendable = makeSendable(sent);
        if (!sendable.ok()) {
            return {.outcome = sendable, .value = nullptr};
        }
        const ClientVersion& client = mConnection.version;
        const auto callback = std::make_shared<PreparedModelReceiver>(
                client.preparedModelCallback(), mConnection.service);
        const Result<std::unique_ptr<hal::Reply>> reply =
                mConnection.device.call(client.prepareModel, [&](ParcelWriter& arguments) {
                    writeModel(arguments, sent);
                    writeSettings(arguments, settings);
                    arguments.writeObject(std::shared_ptr<hal::LocalObject>(callback));
                });
        const Result<ErrorStatus> launch =
                reply.ok() ? readEnum<ErrorStatus>((*reply)->reader()) : reply.status();
        if (!launch.ok()) {
            return {.outcome = callFailed(kMethod, launch.status()), .value = nullptr};
        }
        const std::optional<PreparedReply> prepared =
                *launch == ErrorStatus::NONE ? callback->reply().wait()
                                             : callback->reply().wait(kLateCallback);
        const std::optional<ErrorStatus> notified =
                prepared.has_value() ? std::optional(prepared->status) : std::nullopt;
        Outcome outcome = completed(kMethod, *launch, notified, *mConnection.service);
        if (!outcome.ok() || !prepared.has_value()) {
            outcome.message += mRefused;
            return {.outcome = outcome, .value = nullptr};
        }
        Result<RemoteInterface> remote = RemoteInterface::cast(
                mConnection.device.process(), prepared->model, client.preparedModel());
        if (!remote.ok()) {
            return {.outcome = callFailed(kMethod, remote.status()), .value = nullptr};
        }
        return {.outcome = {},
                .value = std::make_unique<HidlModel>(std::move(remote).value(), client,
                                                     mConnection.service)};
    }

    bool isAlive() override {
        const bool answers = mConnection.device.ping().code() != StatusCode::UNAVAILABLE;
        return answers && !mConnection.service->hasDied();
    }

    uint64_t peakRssBytes() override {
        const Result<int32_t> pid = mConnection.device.servicePid();
        return pid.ok() && *pid > 0 ? runner::peakRssBytes(*pid) : 0;
    }

  private:
    // Every client asks for them; they have no place in the result, but must be readable.
    Outcome checkCapabilities() const {
        constexpr std::string_view kMethod = "getCapabilities";
        const uint32_t code = mConnection.version.getCapabilities;
        const Result<std::unique_ptr<hal::Reply>> reply = mConnection.device.call(code);
        if (!reply.ok()) {
            return callFailed(kMethod, reply.status());
        }
        const Result<ErrorStatus> status = readEnum<ErrorStatus>((*reply)->reader());
        const hal::hidl::MethodLayout* method =
                hal::hidl::findMethod(mConnection.version.device(), code);
        const Status readable =
                readValue((*reply)->reader(), *method->results.back().type).status();
        if (!status.ok() || !readable.ok()) {
            return callFailed(kMethod, status.ok() ? readable : status.status());
        }
        return answered(kMethod, *status);
    }

    static Outcome makeSendable(TargetModel& model) {
        if (model.model.operandValues->size() > kMostInlineConstants) {
            const Status moved = moveConstantsToPool(model);
            if (!moved.ok()) {
                return {.status = ErrorStatus::GENERAL_FAILURE, .message = moved.toString()};
            }
        }
        return {};
    }

    void writeModel(ParcelWriter& arguments, const TargetModel& model) const {
        versionDelta(version()).writeModel(arguments, model.model,
                                           wirePools(arguments, model.pools));
    }

    // What prepareModel* takes between model and callback.
    void writeSettings(ParcelWriter& arguments, const PrepareSettings& settings) const {
        if (version() >= HalVersion::V1_1) {
            writeEnum(arguments, settings.preference);
        }
        if (version() >= HalVersion::V1_3) {
            writeEnum(arguments, settings.priority);
            writeValue(arguments, OptionalTimePoint());
        }
        if (version() >= HalVersion::V1_2) {
            writeValue(arguments, HidlVec<HidlHandle>());  // model cache
            writeValue(arguments, HidlVec<HidlHandle>());  // data cache
            writeValue(arguments, CacheToken());
        }
    }

    const ServiceConnection mConnection;
    // Why prepareModel may fail: HIDL itself has no words for a reason.
    std::string mRefused;
};

}  // namespace

std::unique_ptr<Target> makeHidlTarget(ServiceConnection connection) {
    return std::make_unique<HidlTarget>(std::move(connection));
}

}  // namespace halyard::runner
