// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "driver/options.h"
#include "engine/base/status.h"
#include "harness/device/runner/target.h"

namespace halyard::runner {

// The driver, linked in. A crash of it is a crash of this process.
Result<std::unique_ptr<Target>> makeInProcessTarget(const driver::Options& options,
                                                    driver::HalVersion version);

}  // namespace halyard::runner
