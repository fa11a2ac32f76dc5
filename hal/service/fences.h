// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>

#include "driver/model/call_options.h"
#include "engine/base/status.h"
#include "hal/binder/object.h"

namespace halyard::hal {

// Duplicates of the fences that came with a call, none of which anybody keeps from being polled.
// They are closed in the caller's lane: the last close of what somebody's epoll watches waits for
// the epoll. INVALID_ARGUMENT names one that is none, or has failed already.
Result<driver::Fences> duplicateFences(std::span<const int> descriptors, const Caller& caller);

}  // namespace halyard::hal
