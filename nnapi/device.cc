// SPDX-License-Identifier: Apache-2.0

#include "nnapi/device.h"

#include <algorithm>
#include <utility>

namespace halyard::nnapi {
namespace {

// What a device of an older version has no answer to.
template <typename T>
Result<T> orElse(Result<T> result, T otherwise) {
    return !result.ok() && result.status().code() == StatusCode::UNSUPPORTED ? Result<T>(otherwise)
                                                                             : std::move(result);
}

// It is what the others are compared with.
driver::Capabilities ofTheReference(driver::Capabilities capabilities) {
    const driver::PerformanceInfo one;
    capabilities.relaxedFloat32toFloat16PerformanceScalar = one;
    capabilities.relaxedFloat32toFloat16PerformanceTensor = one;
    capabilities.ifPerformance = one;
    capabilities.whilePerformance = one;
    for (driver::OperandPerformance& each : capabilities.operandPerformance) {
        each.info = one;
    }
    return capabilities;
}

}  // namespace

Result<std::unique_ptr<ANeuralNetworksDevice>> RuntimeDevice::of(
        std::string name, Place place, std::shared_ptr<driver::IDevice> device,
        driver::HalVersion level) {
    auto made = std::make_unique<ANeuralNetworksDevice>();
    RuntimeDevice& itself = *made;
    HALYARD_ASSIGN_OR_RETURN(itself.mVersionString,
                             orElse<std::string>(device->versionString(), "UNKNOWN"));
    HALYARD_ASSIGN_OR_RETURN(itself.mType, orElse(device->type(), driver::DeviceType::OTHER));
    HALYARD_ASSIGN_OR_RETURN(itself.mCapabilities, device->capabilities());
    HALYARD_ASSIGN_OR_RETURN(itself.mExtensions, orElse(device->extensions(), {}));
    HALYARD_ASSIGN_OR_RETURN(itself.mCacheFiles, orElse(device->numberOfCacheFiles(), {}));
    if (place == Place::REFERENCE) {
        itself.mCapabilities = ofTheReference(std::move(itself.mCapabilities));
        itself.mCacheFiles = {};
    }
    itself.mName = std::move(name);
    itself.mPlace = place;
    itself.mVersion = std::min(device->version(), level);
    itself.mDevice = std::move(device);
    return made;
}

}  // namespace halyard::nnapi
