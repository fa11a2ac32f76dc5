// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <string>

#include "engine/base/status.h"

namespace halyard::hal {

// The debug text of an object. `call` has it write into the descriptor.
Result<std::string> readDebugText(const std::function<Status(int into)>& call);

}  // namespace halyard::hal
