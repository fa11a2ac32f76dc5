// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/vendor/device_family.h"

#include <array>

namespace halyard::engine::gpu {

std::string_view toString(DeviceFamily family) {
    constexpr std::array<std::string_view, kDeviceFamilies> kNames = {
            "unknown", "NVIDIA Hopper", "NVIDIA Ampere", "Adreno", "Mali", "Intel", "processor"};
    return kNames[static_cast<size_t>(family)];
}

}  // namespace halyard::engine::gpu
