// SPDX-License-Identifier: Apache-2.0
//
// The operation table: the definition of each NNAPI operation (operation.h). One file per family
// defines the rows; families.inc lists the families. The validation of models,
// getSupportedOperations, prepareModel, --list-operations and the lowest HAL version of a model all
// read this table and nothing else.

#pragma once

#include <span>

#include "driver/model/model.h"
#include "driver/model/verdicts.h"
#include "driver/ops/operation.h"
#include "engine/base/status.h"

namespace halyard::driver {

// Null if Halyard does not know the operation. Lives as long as the process.
const OperationDefinition* findOperation(OperationType type);
// The definition of a model's operation, be it NNAPI's or Halyard's own; null: none.
const OperationDefinition* findOperation(const Model& model, OperationType type);
// All rows of NNAPI's operations, ascending by code.
std::span<const OperationDefinition> allOperations();

// Checks every operation of the model that Halyard knows: that its operands match a form and a row
// of that version, that only those are omitted which may be, and the operation's own rules. The
// structure is valid already (validate.h). INVALID_ARGUMENT names the operation, the operand and
// the rule. `verdicts`: null, or where every operation of the main subgraph is added that breaks
// one, or refers to a subgraph in which one is broken; the failure is the first one all the same.
Status validateOperations(const Model& model, HalVersion version, Verdicts* verdicts = nullptr);
// The operations of the main subgraph alone, but for those that have a verdict already: of the
// others, and of the subgraphs that they refer to, the structure is valid.
Status validateMainOperations(const Model& model, HalVersion version, Verdicts& verdicts);

}  // namespace halyard::driver
