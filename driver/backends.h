// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "driver/options.h"
#include "engine/base/status.h"
#include "engine/compile/backends.h"

namespace halyard::driver {

// The backends that the options choose, and the libraries of their folder, as
// engine::openBackends() has them. --cpu-features is CpuAcc's option "features";
// INVALID_ARGUMENT also where both are there and differ.
Result<engine::OwnedBackends> makeBackends(const Options& options);

}  // namespace halyard::driver
