// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/plan/backend.h"

namespace halyard::driver {

// The backends of those names, in that order, each once, with CpuRef at the end unless it is among
// them. `directory`: a folder of libraries that are backends, too; empty: none. INVALID_ARGUMENT on
// a name that is neither known nor a library's (the message lists those there are), and where the
// folder can't be used; a known one that this build or machine lacks, and a library that is no
// backend, is logged as a warning and left out.
Result<std::vector<std::unique_ptr<const engine::Backend>>> makeBackends(
        const std::vector<std::string>& names, const std::string& directory = {});

}  // namespace halyard::driver
