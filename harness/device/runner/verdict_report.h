// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "driver/model/model.h"
#include "driver/model/verdicts.h"
#include "engine/base/status.h"
#include "harness/device/cases/messages.h"

namespace halyard::runner {

// Fills in the verdicts.
void reportVerdicts(driver::Verdicts verdicts, pb::CaseResult& result);

// Adds one for the operation that a failure of preparing is about, if there is none at all yet:
// what only preparing finds.
void reportPreparation(const driver::Model& model, const Status& failure, pb::CaseResult& result);

}  // namespace halyard::runner
