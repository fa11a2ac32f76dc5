// SPDX-License-Identifier: Apache-2.0
//
// The operation table, for tests that walk it.

#pragma once

#include <variant>
#include <vector>

#include "driver/ops/operation.h"

namespace halyard::driver {

struct FormTypes {
    std::vector<OperandType> inputs;
    std::vector<OperandType> outputs;
};

// The types of the operands, each of which stands there once; where any is taken, TENSOR_FLOAT32.
inline std::vector<OperandType> typesOf(const OperandForms& forms, const TypeRow& row) {
    std::vector<OperandType> types;
    for (const OperandForm& form : forms) {
        if (const auto* fixed = std::get_if<OperandType>(&form.type)) {
            types.push_back(*fixed);
        } else if (const auto* column = std::get_if<Column>(&form.type)) {
            types.push_back(row.types[column->index]);
        } else {
            types.push_back(OperandType::TENSOR_FLOAT32);
        }
    }
    return types;
}

inline FormTypes typesOf(const Form& form, const TypeRow& row) {
    return {.inputs = typesOf(form.inputs, row), .outputs = typesOf(form.outputs, row)};
}

// Calls visit(form, row) for every pair.
template <typename Visit>
void forEachForm(const OperationDefinition& definition, Visit visit) {
    for (const Form& form : definition.forms) {
        for (const TypeRow& row : definition.rows) {
            visit(form, row);
        }
    }
}

}  // namespace halyard::driver
