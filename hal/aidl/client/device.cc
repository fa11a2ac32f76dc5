// SPDX-License-Identifier: Apache-2.0

#include "hal/aidl/client/device.h"

#include <atomic>
#include <future>
#include <string>
#include <string_view>
#include <utility>

#include "driver/model/error_status.h"
#include "driver/model/expressible.h"
#include "engine/base/log.h"
#include "hal/aidl/aidl_object.h"
#include "hal/aidl/boot_time.h"
#include "hal/aidl/client/prepared_model.h"
#include "hal/aidl/conversion.h"
#include "hal/aidl/memory.h"
#include "hal/aidl/types.h"
#include "hal/client/answers.h"
#include "hal/client/sendable.h"

namespace halyard::hal::aidl {
namespace {

using driver::HalVersion;
using driver::Model;
using driver::PreparedCallback;
using driver::PrepareOptions;
using nn::IPreparedModelCallback;

struct PreparedReply {
    driver::ErrorStatus status = driver::ErrorStatus::NONE;
    ObjectRef model;
};

// The first notification counts; a further one is logged, for there must be none.
class PreparedModelReceiver final : public AidlObject {
  public:
    PreparedModelReceiver(const Release& release, int32_t version,
                          std::shared_ptr<Pending<PreparedReply>> pending)
        : AidlObject(IPreparedModelCallback::info(), release, version),
          mPending(std::move(pending)) {}

  protected:
    Status serve(uint32_t /*code*/, Call& call) override {
        HALYARD_ASSIGN_OR_RETURN(auto told, call.read<IPreparedModelCallback::Notify>());
        HALYARD_RETURN_IF_ERROR(call.end());
        if (mNotified.exchange(true)) {
            log(LogLevel::ERROR, "the service notified about one prepared model twice");
            return {};
        }
        mPending->complete(
                PreparedReply{.status = told.status, .model = std::move(told.preparedModel)});
        return {};
    }

  private:
    const std::shared_ptr<Pending<PreparedReply>> mPending;
    std::atomic<bool> mNotified = false;
};

class ClientBuffer final : public driver::IBuffer {
  public:
    ClientBuffer(RemoteInterface buffer, uint32_t token)
        : mBuffer(std::move(buffer)), mToken(token) {}

    uint32_t token() const override { return mToken; }

    Status copyTo(const driver::SharedMemory& destination) override {
        HALYARD_RETURN_IF_ERROR(checkSendable(destination));
        return mBuffer.call<nn::IBuffer::CopyTo>({.dst = exportMemory(*destination)}).status();
    }

    Status copyFrom(const driver::SharedMemory& source,
                    std::span<const uint32_t> dimensions) override {
        HALYARD_RETURN_IF_ERROR(checkSendable(source));
        return mBuffer
                .call<nn::IBuffer::CopyFrom>(
                        {.src = exportMemory(*source),
                         .dimensions = std::vector<int32_t>(dimensions.begin(), dimensions.end())})
                .status();
    }

  private:
    const RemoteInterface mBuffer;
    const uint32_t mToken;
};

// Stands for a model of another service: an object that computes nothing.
class StrangeModel final : public AidlObject {
  public:
    StrangeModel(const Release& release, int32_t version)
        : AidlObject(nn::IPreparedModel::info(), release, version) {}

  protected:
    Status serve(uint32_t /*code*/, Call& call) override {
        return call.raise({.code = Exception::kUnsupportedOperation});
    }
};

std::vector<nn::BufferRole> wireRoles(const std::vector<driver::BufferRole>& roles) {
    std::vector<nn::BufferRole> wire;
    for (const driver::BufferRole& role : roles) {
        wire.push_back({.modelIndex = static_cast<int32_t>(role.modelIndex),
                        .ioIndex = static_cast<int32_t>(role.ioIndex),
                        .probability = role.frequency});
    }
    return wire;
}

std::vector<BorrowedDescriptor> borrowed(const std::vector<FileDescriptor>& files) {
    std::vector<BorrowedDescriptor> wire;
    for (const FileDescriptor& file : files) {
        wire.push_back({.fd = file.get()});
    }
    return wire;
}

// Arguments of prepareModel* beside the model.
nn::PrepareModelConfig configOf(const PrepareOptions& options) {
    nn::PrepareModelConfig config;
    config.preference = options.preference;
    config.priority = options.priority;
    config.deadlineNs = encodeDeadline(options.deadline);
    if (options.cache != nullptr) {
        config.modelCache = borrowed(options.cache->modelFiles);
        config.dataCache = borrowed(options.cache->dataFiles);
        config.cacheToken = options.cache->token;
    }
    driver::ExecuteOptions hinted;
    hinted.hints = options.hints;
    const nn::ExecutionConfig hints = encodeConfig(hinted);
    config.compilationHints = hints.executionHints;
    config.extensionNameToPrefix = hints.extensionNameToPrefix;
    return config;
}

class ClientDevice final : public driver::IDevice {
  public:
    explicit ClientDevice(ServiceConnection connection) : mConnection(std::move(connection)) {}

    HalVersion version() const override { return mConnection.version; }

    Result<std::string> versionString() override {
        HALYARD_ASSIGN_OR_RETURN(auto answer, call<nn::IDevice::GetVersionString>({}));
        return std::move(answer.results.result);
    }

    Result<driver::DeviceType> type() override {
        HALYARD_ASSIGN_OR_RETURN(const auto answer, call<nn::IDevice::GetType>({}));
        return answer.results.result;
    }

    Result<driver::NumberOfCacheFiles> numberOfCacheFiles() override {
        HALYARD_ASSIGN_OR_RETURN(const auto answer,
                                 call<nn::IDevice::GetNumberOfCacheFilesNeeded>({}));
        const nn::NumberOfCacheFiles& files = answer.results.result;
        if (files.numModelCache < 0 || files.numDataCache < 0) {
            return internalError("the service wants a negative number of cache files");
        }
        return driver::NumberOfCacheFiles{.model = static_cast<uint32_t>(files.numModelCache),
                                          .data = static_cast<uint32_t>(files.numDataCache)};
    }

    Result<driver::Capabilities> capabilities() override {
        HALYARD_ASSIGN_OR_RETURN(const auto answer, call<nn::IDevice::GetCapabilities>({}));
        return decode(answer.results.result);
    }

    Result<driver::DeviceStatus> status() override { return unsupported("AIDL has no getStatus"); }

    Result<std::vector<driver::Extension>> extensions() override {
        HALYARD_ASSIGN_OR_RETURN(const auto answer, call<nn::IDevice::GetSupportedExtensions>({}));
        std::vector<driver::Extension> extensions;
        for (const nn::Extension& extension : answer.results.result) {
            HALYARD_ASSIGN_OR_RETURN(extensions.emplace_back(), decode(extension));
        }
        return extensions;
    }

    Result<std::vector<bool>> supportedOperations(const Model& model) override {
        HALYARD_ASSIGN_OR_RETURN(const Model sent, sendable(model));
        HALYARD_ASSIGN_OR_RETURN(
                auto answer, call<nn::IDevice::GetSupportedOperations>({.model = encode(sent)}));
        return std::move(answer.results.result);
    }

    Result<std::shared_ptr<driver::IPreparedModel>> prepare(
            const Model& model, const PrepareOptions& options) override {
        return resultOf([&](PreparedCallback callback) {
            static_cast<void>(prepareAsync(model, options, std::move(callback)));
        });
    }

    Status prepareAsync(Model model, const PrepareOptions& options,
                        PreparedCallback callback) override {
        if (callback == nullptr) {
            return invalidArgument("prepareModel needs a callback");
        }
        const Result<Model> sent = sendable(model);
        if (!sent.ok()) {
            callback(sent.status(), nullptr);
            return sent.status();
        }
        nn::PrepareModelConfig config = configOf(options);
        if (mConnection.usesConfigs()) {
            return begin<nn::IDevice::PrepareModelWithConfig>(
                    std::move(callback),
                    {.model = encode(*sent), .config = std::move(config), .callback = {}});
        }
        return begin<nn::IDevice::PrepareModel>(
                std::move(callback), {.model = encode(*sent),
                                      .preference = config.preference,
                                      .priority = config.priority,
                                      .deadlineNs = config.deadlineNs,
                                      .modelCache = std::move(config.modelCache),
                                      .dataCache = std::move(config.dataCache),
                                      .token = {config.cacheToken.begin(), config.cacheToken.end()},
                                      .callback = {}});
    }

    Result<std::shared_ptr<driver::IPreparedModel>> prepareFromCache(
            const PrepareOptions& options) override {
        return resultOf([&](PreparedCallback callback) {
            static_cast<void>(prepareFromCacheAsync(options, std::move(callback)));
        });
    }

    Status prepareFromCacheAsync(const PrepareOptions& options,
                                 PreparedCallback callback) override {
        if (callback == nullptr) {
            return invalidArgument("prepareModelFromCache needs a callback");
        }
        nn::PrepareModelConfig config = configOf(options);
        return begin<nn::IDevice::PrepareModelFromCache>(
                std::move(callback), {.deadlineNs = config.deadlineNs,
                                      .modelCache = std::move(config.modelCache),
                                      .dataCache = std::move(config.dataCache),
                                      .token = {config.cacheToken.begin(), config.cacheToken.end()},
                                      .callback = {}});
    }

    Result<std::shared_ptr<driver::IBuffer>> allocate(
            const driver::BufferDescription& description) override {
        nn::IDevice::Allocate::Arguments arguments;
        arguments.desc.dimensions = {description.dimensions.begin(), description.dimensions.end()};
        for (const std::shared_ptr<driver::IPreparedModel>& model : description.models) {
            arguments.preparedModels.push_back({.preparedModel = objectOf(model)});
        }
        arguments.inputRoles = wireRoles(description.inputs);
        arguments.outputRoles = wireRoles(description.outputs);
        HALYARD_ASSIGN_OR_RETURN(const auto answer, call<nn::IDevice::Allocate>(arguments));
        const nn::DeviceBuffer& given = answer.results.result;
        HALYARD_ASSIGN_OR_RETURN(
                RemoteInterface buffer,
                RemoteInterface::cast(mConnection.device.process(), given.buffer,
                                      nn::IBuffer::info(), mConnection.device.release()));
        return std::shared_ptr<driver::IBuffer>(std::make_shared<ClientBuffer>(
                std::move(buffer), static_cast<uint32_t>(given.token)));
    }

    Status ping() override {
        const Status answer = mConnection.device.ping();
        return mConnection.service->hasDied() || answer.code() == StatusCode::UNAVAILABLE
                       ? Status(StatusCode::UNAVAILABLE, "the service died")
                       : Status();
    }

    Result<std::string> report() override { return mConnection.device.dump(); }

  private:
    template <typename Method>
    Result<RemoteInterface::Answer<Method>> call(
            const typename Method::Arguments& arguments) const {
        auto answer = mConnection.device.call<Method>(arguments);
        return answer.ok() ? std::move(answer) : answer.status().withContext(Method::kName);
    }

    // The result that `begun` hands to its callback.
    static Result<std::shared_ptr<driver::IPreparedModel>> resultOf(
            const std::function<void(PreparedCallback)>& begun) {
        std::promise<Result<std::shared_ptr<driver::IPreparedModel>>> result;
        begun([&result](const Status& status, std::shared_ptr<driver::IPreparedModel> prepared) {
            if (status.ok()) {
                result.set_value(std::move(prepared));
            } else {
                result.set_value(status);
            }
        });
        return result.get_future().get();
    }

    // A call that ends with a callback about a prepared model.
    template <typename Method>
    Status begin(PreparedCallback callback, typename Method::Arguments arguments) const {
        const auto pending = Pending<PreparedReply>::create(
                mConnection.service, serviceDied(Method::kName),
                [connection = mConnection,
                 callback = std::move(callback)](const Result<PreparedReply>& reply) {
                    auto prepared = reply.ok() ? preparedModel(connection, *reply) : reply.status();
                    callback(prepared.status(), prepared.ok() ? std::move(*prepared) : nullptr);
                });
        arguments.callback = std::make_shared<PreparedModelReceiver>(mConnection.device.release(),
                                                                     versionNumber(), pending);
        const Status begun = call<Method>(arguments).status();
        if (!begun.ok()) {
            // Unless the service's own notification has come first.
            pending->complete(begun);
        }
        return begun;
    }

    static Result<std::shared_ptr<driver::IPreparedModel>> preparedModel(
            const ServiceConnection& connection, const PreparedReply& reply) {
        HALYARD_RETURN_IF_ERROR(answered("prepareModel", reply.status));
        HALYARD_ASSIGN_OR_RETURN(
                RemoteInterface model,
                RemoteInterface::cast(connection.device.process(), reply.model,
                                      nn::IPreparedModel::info(), connection.device.release()));
        return makeClientPreparedModel(std::move(model), connection.version,
                                       connection.usesConfigs());
    }

    int32_t versionNumber() const {
        return static_cast<int32_t>(version()) - static_cast<int32_t>(HalVersion::AIDL_V1) + 1;
    }

    ObjectRef objectOf(const std::shared_ptr<driver::IPreparedModel>& model) const {
        if (model == nullptr) {
            return {};
        }
        if (const std::shared_ptr<RemoteObject> remote = remoteObjectOf(*model)) {
            return remote;
        }
        return std::shared_ptr<LocalObject>(
                std::make_shared<StrangeModel>(mConnection.device.release(), versionNumber()));
    }

    // The model as it is sent.
    Result<Model> sendable(const Model& model) const {
        HALYARD_RETURN_IF_ERROR(driver::checkSayable(model, version()));
        HALYARD_RETURN_IF_ERROR(checkSendable(model));
        Model sent = model;
        if (hasLargeConstants(sent)) {
            HALYARD_RETURN_IF_ERROR(moveConstantsToPool(sent));
        }
        return sent;
    }

    const ServiceConnection mConnection;
};

}  // namespace

std::shared_ptr<driver::IDevice> makeClientDevice(ServiceConnection connection) {
    return std::make_shared<ClientDevice>(std::move(connection));
}

}  // namespace halyard::hal::aidl
