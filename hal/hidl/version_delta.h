// SPDX-License-Identifier: Apache-2.0
//
// The table of HAL versions (version_row.h): the objects that serve IDevice and IPreparedModel, and
// the callbacks, are written once over it. Clients use the same rows in the other direction.

#pragma once

#include "driver/model/model.h"
#include "hal/hidl/version_row.h"

namespace halyard::hal::hidl {

const VersionDelta& versionDelta(driver::HalVersion version);

}  // namespace halyard::hal::hidl
