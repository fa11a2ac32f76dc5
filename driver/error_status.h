// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "driver/model/model.h"
#include "engine/base/status.h"

namespace halyard::driver {

// The one place where a Status becomes what NNAPI tells clients. Before 1.3 the codes 5–8 did not
// exist and become GENERAL_FAILURE.
ErrorStatus toErrorStatus(const Status& status, HalVersion version);

}  // namespace halyard::driver
