// SPDX-License-Identifier: Apache-2.0
//
// Lines of "#define", which stand before a kernel's text.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace halyard::engine::gpu {

std::string define(std::string_view name, std::string_view value = "1");
std::string define(std::string_view name, int64_t value);

}  // namespace halyard::engine::gpu
