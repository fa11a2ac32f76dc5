// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <ctime>

namespace halyard::fuzz {

// The processor time of this process so far, on all its threads: how long something takes, whatever
// else the machine does. (libFuzzer finds a hang, by the clock.)
inline std::chrono::nanoseconds processorTime() {
    timespec now = {};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace halyard::fuzz
