// SPDX-License-Identifier: Apache-2.0
//
// The canonical request and what an execution reports back.

#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "driver/model/memory.h"
#include "driver/model/model.h"
#include "engine/base/checkpoint.h"

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

// Nothing: not said, or not known.
using Duration = std::optional<std::chrono::nanoseconds>;

struct Timing {
    Duration timeOnDevice;
    Duration timeInDriver;

    bool operator==(const Timing&) const = default;
};

// No deadline never passes.
inline bool hasPassed(const Deadline& deadline) {
    return deadline.has_value() && std::chrono::steady_clock::now() >= *deadline;
}

}  // namespace halyard::driver
