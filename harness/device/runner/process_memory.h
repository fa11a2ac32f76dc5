// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <sys/types.h>

#include <cstdint>

namespace halyard::runner {

// The most memory the process has had resident so far (VmHWM of /proc); 0 where that can't be read.
uint64_t peakRssBytes(pid_t pid);

// Its resident memory now (VmRSS).
uint64_t rssBytes(pid_t pid);

// Lets this process's peak begin anew, at what is resident now, where the kernel can do that.
void forgetPeakRss();

}  // namespace halyard::runner
