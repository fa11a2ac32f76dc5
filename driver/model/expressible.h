// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "driver/model/model.h"
#include "engine/base/status.h"

namespace halyard::driver {

// INVALID_ARGUMENT if the model holds something that `version` has no words for, naming it: an
// operation or a type of a later version, subgraphs, extra parameters, extensions, relaxed floats.
Status checkExpressible(const Model& model, HalVersion version);

}  // namespace halyard::driver
