// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

namespace halyard::engine::cpu {

// One cache. 0 bytes: unknown, or there is none.
struct CacheLevel {
    int64_t bytes = 0;
    int64_t lineBytes = 64;
    int64_t ways = 0;      // 0: unknown
    int64_t sharedBy = 1;  // cores

    bool operator==(const CacheLevel&) const = default;
    // Bytes from a line to the next one of its set; 0: unknown.
    int64_t setBytes() const { return ways > 0 ? bytes / ways : 0; }
    // Of one of the cores that share it.
    int64_t bytesOfCore() const { return sharedBy > 0 ? bytes / sharedBy : bytes; }
};

}  // namespace halyard::engine::cpu
