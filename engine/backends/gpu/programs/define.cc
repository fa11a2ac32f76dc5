// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/programs/define.h"

namespace halyard::engine::gpu {

std::string define(std::string_view name, std::string_view value) {
    return std::string("#define ").append(name).append(" ").append(value).append("\n");
}

std::string define(std::string_view name, int64_t value) {
    return define(name, std::to_string(value));
}

}  // namespace halyard::engine::gpu
