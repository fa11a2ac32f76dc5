// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/device/vendors.h"

#include <algorithm>
#include <array>

#ifndef HALYARD_WITHOUT_NVIDIA
#include "engine/backends/gpu/nvidia/nvidia.h"
#endif

namespace halyard::engine::gpu {

std::span<const Vendor* const> vendors() {
#ifdef HALYARD_WITHOUT_NVIDIA
    return {};
#else
    static const std::array<const Vendor*, 1> all = {&nvidia()};
    return all;
#endif
}

const Vendor* vendorOf(std::string_view platform) {
    const std::span<const Vendor* const> all = vendors();
    const auto found =
            std::ranges::find_if(all, [&](const Vendor* each) { return each->owns(platform); });
    return found == all.end() ? nullptr : *found;
}

}  // namespace halyard::engine::gpu
