// SPDX-License-Identifier: Apache-2.0

#include "nnapi/runtime.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "driver/device/local_device.h"
#include "engine/base/log.h"
#include "hal/aidl/client/connection.h"
#include "hal/aidl/client/device.h"
#include "hal/hidl/client/connection.h"
#include "hal/hidl/client/device.h"
#include "hal/memory/guarded_mapping.h"

namespace halyard::nnapi {
namespace {

// A service that is started together with its clients.
constexpr std::chrono::milliseconds kPatience = std::chrono::seconds(2);
// TFLite tells the reference from accelerators by this name.
constexpr const char* kReferenceName = "nnapi-reference";

Result<std::shared_ptr<driver::IDevice>> openLocal(driver::Options options) {
    HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<driver::Device> device,
                             driver::Device::create(std::move(options)));
    return makeLocalDevice(std::shared_ptr<const driver::Device>(std::move(device)),
                           driver::kNewestVersion);
}

Result<std::shared_ptr<driver::IDevice>> openDevice(const DeviceEntry& entry) {
    switch (entry.door) {
        case DeviceEntry::Door::IN_PROCESS:
            return openLocal(entry.options);
        case DeviceEntry::Door::HIDL: {
            HALYARD_ASSIGN_OR_RETURN(
                    hal::hidl::ServiceConnection connection,
                    hal::hidl::connectToService(entry.instance, entry.version, kPatience));
            return hal::hidl::makeClientDevice(std::move(connection));
        }
        case DeviceEntry::Door::AIDL: {
            HALYARD_ASSIGN_OR_RETURN(
                    hal::aidl::ServiceConnection connection,
                    hal::aidl::connectToService(entry.instance, entry.version, kPatience));
            return hal::aidl::makeClientDevice(std::move(connection));
        }
    }
    return internalError("there is no such door");
}

// CpuRef says that it is as fast as the system's processor path, which it stands for.
driver::Options referenceOptions() {
    driver::Options options;
    options.backends = {"CpuRef"};
    return options;
}

driver::HalVersion defaultLevel(Form form) {
    // TFLite's loader takes no support library of level 8.
    return form == Form::SUPPORT_LIBRARY ? driver::HalVersion::AIDL_V3 : driver::kNewestVersion;
}

}  // namespace

Runtime& Runtime::instance() {
    static Runtime runtime = [] {
        // A program's file may be cut short while it is read; the signal is the program's
        // otherwise.
        (void)hal::guardMappings(hal::GuardTime::WHILE_MAPPED);
        const Result<Configuration> configuration = readConfiguration();
        Runtime made(configuration.ok() ? *configuration : Configuration(), kForm);
        if (!configuration.ok()) {
            made.mStatus = configuration.status();
            made.mDevices.clear();
        }
        if (!made.mStatus.ok()) {
            log(LogLevel::ERROR, "NNAPI has no devices: " + std::string(made.mStatus.message()));
        }
        return made;
    }();
    return runtime;
}

Runtime::Runtime(const Configuration& configuration, Form form)
    : mLevel(configuration.level.value_or(defaultLevel(form))) {
    mStatus = open(configuration, form);
    if (!mStatus.ok()) {
        mDevices.clear();
    }
    std::vector<driver::Extension> extensions;
    for (const auto& device : mDevices) {
        for (const driver::Extension& extension : device->extensions()) {
            if (std::ranges::find(extensions, extension.name, &driver::Extension::name) ==
                extensions.end()) {
                extensions.push_back(extension);
            }
        }
    }
    mPrefixes = std::make_unique<ExtensionPrefixes>(std::move(extensions));
}

Status Runtime::open(const Configuration& configuration, Form form) {
    if (form == Form::SUPPORT_LIBRARY && mLevel < driver::HalVersion::AIDL_V1) {
        return invalidArgument("a support library is of feature level 5 to 8");
    }
    for (const DeviceEntry& entry : configuration.devices) {
        const auto open = [&]() -> Status {
            HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<driver::IDevice> device, openDevice(entry));
            const auto place = entry.door == DeviceEntry::Door::IN_PROCESS
                                       ? RuntimeDevice::Place::IN_PROCESS
                                       : RuntimeDevice::Place::REMOTE;
            HALYARD_ASSIGN_OR_RETURN(
                    std::unique_ptr<ANeuralNetworksDevice> made,
                    RuntimeDevice::of(entry.name, place, std::move(device), mLevel));
            mDevices.push_back(std::move(made));
            return {};
        };
        HALYARD_RETURN_IF_ERROR(open().withContext("device " + entry.name));
    }
    if (form == Form::SUPPORT_LIBRARY) {
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<driver::IDevice> reference,
                             openLocal(referenceOptions()));
    HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<ANeuralNetworksDevice> made,
                             RuntimeDevice::of(kReferenceName, RuntimeDevice::Place::REFERENCE,
                                               std::move(reference), mLevel));
    mDevices.push_back(std::move(made));
    return {};
}

const ANeuralNetworksDevice* Runtime::reference() const {
    return !mDevices.empty() && mDevices.back()->isReference() ? mDevices.back().get() : nullptr;
}

bool Runtime::has(const ANeuralNetworksDevice* device) const {
    return std::ranges::any_of(mDevices, [&](const auto& each) { return each.get() == device; });
}

}  // namespace halyard::nnapi
