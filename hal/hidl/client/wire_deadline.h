// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "engine/base/checkpoint.h"
#include "hal/hidl/v1_3.h"

namespace halyard::hal::hidl {

// As a service is told it. The latest time that there is on this side is the latest there, too,
// which is twice as late.
nn::v1_3::OptionalTimePoint wireDeadline(ParcelWriter& writer, const Deadline& deadline);

}  // namespace halyard::hal::hidl
