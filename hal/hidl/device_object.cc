// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/device_object.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "driver/model/error_status.h"
#include "engine/base/log.h"
#include "hal/hidl/buffer_object.h"
#include "hal/hidl/callbacks.h"
#include "hal/hidl/prepared_model_callback.h"
#include "hal/hidl/prepared_model_object.h"
#include "hal/hidl/types.h"
#include "hal/hidl/v1_3.h"
#include "hal/hidl/version_delta.h"
#include "hal/memory/cache_files.h"
#include "hal/service/client_account.h"

namespace halyard::hal::hidl {

using driver::ErrorStatus;
using driver::HalVersion;
using nn::v1_0::DeviceStatus;
using nn::v1_3::BufferDesc;
using nn::v1_3::BufferRole;
using nn::v1_3::IDevice;
using nn::v1_3::OptionalTimePoint;

namespace {

using CacheToken = std::array<uint8_t, 32>;

using Cache = std::shared_ptr<const driver::CompilationCache>;

// Of each handle its only descriptor.
Result<std::vector<int>> filesOf(const HidlVec<HidlHandle>& handles) {
    std::vector<int> files;
    for (const HidlHandle& handle : handles.view()) {
        const ReceivedHandle received = nativeHandle(handle);
        if (received.handle.fds.size() != 1 || !received.handle.ints.empty()) {
            return invalidArgument("the handle of a cache file has " +
                                   std::to_string(received.handle.fds.size()) +
                                   " descriptors and " +
                                   std::to_string(received.handle.ints.size()) + " integers");
        }
        files.push_back(received.handle.fds.front());
    }
    return files;
}

Result<Cache> importCache(const HidlVec<HidlHandle>& model, const HidlVec<HidlHandle>& data,
                          const CacheToken& token, const Caller& caller) {
    HALYARD_ASSIGN_OR_RETURN(const std::vector<int> modelFiles, filesOf(model));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<int> dataFiles, filesOf(data));
    return hal::importCache(modelFiles, dataFiles, token, {.pid = caller.pid, .uid = caller.euid});
}

// Files and token of a compilation cache: what keeps them from being used is in `cache`, what is
// wrong with the parcel is returned.
Status readCache(ParcelReader& arguments, const Caller& caller, Result<Cache>& cache) {
    HALYARD_ASSIGN_OR_RETURN(const auto* model, readValue<HidlVec<HidlHandle>>(arguments));
    HALYARD_ASSIGN_OR_RETURN(const auto* data, readValue<HidlVec<HidlHandle>>(arguments));
    HALYARD_ASSIGN_OR_RETURN(const auto* token, readValue<CacheToken>(arguments));
    cache = importCache(*model, *data, *token, caller);
    return {};
}

// Roles of objects that are no prepared models have none.
std::vector<driver::ManagedBuffer::Description::Role> rolesOf(const HidlVec<BufferRole>& wire,
                                                              std::span<const ObjectRef> objects) {
    std::vector<driver::ManagedBuffer::Description::Role> roles;
    for (const BufferRole& role : wire.view()) {
        roles.push_back({.model = role.modelIndex < objects.size()
                                          ? PreparedModelObject::modelOf(objects[role.modelIndex])
                                          : nullptr,
                         .index = role.ioIndex,
                         .frequency = role.frequency});
    }
    return roles;
}

}  // namespace

DeviceObject::DeviceObject(std::weak_ptr<BinderProcess> process,
                           std::shared_ptr<const driver::Device> device,
                           std::shared_ptr<ProcessWatch> processes)
    : HidlObject(IDevice::layout()),
      mProcess(std::move(process)),
      mDevice(std::move(device)),
      mProcesses(std::move(processes)) {}

Status DeviceObject::serve(uint32_t code, Call& call) {
    using Self = DeviceObject;
    static constexpr Handler<Self> kHandlers[] = {
            {IDevice::getCapabilities, &Self::getCapabilities, HalVersion::V1_0},
            {IDevice::getCapabilities_1_1, &Self::getCapabilities, HalVersion::V1_1},
            {IDevice::getCapabilities_1_2, &Self::getCapabilities, HalVersion::V1_2},
            {IDevice::getCapabilities_1_3, &Self::getCapabilities, HalVersion::V1_3},
            {IDevice::getSupportedOperations, &Self::getSupportedOperations, HalVersion::V1_0},
            {IDevice::getSupportedOperations_1_1, &Self::getSupportedOperations, HalVersion::V1_1},
            {IDevice::getSupportedOperations_1_2, &Self::getSupportedOperations, HalVersion::V1_2},
            {IDevice::getSupportedOperations_1_3, &Self::getSupportedOperations, HalVersion::V1_3},
            {IDevice::prepareModel, &Self::prepareModel, HalVersion::V1_0},
            {IDevice::prepareModel_1_1, &Self::prepareModel, HalVersion::V1_1},
            {IDevice::prepareModel_1_2, &Self::prepareModel, HalVersion::V1_2},
            {IDevice::prepareModel_1_3, &Self::prepareModel, HalVersion::V1_3},
            {IDevice::prepareModelFromCache, &Self::prepareModelFromCache, HalVersion::V1_2},
            {IDevice::prepareModelFromCache_1_3, &Self::prepareModelFromCache, HalVersion::V1_3},
            {IDevice::getStatus, &Self::getStatus, HalVersion::V1_0},
            {IDevice::getVersionString, &Self::getVersionString, HalVersion::V1_2},
            {IDevice::getType, &Self::getType, HalVersion::V1_2},
            {IDevice::getSupportedExtensions, &Self::getSupportedExtensions, HalVersion::V1_2},
            {IDevice::getNumberOfCacheFilesNeeded, &Self::getNumberOfCacheFilesNeeded,
             HalVersion::V1_2},
            {IDevice::allocate, &Self::allocate, HalVersion::V1_3},
    };
    return dispatch(*this, kHandlers, code, call);
}

std::string DeviceObject::debugText(std::span<const std::string> /*options*/) const {
    return mDevice->report();
}

Result<std::shared_ptr<driver::Client>> DeviceObject::debuggedBy(const Caller& caller) const {
    return accountOf(*mDevice, caller, mProcesses.get());
}

Status DeviceObject::getCapabilities(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    writeEnum(*reply, ErrorStatus::NONE);
    versionDelta(call.version).writeCapabilities(*reply, mDevice->capabilities());
    return {};
}

Result<std::vector<bool>> DeviceObject::supportedBy(const driver::Model& model,
                                                    const Call& call) const {
    HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<driver::Client> client,
                             accountOf(*mDevice, call.caller, mProcesses.get()));
    return mDevice->supportedOperations(model, call.version, client);
}

Status DeviceObject::getSupportedOperations(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(driver::Model model,
                             versionDelta(call.version).readModel(call.arguments));
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    Result<std::vector<bool>> supported = supportedBy(model, call);
    std::vector<HidlBool> flags;
    if (supported.ok()) {
        for (bool flag : *supported) {
            flags.emplace_back(flag);
        }
    }
    writeEnum(*reply, reportStatus(supported.status(), call.version, "getSupportedOperations"));
    writeValue(*reply, makeVec(*reply, flags));
    return {};
}

Status DeviceObject::prepareModel(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(driver::Model model,
                             versionDelta(call.version).readModel(call.arguments));
    driver::PrepareOptions options;
    if (call.version >= HalVersion::V1_1) {
        HALYARD_ASSIGN_OR_RETURN(options.preference,
                                 readEnum<driver::ExecutionPreference>(call.arguments));
    }
    if (call.version >= HalVersion::V1_3) {
        HALYARD_ASSIGN_OR_RETURN(options.priority, readEnum<driver::Priority>(call.arguments));
        HALYARD_ASSIGN_OR_RETURN(const auto* deadline,
                                 readValue<OptionalTimePoint>(call.arguments));
        options.deadline = decode(*deadline);
    }
    if (call.version >= HalVersion::V1_2) {
        Result<Cache> cache(Cache{});
        HALYARD_RETURN_IF_ERROR(readCache(call.arguments, call.caller, cache));
        if (cache.ok()) {
            options.cache = std::move(*cache);
        } else {
            log(LogLevel::VERBOSE,
                "prepareModel: the model is not kept: " + cache.status().toString());
        }
    }
    return prepareFor(call, "prepareModel",
                      [&](std::shared_ptr<driver::Client> client, driver::PrepareCallback notify) {
                          options.client = std::move(client);
                          return mDevice->prepareAsync(std::move(model), call.version, options,
                                                       std::move(notify));
                      });
}

Status DeviceObject::prepareModelFromCache(Call& call) {
    driver::PrepareOptions options;
    if (call.version >= HalVersion::V1_3) {
        HALYARD_ASSIGN_OR_RETURN(const auto* deadline,
                                 readValue<OptionalTimePoint>(call.arguments));
        options.deadline = decode(*deadline);
    }
    Result<Cache> cache(Cache{});
    HALYARD_RETURN_IF_ERROR(readCache(call.arguments, call.caller, cache));
    return prepareFor(call, "prepareModelFromCache",
                      [&](std::shared_ptr<driver::Client> client, driver::PrepareCallback notify) {
                          if (!cache.ok()) {
                              notify(cache.status(), nullptr);
                              return cache.status();
                          }
                          options.cache = std::move(*cache);
                          options.client = std::move(client);
                          return mDevice->prepareFromCacheAsync(options, std::move(notify));
                      });
}

Status DeviceObject::prepareFor(Call& call, std::string_view method, const Preparation& prepare) {
    HALYARD_ASSIGN_OR_RETURN(ObjectRef object, call.arguments.readObject());
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    std::shared_ptr<RemoteObject> callback = asCallback(object);
    if (callback == nullptr) {
        writeEnum(*reply,
                  reportStatus(invalidArgument("the callback is null"), call.version, method));
        return {};
    }
    Result<std::shared_ptr<driver::Client>> client =
            accountOf(*mDevice, call.caller, mProcesses.get());
    if (client.ok()) {
        endWithOwner(*client, callback);
    }
    driver::PrepareCallback notify =
            preparedModelCallback(mProcess, std::move(callback), call.version);
    Status launched = client.status();
    // A failure is reported by the callback.
    if (launched.ok()) {
        launched = prepare(std::move(*client), std::move(notify));
    } else {
        notify(launched, nullptr);
    }
    writeEnum(*reply, driver::toErrorStatus(launched, call.version));
    return {};
}

Status DeviceObject::getStatus(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    writeEnum(*reply, static_cast<DeviceStatus>(mDevice->status()));
    return {};
}

Status DeviceObject::getVersionString(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    writeEnum(*reply, ErrorStatus::NONE);
    writeValue(*reply, makeString(*reply, mDevice->versionString()));
    return {};
}

Status DeviceObject::getType(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    writeEnum(*reply, ErrorStatus::NONE);
    writeEnum(*reply, mDevice->type());
    return {};
}

Status DeviceObject::getSupportedExtensions(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    std::vector<nn::v1_2::Extension> extensions;
    for (const driver::Extension& extension : mDevice->extensions()) {
        nn::v1_2::encode(*reply, extension, extensions.emplace_back());
    }
    writeEnum(*reply, ErrorStatus::NONE);
    writeValue(*reply, makeVec(*reply, extensions));
    return {};
}

Status DeviceObject::getNumberOfCacheFilesNeeded(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    writeEnum(*reply, ErrorStatus::NONE);
    const driver::NumberOfCacheFiles files = mDevice->numberOfCacheFiles();
    reply->writeUint32(files.model);
    reply->writeUint32(files.data);
    return {};
}

Status DeviceObject::allocate(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(const auto* description, readValue<BufferDesc>(call.arguments));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<ObjectRef> objects, readObjects(call.arguments));
    HALYARD_ASSIGN_OR_RETURN(const auto* inputs, readValue<HidlVec<BufferRole>>(call.arguments));
    HALYARD_ASSIGN_OR_RETURN(const auto* outputs, readValue<HidlVec<BufferRole>>(call.arguments));
    const std::span<const uint32_t> dimensions = description->dimensions.view();
    driver::ManagedBuffer::Description asked = {
            .dimensions = {dimensions.begin(), dimensions.end()},
            .inputs = rolesOf(*inputs, objects),
            .outputs = rolesOf(*outputs, objects)};
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    const Result<std::shared_ptr<driver::Client>> client =
            accountOf(*mDevice, call.caller, mProcesses.get());
    const Result<std::shared_ptr<driver::ManagedBuffer>> buffer =
            client.ok() ? mDevice->allocate(asked, *client) : client.status();
    writeEnum(*reply, reportStatus(buffer.status(), call.version, "allocate"));
    reply->writeObject(buffer.ok() ? ObjectRef(std::make_shared<BufferObject>(*buffer))
                                   : ObjectRef());
    reply->writeUint32(buffer.ok() ? (*buffer)->token() : 0);
    return {};
}

}  // namespace halyard::hal::hidl
