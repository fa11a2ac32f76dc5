// SPDX-License-Identifier: Apache-2.0
//
// Models and requests as another process can take them: their pools by handles, and no more in one
// transaction than it holds.

#pragma once

#include "driver/model/model.h"
#include "driver/model/request.h"
#include "engine/base/status.h"

namespace halyard::hal {

// INVALID_ARGUMENT names what has no handle.
Status checkSendable(const driver::Model& model);
Status checkSendable(const driver::Request& request);
Status checkSendable(const driver::SharedMemory& memory);

// Whether its constants are too many to be copied with it.
bool hasLargeConstants(const driver::Model& model);
// Moves the CONSTANT_COPY values into a pool of their own.
Status moveConstantsToPool(driver::Model& model);

}  // namespace halyard::hal
