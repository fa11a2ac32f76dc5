// SPDX-License-Identifier: Apache-2.0
//
// Answers of a service, as statuses.

#pragma once

#include <string_view>

#include "driver/model/codes.h"
#include "engine/base/status.h"

namespace halyard::hal {

// UNAVAILABLE: "execute: the service died".
Status serviceDied(std::string_view method);
// A call that got no proper answer. UNAVAILABLE: the service died; else INTERNAL.
Status callFailed(std::string_view method, const Status& status);
// "execute: the service answers GENERAL_FAILURE".
Status answered(std::string_view method, driver::ErrorStatus answer);

}  // namespace halyard::hal
