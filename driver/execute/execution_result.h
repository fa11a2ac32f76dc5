// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <vector>

#include "driver/model/call_options.h"
#include "driver/model/request.h"
#include "engine/base/status.h"

namespace halyard::driver {

// The result of an execution, as the client is told it. `outputShapes` is empty unless the status
// is OK or OUTPUT_TOO_SMALL; `timing` is known only when asked for and OK.
struct ExecutionResult {
    Status status;
    std::vector<OutputShape> outputShapes;
    Timing timing;
    // The same from when the last fence that it waited for had happened.
    Timing timingFenced = {};
};

using ExecuteCallback = std::function<void(const ExecutionResult&)>;

}  // namespace halyard::driver
