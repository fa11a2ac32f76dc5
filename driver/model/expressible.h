// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "driver/model/model.h"
#include "engine/base/status.h"

namespace halyard::driver {

// INVALID_ARGUMENT if the model holds something that `version` has no place for, naming it:
// subgraphs, extra parameters, extensions, relaxed floats. Everything else can be sent: what a
// device makes of a number that it does not know is its business.
Status checkSayable(const Model& model, HalVersion version);

// The same, and if a type or an operation came with a later version.
Status checkExpressible(const Model& model, HalVersion version);

}  // namespace halyard::driver
