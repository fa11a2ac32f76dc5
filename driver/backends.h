// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/plan/backend.h"

namespace halyard::driver {

// The backends of those names, in that order, each once, with CpuRef at the end unless it is among
// them. INVALID_ARGUMENT on a name that -c does not know (the message lists the known ones); a
// known one that this build or machine lacks is logged as a warning and left out.
Result<std::vector<std::unique_ptr<const engine::Backend>>> makeBackends(
        const std::vector<std::string>& names);

}  // namespace halyard::driver
