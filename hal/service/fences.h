// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>

#include "driver/model/call_options.h"
#include "engine/base/status.h"
#include "hal/binder/object.h"

namespace halyard::hal {

// Duplicates of the fences that came with a call, each of which can be polled without blocking.
// They are closed on the caller's worker (client_workers.h): the last close of a descriptor that
// another process's epoll watches waits for the epoll. INVALID_ARGUMENT names one that is none, or
// has failed already.
Result<driver::Fences> duplicateFences(std::span<const int> descriptors, const Caller& caller);

}  // namespace halyard::hal
