// SPDX-License-Identifier: Apache-2.0

#include "hal/aidl/boot_time.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <string>

namespace halyard::hal::aidl {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr int64_t kNone = -1;

// How far CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC: for how long the device has slept.
nanoseconds slept() {
    timespec boot = {};
    clock_gettime(CLOCK_BOOTTIME, &boot);
    const nanoseconds sinceBoot =
            std::chrono::seconds(boot.tv_sec) + std::chrono::nanoseconds(boot.tv_nsec);
    // The clocks are not read at the same time.
    return std::max(sinceBoot - steady_clock::now().time_since_epoch(), nanoseconds(0));
}

Status belowNone(std::string_view what, int64_t value) {
    return invalidArgument(std::string(what) + " is " + std::to_string(value) +
                           ", and must be -1 (none) or more");
}

}  // namespace

Result<Deadline> decodeDeadline(int64_t nanosecondsSinceBoot) {
    if (nanosecondsSinceBoot == kNone) {
        return Deadline();
    }
    if (nanosecondsSinceBoot < kNone) {
        return belowNone("deadlineNs", nanosecondsSinceBoot);
    }
    // Both clocks begin with 0, and the device has slept for no less than that: no overflow.
    return Deadline(steady_clock::time_point(nanoseconds(nanosecondsSinceBoot) -
                                             std::max(slept(), nanoseconds(0))));
}

Result<driver::Duration> decodeDuration(int64_t duration, std::string_view what) {
    if (duration == kNone) {
        return driver::Duration();
    }
    if (duration < kNone) {
        return belowNone(what, duration);
    }
    return driver::Duration(nanoseconds(duration));
}

int64_t encodeDeadline(const Deadline& deadline) {
    if (!deadline.has_value()) {
        return kNone;
    }
    const nanoseconds ahead = slept();
    const nanoseconds since = deadline->time_since_epoch();
    return since > nanoseconds::max() - ahead ? nanoseconds::max().count()
                                              : std::max<int64_t>((since + ahead).count(), 0);
}

int64_t encodeDuration(const driver::Duration& duration) {
    return duration.has_value() ? std::max<int64_t>(duration->count(), 0) : kNone;
}

}  // namespace halyard::hal::aidl
