// SPDX-License-Identifier: Apache-2.0
//
// The operation table: for each NNAPI operation its forms and type rows (form.h), the rules beyond
// them, and its lowering to engine nodes. One file per family defines the rows; families.inc lists
// the families. The validation of models, getSupportedOperations, prepareModel, --list-operations
// and the lowest HAL version of a model all read this table and nothing else.

#pragma once

#include <span>
#include <vector>

#include "driver/model/model.h"
#include "driver/model/verdicts.h"
#include "driver/ops/form.h"
#include "engine/base/status.h"

namespace halyard::driver {

class Lowering;       // lowering.h: the graph under construction, seen from one operation
class OperationView;  // operation_view.h: the operands of one operation, by name

struct OperationDefinition {
    OperationType type = OperationType::ADD;
    // No two pairs of a form and a row take the same types: the operands tell which it is.
    std::vector<Form> forms;
    // Of the forms' columns. One without types where there are none.
    std::vector<TypeRow> rows;
    // Rules that forms and rows can't express (ranks, relations of scales, what held in earlier
    // versions only): INVALID_ARGUMENT. Null: none.
    Status (*validate)(const OperationView& view) = nullptr;
    // Adds the operation's nodes to the graph. INVALID_ARGUMENT: a constant breaks a rule.
    // UNSUPPORTED: valid, but Halyard can't run this form. Null: Halyard knows the operation, and
    // can't run it at all.
    Status (*lower)(Lowering& lowering) = nullptr;
};

// Null if Halyard does not know the operation. Lives as long as the process.
const OperationDefinition* findOperation(OperationType type);
// All rows, ascending by code.
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
