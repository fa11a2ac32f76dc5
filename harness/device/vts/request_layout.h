// SPDX-License-Identifier: Apache-2.0
//
// How a case's inputs, and room for its outputs, lie in memory.

#pragma once

#include "driver/model/request.h"
#include "driver/model/versions.h"
#include "engine/base/status.h"
#include "harness/device/cases/messages.h"

namespace halyard::vts {

// As the official suite lays them out where it looks at what comes of a case. Over AIDL each
// argument is padded to whole cache lines, and the inputs are for reading alone; HIDL has words for
// neither.
Result<driver::Request> generatedRequest(const runner::pb::Example& example,
                                         driver::HalVersion version);

// Takes a byte from an output, of which there has to be one: what it loses is padding then, where
// the version has that.
void makeShort(driver::RequestArgument& output, driver::HalVersion version);

}  // namespace halyard::vts
