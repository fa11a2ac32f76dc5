// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/device/device_family_of.h"

#include <string_view>

#include "engine/backends/gpu/vendor/vendor.h"

namespace halyard::engine::gpu {

DeviceFamily familyOf(const DeviceFacts& facts) {
    if ((facts.type & CL_DEVICE_TYPE_CPU) != 0) {
        return DeviceFamily::PROCESSOR;
    }
    if (facts.vendor != nullptr) {
        return facts.vendor->familyOf(facts.name);
    }
    const auto isNamed = [&](std::string_view part) {
        return facts.name.find(part) != std::string::npos ||
               facts.platform.find(part) != std::string::npos;
    };
    if (isNamed("Adreno") || isNamed("QUALCOMM")) {
        return DeviceFamily::ADRENO;
    }
    if (isNamed("Mali") || isNamed("Immortalis") || isNamed("ARM Platform")) {
        return DeviceFamily::MALI;
    }
    return isNamed("Intel") ? DeviceFamily::INTEL : DeviceFamily::UNKNOWN;
}

}  // namespace halyard::engine::gpu
