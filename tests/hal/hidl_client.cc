// SPDX-License-Identifier: Apache-2.0

#include "tests/hal/hidl_client.h"

#include <array>
#include <utility>

#include "hal/hidl/v1_3.h"
#include "hal/hidl/version_delta.h"

namespace halyard::hal::testing {

using driver::ErrorStatus;
using driver::HalVersion;
using hidl::HidlMemory;
using hidl::nn::v1_2::MeasureTiming;
using hidl::nn::v1_3::IDevice;
using hidl::nn::v1_3::IExecutionCallback;
using hidl::nn::v1_3::IPreparedModel;
using hidl::nn::v1_3::IPreparedModelCallback;
using hidl::nn::v1_3::OptionalTimeoutDuration;
using hidl::nn::v1_3::OptionalTimePoint;

std::shared_ptr<RecordingCallback> RecordingCallback::forModels() {
    return std::make_shared<RecordingCallback>(IPreparedModelCallback::layout());
}

std::shared_ptr<RecordingCallback> RecordingCallback::forExecutions() {
    return std::make_shared<RecordingCallback>(IExecutionCallback::layout());
}

Status RecordingCallback::serve(uint32_t code, Call& call) {
    Notification notification;
    notification.code = code;
    HALYARD_ASSIGN_OR_RETURN(notification.status, hidl::readEnum<ErrorStatus>(call.arguments));
    if (interface().descriptor == IPreparedModelCallback::layout().descriptor) {
        HALYARD_ASSIGN_OR_RETURN(notification.model, call.arguments.readObject());
    } else if (code != IExecutionCallback::notify) {
        HALYARD_ASSIGN_OR_RETURN(auto result, hidl::nn::v1_2::readShapesAndTiming(call.arguments));
        notification.shapes = result.shapes;
        notification.timing = result.timing;
    }
    HALYARD_RETURN_IF_ERROR(call.endArguments().status());
    std::lock_guard lock(mMutex);
    mNotifications.push_back(std::move(notification));
    mArrived.notify_all();
    return {};
}

Notification RecordingCallback::wait() {
    std::unique_lock lock(mMutex);
    mArrived.wait(lock, [this] { return !mNotifications.empty(); });
    return mNotifications.front();
}

size_t RecordingCallback::count() {
    std::lock_guard lock(mMutex);
    return mNotifications.size();
}

Result<std::unique_ptr<Reply>> callMethod(LoopbackProcess& process,
                                          const std::shared_ptr<LocalObject>& object,
                                          const hidl::InterfaceLayout& interface, uint32_t code,
                                          const WriteArguments& writeArguments) {
    ParcelWriter arguments;
    hidl::writeRequestHead(arguments, interface, code);
    writeArguments(arguments);
    HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<Reply> reply,
                             process.transact(process.remote(object), code, arguments));
    HALYARD_RETURN_IF_ERROR(hidl::readReplyHead(reply->reader()));
    return reply;
}

std::span<const VersionMethods> allVersions() {
    static constexpr std::array kVersions = {
            VersionMethods{HalVersion::V1_0, IDevice::getCapabilities,
                           IDevice::getSupportedOperations, IDevice::prepareModel,
                           IPreparedModel::execute, IPreparedModelCallback::notify,
                           IExecutionCallback::notify},
            VersionMethods{HalVersion::V1_1, IDevice::getCapabilities_1_1,
                           IDevice::getSupportedOperations_1_1, IDevice::prepareModel_1_1,
                           IPreparedModel::execute, IPreparedModelCallback::notify,
                           IExecutionCallback::notify},
            VersionMethods{HalVersion::V1_2, IDevice::getCapabilities_1_2,
                           IDevice::getSupportedOperations_1_2, IDevice::prepareModel_1_2,
                           IPreparedModel::execute_1_2, IPreparedModelCallback::notify_1_2,
                           IExecutionCallback::notify_1_2},
            VersionMethods{HalVersion::V1_3, IDevice::getCapabilities_1_3,
                           IDevice::getSupportedOperations_1_3, IDevice::prepareModel_1_3,
                           IPreparedModel::execute_1_3, IPreparedModelCallback::notify_1_3,
                           IExecutionCallback::notify_1_3},
    };
    return kVersions;
}

std::shared_ptr<LocalObject> served(LoopbackProcess& process, const ObjectRef& object) {
    const auto* remote = std::get_if<std::shared_ptr<RemoteObject>>(&object);
    return remote == nullptr ? nullptr : process.behind(**remote);
}

Result<HidlClient::Support> HidlClient::supportedOperations(const driver::Model& model,
                                                            std::span<const HidlMemory> pools) {
    HALYARD_ASSIGN_OR_RETURN(
            std::unique_ptr<Reply> reply,
            callMethod(mProcess, mDevice, IDevice::layout(), mMethods.getSupportedOperations,
                       [&](ParcelWriter& writer) {
                           hidl::versionDelta(mMethods.version).writeModel(writer, model, pools);
                       }));
    Support support;
    HALYARD_ASSIGN_OR_RETURN(support.status, hidl::readEnum<ErrorStatus>(reply->reader()));
    HALYARD_ASSIGN_OR_RETURN(const auto* flags,
                             hidl::readValue<hidl::HidlVec<hidl::HidlBool>>(reply->reader()));
    support.operations.assign(flags->view().begin(), flags->view().end());
    return support;
}

void HidlClient::writePrepare(ParcelWriter& writer, const driver::Model& model,
                              const ObjectRef& callback,
                              const driver::PrepareOptions& options) const {
    hidl::versionDelta(mMethods.version).writeModel(writer, model, {});
    if (mMethods.version >= HalVersion::V1_1) {
        hidl::writeEnum(writer, options.preference);
    }
    if (mMethods.version >= HalVersion::V1_3) {
        hidl::writeEnum(writer, options.priority);
        OptionalTimePoint deadline;
        hidl::nn::v1_3::encode(writer, options.deadline, deadline);
        hidl::writeValue(writer, deadline);
    }
    if (mMethods.version >= HalVersion::V1_2) {
        hidl::writeValue(writer, hidl::HidlVec<hidl::HidlHandle>());
        hidl::writeValue(writer, hidl::HidlVec<hidl::HidlHandle>());
        hidl::writeValue(writer, std::array<uint8_t, 32>());
    }
    writer.writeObject(callback);
}

Result<ErrorStatus> HidlClient::prepare(const driver::Model& model,
                                        const std::shared_ptr<LocalObject>& callback,
                                        const driver::PrepareOptions& options) {
    ObjectRef object;
    if (callback != nullptr) {
        object = callback;
    }
    HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<Reply> reply,
                             callMethod(mProcess, mDevice, IDevice::layout(), mMethods.prepareModel,
                                        [&](ParcelWriter& writer) {
                                            writePrepare(writer, model, object, options);
                                        }));
    return hidl::readEnum<ErrorStatus>(reply->reader());
}

void HidlClient::writeExecute(ParcelWriter& writer, const driver::Request& request,
                              std::span<const ExportedMemory> pools,
                              const driver::ExecuteOptions& options) const {
    std::vector<HidlMemory> memories;
    for (const ExportedMemory& pool : pools) {
        memories.push_back(
                hidl::makeMemory(writer, pool.memory->name(), pool.handle, pool.memory->size()));
    }
    hidl::versionDelta(mMethods.version).writeRequest(writer, request, memories);
    if (mMethods.version >= HalVersion::V1_2) {
        hidl::writeEnum(writer, options.measureTiming ? MeasureTiming::YES : MeasureTiming::NO);
    }
    if (mMethods.version >= HalVersion::V1_3) {
        OptionalTimePoint deadline;
        hidl::nn::v1_3::encode(writer, options.deadline, deadline);
        hidl::writeValue(writer, deadline);
        OptionalTimeoutDuration loopTimeout;
        hidl::nn::v1_3::encode(writer, options.loopTimeout, loopTimeout);
        hidl::writeValue(writer, loopTimeout);
    }
}

Result<ErrorStatus> HidlClient::execute(const ObjectRef& model, const driver::Request& request,
                                        std::span<const ExportedMemory> pools,
                                        const std::shared_ptr<LocalObject>& callback,
                                        const driver::ExecuteOptions& options) {
    HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<Reply> reply,
                             callMethod(mProcess, served(mProcess, model), IPreparedModel::layout(),
                                        mMethods.execute, [&](ParcelWriter& writer) {
                                            writeExecute(writer, request, pools, options);
                                            writer.writeObject(callback == nullptr
                                                                       ? ObjectRef()
                                                                       : ObjectRef(callback));
                                        }));
    return hidl::readEnum<ErrorStatus>(reply->reader());
}

Result<HidlClient::Execution> HidlClient::executeSynchronously(
        const ObjectRef& model, const driver::Request& request,
        std::span<const ExportedMemory> pools, const driver::ExecuteOptions& options) {
    const uint32_t code = mMethods.version >= HalVersion::V1_3
                                  ? IPreparedModel::executeSynchronously_1_3
                                  : IPreparedModel::executeSynchronously;
    HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<Reply> reply,
                             callMethod(mProcess, served(mProcess, model), IPreparedModel::layout(),
                                        code, [&](ParcelWriter& writer) {
                                            writeExecute(writer, request, pools, options);
                                        }));
    Execution execution;
    HALYARD_ASSIGN_OR_RETURN(execution.status, hidl::readEnum<ErrorStatus>(reply->reader()));
    HALYARD_ASSIGN_OR_RETURN(auto result, hidl::nn::v1_2::readShapesAndTiming(reply->reader()));
    execution.shapes = std::move(result.shapes);
    execution.timing = result.timing;
    return execution;
}

}  // namespace halyard::hal::testing
