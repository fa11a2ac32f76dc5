// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/client/device.h"

#include <functional>
#include <future>
#include <string>
#include <string_view>
#include <utility>

#include "driver/model/error_status.h"
#include "driver/model/expressible.h"
#include "hal/client/answers.h"
#include "hal/client/sendable.h"
#include "hal/hidl/client/buffer.h"
#include "hal/hidl/client/prepared_model.h"
#include "hal/hidl/client/receivers.h"
#include "hal/hidl/client/wire_deadline.h"
#include "hal/hidl/client/wire_pools.h"
#include "hal/hidl/v1_3.h"
#include "hal/hidl/version_delta.h"

namespace halyard::hal::hidl {
namespace {

using driver::ErrorStatus;
using driver::HalVersion;
using driver::Model;
using driver::PreparedCallback;
using driver::PrepareOptions;

driver::PerformanceInfo decode(const nn::v1_0::PerformanceInfo& wire) {
    return {.execTime = wire.execTime, .powerUsage = wire.powerUsage};
}

// Of 1.0 and 1.1, which know of two types.
template <typename WireCapabilities>
driver::Capabilities decodeOfTwoTypes(const WireCapabilities& wire) {
    driver::Capabilities capabilities;
    capabilities.operandPerformance = {
            {.type = driver::OperandType::TENSOR_FLOAT32, .info = decode(wire.float32Performance)},
            {.type = driver::OperandType::TENSOR_QUANT8_ASYMM,
             .info = decode(wire.quantized8Performance)}};
    return capabilities;
}

template <typename WireCapabilities>
driver::Capabilities decodeOfEachType(const WireCapabilities& wire) {
    driver::Capabilities capabilities;
    capabilities.relaxedFloat32toFloat16PerformanceScalar =
            decode(wire.relaxedFloat32toFloat16PerformanceScalar);
    capabilities.relaxedFloat32toFloat16PerformanceTensor =
            decode(wire.relaxedFloat32toFloat16PerformanceTensor);
    for (const auto& entry : wire.operandPerformance.view()) {
        capabilities.operandPerformance.push_back({.type = entry.type, .info = decode(entry.info)});
    }
    return capabilities;
}

Result<driver::Capabilities> readCapabilities(ParcelReader& reader, HalVersion version) {
    if (version == HalVersion::V1_0) {
        HALYARD_ASSIGN_OR_RETURN(const auto* wire, readValue<nn::v1_0::Capabilities>(reader));
        return decodeOfTwoTypes(*wire);
    }
    if (version == HalVersion::V1_1) {
        HALYARD_ASSIGN_OR_RETURN(const auto* wire, readValue<nn::v1_1::Capabilities>(reader));
        driver::Capabilities capabilities = decodeOfTwoTypes(*wire);
        capabilities.relaxedFloat32toFloat16PerformanceTensor =
                decode(wire->relaxedFloat32toFloat16Performance);
        return capabilities;
    }
    if (version == HalVersion::V1_2) {
        HALYARD_ASSIGN_OR_RETURN(const auto* wire, readValue<nn::v1_2::Capabilities>(reader));
        return decodeOfEachType(*wire);
    }
    HALYARD_ASSIGN_OR_RETURN(const auto* wire, readValue<nn::v1_3::Capabilities>(reader));
    driver::Capabilities capabilities = decodeOfEachType(*wire);
    capabilities.ifPerformance = decode(wire->ifPerformance);
    capabilities.whilePerformance = decode(wire->whilePerformance);
    return capabilities;
}

class ClientDevice : public driver::IDevice {
  public:
    explicit ClientDevice(ServiceConnection connection) : mConnection(std::move(connection)) {}

    HalVersion version() const override { return mConnection.version.version; }

    Result<std::string> versionString() override {
        constexpr std::string_view kMethod = "getVersionString";
        HALYARD_RETURN_IF_ERROR(checkHas(kMethod, HalVersion::V1_2));
        const Result<std::unique_ptr<Reply>> reply =
                mConnection.device.call(nn::v1_3::IDevice::getVersionString);
        HALYARD_RETURN_IF_ERROR(checkAnswer(kMethod, reply));
        const auto text = readValue<HidlString>((*reply)->reader());
        return text.ok() ? Result<std::string>(std::string((*text)->view()))
                         : callFailed(kMethod, text.status());
    }

    Result<driver::DeviceType> type() override {
        constexpr std::string_view kMethod = "getType";
        HALYARD_RETURN_IF_ERROR(checkHas(kMethod, HalVersion::V1_2));
        const Result<std::unique_ptr<Reply>> reply =
                mConnection.device.call(nn::v1_3::IDevice::getType);
        HALYARD_RETURN_IF_ERROR(checkAnswer(kMethod, reply));
        const auto type = readEnum<driver::DeviceType>((*reply)->reader());
        return type.ok() ? type : callFailed(kMethod, type.status());
    }

    Result<driver::NumberOfCacheFiles> numberOfCacheFiles() override {
        constexpr std::string_view kMethod = "getNumberOfCacheFilesNeeded";
        HALYARD_RETURN_IF_ERROR(checkHas(kMethod, HalVersion::V1_2));
        const Result<std::unique_ptr<Reply>> reply =
                mConnection.device.call(nn::v1_3::IDevice::getNumberOfCacheFilesNeeded);
        HALYARD_RETURN_IF_ERROR(checkAnswer(kMethod, reply));
        const Result<uint32_t> model = (*reply)->reader().readUint32();
        const Result<uint32_t> data =
                model.ok() ? (*reply)->reader().readUint32() : Result<uint32_t>(model.status());
        return data.ok() ? Result<driver::NumberOfCacheFiles>(
                                   driver::NumberOfCacheFiles{.model = *model, .data = *data})
                         : callFailed(kMethod, data.status());
    }

    Result<driver::Capabilities> capabilities() override {
        constexpr std::string_view kMethod = "getCapabilities";
        const Result<std::unique_ptr<Reply>> reply =
                mConnection.device.call(mConnection.version.getCapabilities);
        HALYARD_RETURN_IF_ERROR(checkAnswer(kMethod, reply));
        Result<driver::Capabilities> read = readCapabilities((*reply)->reader(), version());
        return read.ok() ? std::move(read) : callFailed(kMethod, read.status());
    }

    Result<driver::DeviceStatus> status() override {
        constexpr std::string_view kMethod = "getStatus";
        const Result<std::unique_ptr<Reply>> reply =
                mConnection.device.call(nn::v1_0::IDevice::getStatus);
        if (!reply.ok()) {
            return callFailed(kMethod, reply.status());
        }
        const auto status = readEnum<driver::DeviceStatus>((*reply)->reader());
        return status.ok() ? status : callFailed(kMethod, status.status());
    }

    Result<std::vector<driver::Extension>> extensions() override {
        constexpr std::string_view kMethod = "getSupportedExtensions";
        HALYARD_RETURN_IF_ERROR(checkHas(kMethod, HalVersion::V1_2));
        const Result<std::unique_ptr<Reply>> reply =
                mConnection.device.call(nn::v1_3::IDevice::getSupportedExtensions);
        HALYARD_RETURN_IF_ERROR(checkAnswer(kMethod, reply));
        const auto wire = readValue<HidlVec<nn::v1_2::Extension>>((*reply)->reader());
        if (!wire.ok()) {
            return callFailed(kMethod, wire.status());
        }
        std::vector<driver::Extension> extensions;
        for (const nn::v1_2::Extension& extension : (*wire)->view()) {
            extensions.push_back(nn::v1_2::decode(extension));
        }
        return extensions;
    }

    Result<std::vector<bool>> supportedOperations(const Model& model) override {
        constexpr std::string_view kMethod = "getSupportedOperations";
        HALYARD_ASSIGN_OR_RETURN(const Model sent, sendable(model));
        const Result<std::unique_ptr<Reply>> reply = mConnection.device.call(
                mConnection.version.getSupportedOperations,
                [&](ParcelWriter& arguments) { writeModel(arguments, sent); });
        HALYARD_RETURN_IF_ERROR(checkAnswer(kMethod, reply));
        const auto flags = readValue<HidlVec<HidlBool>>((*reply)->reader());
        return flags.ok() ? Result<std::vector<bool>>(std::vector<bool>((*flags)->view().begin(),
                                                                        (*flags)->view().end()))
                          : callFailed(kMethod, flags.status());
    }

    Result<std::shared_ptr<driver::IPreparedModel>> prepare(
            const Model& model, const PrepareOptions& options) override {
        return resultOf([&](PreparedCallback callback) {
            static_cast<void>(prepareAsync(model, options, std::move(callback)));
        });
    }

    Status prepareAsync(Model model, const PrepareOptions& options,
                        PreparedCallback callback) override {
        constexpr std::string_view kMethod = "prepareModel";
        if (callback == nullptr) {
            return invalidArgument("prepareModel needs a callback");
        }
        const Result<Model> sent = sendable(model);
        if (!sent.ok()) {
            callback(sent.status(), nullptr);
            return sent.status();
        }
        if (version() < HalVersion::V1_3 && driver::hasPassed(options.deadline)) {
            // The service is not told of it.
            callback(driver::deadlineHadPassed(), nullptr);
            return {};
        }
        return begin(kMethod, mConnection.version.prepareModel, std::move(callback),
                     [&](ParcelWriter& arguments) {
                         writeModel(arguments, *sent);
                         writeOptions(arguments, options);
                     });
    }

    Result<std::shared_ptr<driver::IPreparedModel>> prepareFromCache(
            const PrepareOptions& options) override {
        return resultOf([&](PreparedCallback callback) {
            static_cast<void>(prepareFromCacheAsync(options, std::move(callback)));
        });
    }

    Status prepareFromCacheAsync(const PrepareOptions& options,
                                 PreparedCallback callback) override {
        constexpr std::string_view kMethod = "prepareModelFromCache";
        if (callback == nullptr) {
            return invalidArgument("prepareModelFromCache needs a callback");
        }
        if (const Status has = checkHas(kMethod, HalVersion::V1_2); !has.ok()) {
            callback(has, nullptr);
            return has;
        }
        return begin(kMethod, mConnection.version.prepareModelFromCache, std::move(callback),
                     [&](ParcelWriter& arguments) {
                         writeDeadline(arguments, options.deadline);
                         writeCache(arguments, options.cache.get());
                     });
    }

    Result<std::shared_ptr<driver::IBuffer>> allocate(
            const driver::BufferDescription& description) override {
        HALYARD_RETURN_IF_ERROR(checkHas("allocate", HalVersion::V1_3));
        return allocateBuffer(mConnection, description);
    }

    Status ping() override {
        const Status answer = mConnection.device.ping();
        return mConnection.service->hasDied() || answer.code() == StatusCode::UNAVAILABLE
                       ? Status(StatusCode::UNAVAILABLE, "the service died")
                       : Status();
    }

    Result<std::string> report() override { return mConnection.device.debug(); }

  private:
    // UNSUPPORTED where the version has no such method.
    Status checkHas(std::string_view method, HalVersion since) const {
        return version() >= since ? Status()
                                  : unsupported("HAL " + std::string(toString(version())) +
                                                " has no " + std::string(method));
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
    Status begin(std::string_view method, uint32_t code, PreparedCallback callback,
                 const std::function<void(ParcelWriter&)>& writeArguments) const {
        const auto pending = Pending<PreparedReply>::create(
                mConnection.service, serviceDied(method),
                [method, connection = mConnection,
                 callback = std::move(callback)](const Result<PreparedReply>& reply) {
                    auto prepared =
                            reply.ok() ? preparedModel(method, connection, *reply) : reply.status();
                    callback(prepared.status(), prepared.ok() ? std::move(*prepared) : nullptr);
                });
        const Result<std::unique_ptr<Reply>> reply =
                mConnection.device.call(code, [&](ParcelWriter& arguments) {
                    writeArguments(arguments);
                    arguments.writeObject(
                            std::shared_ptr<LocalObject>(std::make_shared<PreparedModelReceiver>(
                                    mConnection.version.preparedModelCallback(), pending)));
                });
        const Status begun = checkAnswer(method, reply);
        if (!begun.ok()) {
            // Unless the service's own notification has come first.
            pending->complete(begun);
        }
        return begun;
    }

    // The status that every method but prepareModel's callback begins its answer with.
    static Status checkAnswer(std::string_view method,
                              const Result<std::unique_ptr<Reply>>& reply) {
        if (!reply.ok()) {
            return callFailed(method, reply.status());
        }
        const Result<ErrorStatus> status = readEnum<ErrorStatus>((*reply)->reader());
        return status.ok() ? answered(method, *status) : callFailed(method, status.status());
    }

    static Result<std::shared_ptr<driver::IPreparedModel>> preparedModel(
            std::string_view method, const ServiceConnection& connection,
            const PreparedReply& reply) {
        HALYARD_RETURN_IF_ERROR(answered(method, reply.status));
        Result<RemoteInterface> model = RemoteInterface::cast(
                connection.device.process(), reply.model, connection.version.preparedModel());
        if (!model.ok()) {
            return callFailed(method, model.status());
        }
        return makeClientPreparedModel(std::move(*model), connection.version, connection.service);
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

    void writeModel(ParcelWriter& arguments, const Model& model) const {
        versionDelta(version()).writeModel(arguments, model, wirePools(arguments, model));
    }

    // Arguments of prepareModel* between model and callback.
    void writeOptions(ParcelWriter& arguments, const PrepareOptions& options) const {
        if (version() >= HalVersion::V1_1) {
            writeEnum(arguments, options.preference);
        }
        if (version() >= HalVersion::V1_3) {
            writeEnum(arguments, options.priority);
        }
        writeDeadline(arguments, options.deadline);
        if (version() >= HalVersion::V1_2) {
            writeCache(arguments, options.cache.get());
        }
    }

    void writeDeadline(ParcelWriter& arguments, const Deadline& deadline) const {
        if (version() >= HalVersion::V1_3) {
            writeValue(arguments, wireDeadline(arguments, deadline));
        }
    }

    // Model files, data files and token; null: none.
    static void writeCache(ParcelWriter& arguments, const driver::CompilationCache* cache) {
        static const driver::CompilationCache kNone;
        const driver::CompilationCache& sent = cache == nullptr ? kNone : *cache;
        for (const auto* files : {&sent.modelFiles, &sent.dataFiles}) {
            std::vector<HidlHandle> handles;
            for (const FileDescriptor& file : *files) {
                handles.push_back(makeHandle(
                        arguments, {.fds = std::vector<int>(sent.descriptorsPerFile, file.get()),
                                    .ints = {}}));
            }
            writeValue(arguments, makeVec(arguments, handles));
        }
        writeValue(arguments, sent.token);
    }

    const ServiceConnection mConnection;
};

}  // namespace

std::shared_ptr<driver::IDevice> makeClientDevice(ServiceConnection connection) {
    return std::make_shared<ClientDevice>(std::move(connection));
}

}  // namespace halyard::hal::hidl
