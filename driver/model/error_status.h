// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "driver/model/model.h"
#include "engine/base/status.h"

namespace halyard::driver {

// The one place where a Status becomes what NNAPI tells clients. Before 1.3 the codes 5–8 did not
// exist and become GENERAL_FAILURE.
ErrorStatus toErrorStatus(const Status& status, HalVersion version);

// The other way round, for who asks a device over a wire: what it answers, with `message`. What no
// contract knows is INTERNAL, as GENERAL_FAILURE is.
Status toStatus(ErrorStatus answer, std::string message);

// Of a call whose deadline had passed when it came: persistent, as the same call can't succeed.
Status deadlineHadPassed();

}  // namespace halyard::driver
