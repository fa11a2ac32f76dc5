// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <sys/types.h>

#include <cstdint>

namespace halyard::runner {

// The most memory the process has had resident so far (VmHWM of /proc); 0 where that can't be read.
uint64_t peakRssBytes(pid_t pid);

}  // namespace halyard::runner
