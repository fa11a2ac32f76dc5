// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "driver/device.h"
#include "driver/options.h"
#include "engine/base/status.h"
#include "harness/device/runner/target.h"

namespace halyard::runner {

// The driver, linked in. A crash of it is a crash of this process.
using MakeDevice = Result<std::unique_ptr<driver::Device>>(const driver::Options& options);

// `makeDevice`: null for the device that the options describe.
Result<std::unique_ptr<Target>> makeInProcessTarget(const driver::Options& options,
                                                    MakeDevice* makeDevice,
                                                    driver::HalVersion version);

}  // namespace halyard::runner
