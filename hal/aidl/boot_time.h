// SPDX-License-Identifier: Apache-2.0
//
// Times as AIDL has them: nanoseconds, -1 for none. Deadlines are of CLOCK_BOOTTIME, which also
// counts while the device sleeps.

#pragma once

#include <cstdint>
#include <string_view>

#include "driver/model/request.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"

namespace halyard::hal::aidl {

// INVALID_ARGUMENT below -1. `what` names the argument: "loopTimeoutDurationNs".
Result<Deadline> decodeDeadline(int64_t nanoseconds);
Result<driver::Duration> decodeDuration(int64_t nanoseconds, std::string_view what);

int64_t encodeDeadline(const Deadline& deadline);
int64_t encodeDuration(const driver::Duration& duration);

}  // namespace halyard::hal::aidl
