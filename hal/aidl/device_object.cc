// SPDX-License-Identifier: Apache-2.0

#include "hal/aidl/device_object.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "engine/base/log.h"
#include "hal/aidl/boot_time.h"
#include "hal/aidl/buffer_object.h"
#include "hal/aidl/callbacks.h"
#include "hal/aidl/conversion.h"
#include "hal/aidl/prepared_model_object.h"
#include "hal/memory/cache_files.h"
#include "hal/service/client_account.h"

namespace halyard::hal::aidl {

using nn::IDevice;

namespace {

using Cache = std::shared_ptr<const driver::CompilationCache>;

// The files of a configuration; `tokenIsWhole`: that it has the token that belongs to them.
Result<Cache> cacheOf(const nn::PrepareModelConfig& config, bool tokenIsWhole,
                      const Caller& caller) {
    if (!tokenIsWhole) {
        return invalidArgument("the token of a cache has 32 bytes");
    }
    std::vector<int> modelFiles;
    std::vector<int> dataFiles;
    for (const BorrowedDescriptor& file : config.modelCache) {
        modelFiles.push_back(file.fd);
    }
    for (const BorrowedDescriptor& file : config.dataCache) {
        dataFiles.push_back(file.fd);
    }
    return importCache(modelFiles, dataFiles, config.cacheToken,
                       {.pid = caller.pid, .uid = caller.euid});
}

using BufferRoles = std::vector<driver::ManagedBuffer::Description::Role>;

// Roles of objects that are no prepared models have none.
Result<BufferRoles> rolesOf(std::span<const nn::BufferRole> wire,
                            std::span<const nn::IPreparedModelParcel> models) {
    BufferRoles roles;
    for (const nn::BufferRole& role : wire) {
        if (role.modelIndex < 0 || role.ioIndex < 0) {
            return invalidArgument("a role of model " + std::to_string(role.modelIndex) +
                                   " and index " + std::to_string(role.ioIndex) +
                                   ", neither of which may be negative");
        }
        const auto model = static_cast<size_t>(role.modelIndex);
        roles.push_back({.model = model < models.size() ? PreparedModelObject::modelOf(
                                                                  models[model].preparedModel)
                                                        : nullptr,
                         .index = static_cast<uint32_t>(role.ioIndex),
                         .frequency = role.probability});
    }
    return roles;
}

Result<driver::ManagedBuffer::Description> descriptionOf(const IDevice::Allocate::Arguments& wire) {
    driver::ManagedBuffer::Description description;
    HALYARD_ASSIGN_OR_RETURN(description.dimensions,
                             decodeNumbers(wire.desc.dimensions, "a dimension"));
    HALYARD_ASSIGN_OR_RETURN(description.inputs, rolesOf(wire.inputRoles, wire.preparedModels));
    HALYARD_ASSIGN_OR_RETURN(description.outputs, rolesOf(wire.outputRoles, wire.preparedModels));
    return description;
}

// As prepareModel() has it, where any number of bytes can be given.
bool takeToken(std::span<const uint8_t> token, std::array<uint8_t, 32>& into) {
    if (token.size() != into.size()) {
        return false;
    }
    std::ranges::copy(token, into.begin());
    return true;
}

}  // namespace

DeviceObject::DeviceObject(std::weak_ptr<BinderProcess> process,
                           std::shared_ptr<const driver::Device> device,
                           std::shared_ptr<ProcessWatch> processes, const Dialect& dialect)
    : AidlObject(IDevice::info(), dialect.release, dialect.number()),
      mProcess(std::move(process)),
      mDevice(std::move(device)),
      mProcesses(std::move(processes)),
      mDialect(dialect) {}

Status DeviceObject::serve(uint32_t code, Call& call) {
    using Self = DeviceObject;
    static constexpr Handler<Self> kHandlers[] = {
            {IDevice::Allocate::kCode, &Self::allocate},
            {IDevice::GetCapabilities::kCode, &Self::getCapabilities},
            {IDevice::GetNumberOfCacheFilesNeeded::kCode, &Self::getNumberOfCacheFilesNeeded},
            {IDevice::GetSupportedExtensions::kCode, &Self::getSupportedExtensions},
            {IDevice::GetSupportedOperations::kCode, &Self::getSupportedOperations},
            {IDevice::GetType::kCode, &Self::getType},
            {IDevice::GetVersionString::kCode, &Self::getVersionString},
            {IDevice::PrepareModel::kCode, &Self::prepareModel},
            {IDevice::PrepareModelFromCache::kCode, &Self::prepareModelFromCache},
            {IDevice::PrepareModelWithConfig::kCode, &Self::prepareModelWithConfig},
    };
    return dispatch(*this, kHandlers, code, call);
}

std::string DeviceObject::debugText(std::span<const std::string> /*options*/) const {
    return mDevice->report();
}

Result<std::shared_ptr<driver::Client>> DeviceObject::debuggedBy(const Caller& caller) const {
    return accountOf(*mDevice, caller, mProcesses.get());
}

Status DeviceObject::allocate(Call& call) {
    constexpr std::string_view kWhat = IDevice::Allocate::kName;
    Result<driver::ManagedBuffer::Description> asked = invalidArgument("nothing was read");
    {
        HALYARD_ASSIGN_OR_RETURN(const auto arguments, call.read<IDevice::Allocate>());
        asked = descriptionOf(arguments);
        HALYARD_RETURN_IF_ERROR(call.end());
    }
    const Result<std::shared_ptr<driver::Client>> client =
            accountOf(*mDevice, call.caller, mProcesses.get());
    for (const Status& status : {asked.status(), client.status()}) {
        if (!status.ok()) {
            return refuse(call, status, kWhat);
        }
    }
    const Result<std::shared_ptr<driver::ManagedBuffer>> buffer =
            mDevice->allocate(*asked, *client);
    if (!buffer.ok()) {
        return refuse(call, buffer.status(), kWhat);
    }
    IDevice::Allocate::Results results;
    results.result.buffer = std::make_shared<BufferObject>(*buffer, mDialect);
    results.result.token = static_cast<int32_t>((*buffer)->token());
    return call.answer(results);
}

Status DeviceObject::getCapabilities(Call& call) {
    return call.answer(
            IDevice::GetCapabilities::Results{.result = encode(mDevice->capabilities())});
}

Status DeviceObject::getNumberOfCacheFilesNeeded(Call& call) {
    const driver::NumberOfCacheFiles files = mDevice->numberOfCacheFiles();
    IDevice::GetNumberOfCacheFilesNeeded::Results results;
    results.result.numModelCache = static_cast<int32_t>(files.model);
    results.result.numDataCache = static_cast<int32_t>(files.data);
    return call.answer(results);
}

Status DeviceObject::getSupportedExtensions(Call& call) {
    IDevice::GetSupportedExtensions::Results results;
    for (const driver::Extension& extension : mDevice->extensions()) {
        results.result.push_back(encode(extension));
    }
    return call.answer(results);
}

Result<std::vector<bool>> DeviceObject::supportedBy(const driver::Model& model,
                                                    const Call& call) const {
    HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<driver::Client> client,
                             accountOf(*mDevice, call.caller, mProcesses.get()));
    return mDevice->supportedOperations(model, mDialect.version, client);
}

Status DeviceObject::getSupportedOperations(Call& call) {
    constexpr std::string_view kWhat = "getSupportedOperations";
    Result<driver::Model> model = invalidArgument("nothing was read");
    {
        HALYARD_ASSIGN_OR_RETURN(const auto arguments,
                                 call.read<IDevice::GetSupportedOperations>());
        model = decode(arguments.model);
        HALYARD_RETURN_IF_ERROR(call.end());
    }
    if (!model.ok()) {
        return refuse(call, model.status(), kWhat);
    }
    Result<std::vector<bool>> supported = supportedBy(*model, call);
    if (!supported.ok()) {
        return refuse(call, supported.status(), kWhat);
    }
    return call.answer(IDevice::GetSupportedOperations::Results{.result = *std::move(supported)});
}

Status DeviceObject::getType(Call& call) {
    return call.answer(IDevice::GetType::Results{.result = mDevice->type()});
}

Status DeviceObject::getVersionString(Call& call) {
    return call.answer(
            IDevice::GetVersionString::Results{.result = std::string(mDevice->versionString())});
}

Result<driver::PrepareOptions> DeviceObject::optionsOf(const nn::PrepareModelConfig& config) const {
    driver::PrepareOptions options;
    options.preference = config.preference;
    options.priority = config.priority;
    HALYARD_ASSIGN_OR_RETURN(options.deadline, decodeDeadline(config.deadlineNs));
    options.hints = decodeHints(config.compilationHints, config.extensionNameToPrefix);
    return options;
}

Status DeviceObject::prepare(Call& call, std::string_view what, const nn::Model& wireModel,
                             const nn::PrepareModelConfig& config, bool tokenIsWhole,
                             const ObjectRef& object) {
    Result<driver::Model> model = decode(wireModel);
    Result<driver::PrepareOptions> options = optionsOf(config);
    // Wrong files or tokens never keep a model from being prepared.
    if (options.ok() && !(config.modelCache.empty() && config.dataCache.empty())) {
        Result<Cache> cache = cacheOf(config, tokenIsWhole, call.caller);
        if (cache.ok()) {
            options->cache = *std::move(cache);
        } else {
            log(LogLevel::VERBOSE,
                std::string(what).append(": the model is not kept: ") + cache.status().toString());
        }
    }
    HALYARD_RETURN_IF_ERROR(call.end());
    const std::shared_ptr<RemoteObject> callback = asCallback(object);
    if (callback == nullptr) {
        return refuse(call, invalidArgument("the callback is null"), what);
    }
    const driver::PrepareCallback notify = preparedModelCallback(mProcess, callback, mDialect);
    // A failure is reported by the callback.
    const auto fail = [&](const Status& why) {
        notify(why, nullptr);
        return refuse(call, why, what);
    };
    if (!model.ok() || !options.ok()) {
        return fail(model.ok() ? options.status() : model.status());
    }
    Result<std::shared_ptr<driver::Client>> client =
            accountOf(*mDevice, call.caller, mProcesses.get());
    if (!client.ok()) {
        return fail(client.status());
    }
    endWithOwner(*client, callback);
    options->client = *std::move(client);
    const Status launched =
            mDevice->prepareAsync(*std::move(model), mDialect.version, *options, notify);
    return launched.ok() ? call.answer() : refuse(call, launched, what);
}

Status DeviceObject::prepareModel(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(auto arguments, call.read<IDevice::PrepareModel>());
    nn::PrepareModelConfig config;
    config.preference = arguments.preference;
    config.priority = arguments.priority;
    config.deadlineNs = arguments.deadlineNs;
    config.modelCache = std::move(arguments.modelCache);
    config.dataCache = std::move(arguments.dataCache);
    const bool tokenIsWhole = takeToken(arguments.token, config.cacheToken);
    return prepare(call, IDevice::PrepareModel::kName, arguments.model, config, tokenIsWhole,
                   arguments.callback);
}

Status DeviceObject::prepareModelWithConfig(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(const auto arguments, call.read<IDevice::PrepareModelWithConfig>());
    return prepare(call, IDevice::PrepareModelWithConfig::kName, arguments.model, arguments.config,
                   true, arguments.callback);
}

Status DeviceObject::prepareModelFromCache(Call& call) {
    constexpr std::string_view kWhat = IDevice::PrepareModelFromCache::kName;
    HALYARD_ASSIGN_OR_RETURN(auto arguments, call.read<IDevice::PrepareModelFromCache>());
    nn::PrepareModelConfig config;
    config.deadlineNs = arguments.deadlineNs;
    config.modelCache = std::move(arguments.modelCache);
    config.dataCache = std::move(arguments.dataCache);
    const bool tokenIsWhole = takeToken(arguments.token, config.cacheToken);
    Result<driver::PrepareOptions> options = optionsOf(config);
    Result<Cache> cache = cacheOf(config, tokenIsWhole, call.caller);
    HALYARD_RETURN_IF_ERROR(call.end());
    const std::shared_ptr<RemoteObject> callback = asCallback(arguments.callback);
    if (callback == nullptr) {
        return refuse(call, invalidArgument("the callback is null"), kWhat);
    }
    const driver::PrepareCallback notify = preparedModelCallback(mProcess, callback, mDialect);
    Result<std::shared_ptr<driver::Client>> client =
            accountOf(*mDevice, call.caller, mProcesses.get());
    for (const Status& status : {options.status(), cache.status(), client.status()}) {
        if (!status.ok()) {
            notify(status, nullptr);
            return refuse(call, status, kWhat);
        }
    }
    endWithOwner(*client, callback);
    options->cache = *std::move(cache);
    options->client = *std::move(client);
    const Status prepared = mDevice->prepareFromCacheAsync(*options, notify);
    return prepared.ok() ? call.answer() : refuse(call, prepared, kWhat);
}

}  // namespace halyard::hal::aidl
