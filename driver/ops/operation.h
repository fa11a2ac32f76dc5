// SPDX-License-Identifier: Apache-2.0
//
// OperationDefinition: what the operation table (operation_table.h) says of one NNAPI operation:
// its forms and type rows (form.h), the rules beyond them, and its lowering to engine nodes.

#pragma once

#include <vector>

#include "driver/model/model.h"
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

}  // namespace halyard::driver
