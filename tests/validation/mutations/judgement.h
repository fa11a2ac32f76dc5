// SPDX-License-Identifier: Apache-2.0
//
// What the driver makes of mutants, and whether that is right.

#pragma once

#include <optional>
#include <string>

#include "driver/device.h"
#include "driver/model/request.h"
#include "tests/validation/mutations/mutant.h"

namespace halyard::validation {

// What is wrong with the answers of getSupportedOperations and prepareModel, if anything is: both
// are to be INVALID_ARGUMENT, the latter from the launch and once from the callback. Of one that is
// exempt they are to agree.
std::optional<std::string> complaint(const driver::Device& device, driver::HalVersion version,
                                     const Mutant& mutant);

// The same of an invalid request to each of the ways to execute.
std::optional<std::string> complaint(const driver::PreparedModel& model, driver::HalVersion version,
                                     const driver::Request& request);

}  // namespace halyard::validation
