// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <set>
#include <string>

#include "nnapi/entry/entry.h"
#include "nnapi/runtime.h"

using namespace halyard::nnapi;  // NOLINT: the C functions are outside of it

namespace {

Answer checkDevices() {
    const halyard::Status& status = Runtime::instance().status();
    return status.ok() ? Answer()
                       : Answer(ANEURALNETWORKS_OP_FAILED, std::string(status.message()));
}

}  // namespace

Answer halyard::nnapi::checkDifferent(std::span<const ANeuralNetworksDevice* const> devices) {
    if (devices.empty()) {
        return badData("there is no device");
    }
    std::set<const ANeuralNetworksDevice*> known;
    for (const ANeuralNetworksDevice* device : devices) {
        if (!known.insert(device).second) {
            return badData("device " + device->name() + " is there twice");
        }
    }
    return {};
}

int ANeuralNetworks_getDeviceCount(uint32_t* numDevices) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(numDevices, "numDevices"));
        HALYARD_RETURN_UNLESS_OK(checkDevices());
        *numDevices = static_cast<uint32_t>(Runtime::instance().devices().size());
        return {};
    });
}

int ANeuralNetworks_getDevice(uint32_t devIndex, ANeuralNetworksDevice** device) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(device, "device"));
        HALYARD_RETURN_UNLESS_OK(checkDevices());
        const Runtime::Devices& devices = Runtime::instance().devices();
        if (devIndex >= devices.size()) {
            return badData("there is no device " + std::to_string(devIndex) + " of " +
                           std::to_string(devices.size()));
        }
        *device = devices[devIndex].get();
        return {};
    });
}

int ANeuralNetworksDevice_getName(const ANeuralNetworksDevice* device, const char** name) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(device, "device"));
        HALYARD_RETURN_UNLESS_OK(present(name, "name"));
        *name = device->name().c_str();
        return {};
    });
}

int ANeuralNetworksDevice_getType(const ANeuralNetworksDevice* device, int32_t* type) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(device, "device"));
        HALYARD_RETURN_UNLESS_OK(present(type, "type"));
        *type = static_cast<int32_t>(device->type());
        return *type >= 0 ? Answer()
                          : Answer(ANEURALNETWORKS_OP_FAILED,
                                   "the device says that it is of type " + std::to_string(*type));
    });
}

int ANeuralNetworksDevice_getVersion(const ANeuralNetworksDevice* device, const char** version) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(device, "device"));
        HALYARD_RETURN_UNLESS_OK(present(version, "version"));
        *version = device->versionString().c_str();
        return {};
    });
}

int ANeuralNetworksDevice_getFeatureLevel(const ANeuralNetworksDevice* device,
                                          int64_t* featureLevel) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(device, "device"));
        HALYARD_RETURN_UNLESS_OK(present(featureLevel, "featureLevel"));
        *featureLevel = static_cast<int64_t>(halyard::driver::featureLevelOf(device->version()));
        return {};
    });
}

int ANeuralNetworksDevice_wait(const ANeuralNetworksDevice* device) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(device, "device"));
        return answerOf(device->device().ping(), &device->device());
    });
}

int ANeuralNetworksDevice_getExtensionSupport(const ANeuralNetworksDevice* device,
                                              const char* extensionName,
                                              bool* isExtensionSupported) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(device, "device"));
        HALYARD_RETURN_UNLESS_OK(present(extensionName, "extensionName"));
        HALYARD_RETURN_UNLESS_OK(present(isExtensionSupported, "isExtensionSupported"));
        *isExtensionSupported =
                std::ranges::find(device->extensions(), extensionName,
                                  &halyard::driver::Extension::name) != device->extensions().end();
        return {};
    });
}

int64_t ANeuralNetworks_getRuntimeFeatureLevel() {
    return static_cast<int64_t>(halyard::driver::featureLevelOf(Runtime::instance().level()));
}

uint64_t ANeuralNetworks_getDefaultLoopTimeout() {
    return static_cast<uint64_t>(halyard::driver::kDefaultLoopTimeout.count());
}

uint64_t ANeuralNetworks_getMaximumLoopTimeout() {
    return static_cast<uint64_t>(halyard::driver::kMaxLoopTimeout.count());
}
