// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <vector>

#include "driver/options.h"
#include "engine/base/status.h"
#include "engine/plan/backend.h"

namespace halyard::driver {

// The backends that the options name, in that order, each once, with CpuRef at the end unless it is
// among them, and the libraries of their folder, if there is one, among those that can be named.
// INVALID_ARGUMENT on a name that is neither known nor a library's (the message lists those there
// are), where the folder can't be used, and for CPU features that this processor lacks; a known
// backend that this build or machine lacks, and a library that is no backend, is logged as a
// warning and left out.
Result<std::vector<std::unique_ptr<const engine::Backend>>> makeBackends(const Options& options);

}  // namespace halyard::driver
