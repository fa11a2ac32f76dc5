// SPDX-License-Identifier: Apache-2.0
//
// DeviceFamily: devices of one architecture, whose kernels cost alike (kernels/gemm_costs.h).

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace halyard::engine::gpu {

enum class DeviceFamily : uint8_t {
    UNKNOWN,
    NVIDIA_HOPPER,  // and later
    NVIDIA_AMPERE,  // and earlier
    ADRENO,
    MALI,
    INTEL,
    PROCESSOR,  // by PoCL and its like
};
inline constexpr size_t kDeviceFamilies = 7;

std::string_view toString(DeviceFamily family);

}  // namespace halyard::engine::gpu
