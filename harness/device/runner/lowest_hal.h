// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "engine/base/status.h"
#include "harness/device/cases/message_file.h"

namespace halyard::runner {

// Asks the driver for the lowest HAL version that can carry each case of the bundle, and appends a
// result for it that holds the version; or, where no version can, UNSPECIFIED, the failed stage
// LOAD and the driver's message. No case runs.
Status writeLowestVersions(BundleReader& bundle, ResultWriter& results);

}  // namespace halyard::runner
