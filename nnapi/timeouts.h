// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "driver/model/request.h"

namespace halyard::nnapi {

// Of the C interface's nanoseconds: what no clock can add to the time is as good as no end.
inline std::chrono::nanoseconds clampedNanoseconds(uint64_t nanoseconds) {
    constexpr uint64_t kMost = uint64_t{1} << 61;  // some seventy years
    return std::chrono::nanoseconds(static_cast<int64_t>(std::min(nanoseconds, kMost)));
}

// As the C interface tells a duration: UINT64_MAX where the device does not know.
inline uint64_t nanosecondsOf(const driver::Duration& duration) {
    return duration.has_value() ? static_cast<uint64_t>(duration->count()) : UINT64_MAX;
}

// From now on; 0: none.
inline Deadline deadlineIn(std::chrono::nanoseconds timeout) {
    return timeout.count() == 0 ? Deadline() : Deadline(std::chrono::steady_clock::now() + timeout);
}

}  // namespace halyard::nnapi
