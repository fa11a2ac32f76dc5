// SPDX-License-Identifier: Apache-2.0
//
// The canonical request and what an execution reports back.

#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <variant>
#include <vector>

#include "driver/model/memory.h"
#include "driver/model/model.h"

namespace halyard::driver {

struct RequestArgument {
    bool hasNoValue = false;
    DataLocation location;             // in Request::pools
    std::vector<uint32_t> dimensions;  // empty: as the model says; 0: unspecified
};

// A pool is shared memory, or (1.3) the token of a driver-managed buffer.
using RequestPool = std::variant<SharedMemory, uint32_t>;

struct Request {
    std::vector<RequestArgument> inputs;
    std::vector<RequestArgument> outputs;
    std::vector<RequestPool> pools;
};

struct OutputShape {
    std::vector<uint32_t> dimensions;  // 0: unknown
    bool isSufficient = true;

    bool operator==(const OutputShape&) const = default;
};

// Microseconds.
struct Timing {
    static constexpr uint64_t kUnknown = std::numeric_limits<uint64_t>::max();
    uint64_t timeOnDevice = kUnknown;
    uint64_t timeInDriver = kUnknown;
};

// Absolute, CLOCK_MONOTONIC.
using TimePoint = std::optional<std::chrono::steady_clock::time_point>;

// No deadline never passes.
inline bool hasPassed(const TimePoint& deadline) {
    return deadline.has_value() && std::chrono::steady_clock::now() >= *deadline;
}

}  // namespace halyard::driver
