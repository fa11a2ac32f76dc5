// SPDX-License-Identifier: Apache-2.0

#include "engine/base/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace halyard {

Status Checkpoint::check(std::string_view when) const {
    if (cancelled()) {
        return {StatusCode::UNAVAILABLE, "cancelled " + std::string(when)};
    }
    if (passed()) {
        return {StatusCode::DEADLINE_EXCEEDED, "the deadline passed " + std::string(when)};
    }
    return {};
}

Status copyInChunks(void* to, const void* from, size_t bytes, const Checkpoint& checkpoint,
                    std::string_view when) {
    constexpr size_t kChunk = size_t{1} << 20;
    for (size_t begin = 0; begin < bytes; begin += kChunk) {
        HALYARD_RETURN_IF_ERROR(checkpoint.check(when));
        std::memcpy(static_cast<std::byte*>(to) + begin,
                    static_cast<const std::byte*>(from) + begin, std::min(kChunk, bytes - begin));
    }
    return {};
}

}  // namespace halyard
