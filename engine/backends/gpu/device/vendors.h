// SPDX-License-Identifier: Apache-2.0
//
// The vendors whose extensions are built in: NVIDIA, unless HALYARD_GPU=OPENCL leaves it out.

#pragma once

#include <span>
#include <string_view>

#include "engine/backends/gpu/vendor/vendor.h"

namespace halyard::engine::gpu {

std::span<const Vendor* const> vendors();

// The maker of a platform's devices; null: none that is built in.
const Vendor* vendorOf(std::string_view platform);

}  // namespace halyard::engine::gpu
