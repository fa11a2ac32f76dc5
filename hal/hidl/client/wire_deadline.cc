// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/client/wire_deadline.h"

#include <chrono>
#include <cstdint>

namespace halyard::hal::hidl {

nn::v1_3::OptionalTimePoint wireDeadline(ParcelWriter& writer, const Deadline& deadline) {
    nn::v1_3::OptionalTimePoint wire;
    nn::v1_3::encode(writer, deadline, wire);
    if (deadline == std::chrono::steady_clock::time_point::max()) {
        wire.nanosecondsSinceEpoch = UINT64_MAX;
    }
    return wire;
}

}  // namespace halyard::hal::hidl
