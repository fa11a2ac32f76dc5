// SPDX-License-Identifier: Apache-2.0
//
// Which form of an operation takes operands of given types, and, where none does, why.

#pragma once

#include <vector>

#include "driver/ops/operation.h"
#include "engine/base/status.h"

namespace halyard::driver {

struct OperandTypes {
    std::vector<OperandType> inputs;
    std::vector<OperandType> outputs;
};

// Null if no form takes these types in that version.
const Form* findForm(const OperationDefinition& definition, const OperandTypes& types,
                     HalVersion version);

// Why none does, as INVALID_ARGUMENT of that rule: a later version would; or so many operands are
// wrong; or one of them differs from what the closest form takes.
Status explainMismatch(const OperationDefinition& definition, const Operation& operation,
                       const OperandTypes& types, HalVersion version);

}  // namespace halyard::driver
