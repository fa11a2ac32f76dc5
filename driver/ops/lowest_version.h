// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "driver/model/model.h"
#include "driver/model/verdicts.h"
#include "engine/base/status.h"

namespace halyard::driver {

// Whether the model is valid in that version: its structure (validate.h) and its operations
// (operation_table.h). INVALID_ARGUMENT names the operation or the operand, and the rule.
// `verdicts`: null, or where every operation of the main subgraph that is to blame is added; none
// is where the model is invalid as a whole. The failure is the first one all the same.
Status validateForVersion(const Model& model, HalVersion version, Verdicts* verdicts = nullptr);

// The lowest version that can carry the model and that it is valid in. An operation that Halyard
// does not know counts with the version that introduced it. INVALID_ARGUMENT if there is none, with
// what is wrong in the newest.
Result<HalVersion> lowestVersion(const Model& model);

}  // namespace halyard::driver
