// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "driver/options/options.h"
#include "engine/base/status.h"
#include "engine/compile/backends.h"

namespace halyard::driver {

// The backends that the options choose, and the libraries of their folder, as
// engine::openBackends() has them. Options of the driver that stand for those of a backend
// (--cpu-features, --cl-...) are among its; INVALID_ARGUMENT also where both are there and differ,
// and where tuning is to be written to no file.
Result<engine::OwnedBackends> makeBackends(const Options& options);

}  // namespace halyard::driver
