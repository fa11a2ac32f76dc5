// SPDX-License-Identifier: Apache-2.0
//
// The least of models, for tests of what is around one.

#pragma once

#include "driver/model/model.h"
#include "driver/model/request.h"

namespace halyard::hal::testing {

// out = in + {10, 20}
driver::Model addModel();

// One pool: input at 0, output at 8.
driver::Request addRequest();

}  // namespace halyard::hal::testing
