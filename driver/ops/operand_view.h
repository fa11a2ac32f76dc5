// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "driver/model/model.h"
#include "driver/ops/form.h"

namespace halyard::driver {

// One operand as the rules of an operation see it.
struct OperandView {
    const Operand* operand = nullptr;
    uint32_t index = 0;                 // in the subgraph
    const OperandForm* form = nullptr;  // null: the operation's form has none of this name
    bool isOutput = false;
    size_t position = 0;  // among the operation's inputs or outputs

    bool omitted() const { return operand->lifetime == OperandLifeTime::NO_VALUE; }
    // "the stride width (input 4, operand 14)": what messages call it.
    std::string name() const;
};

}  // namespace halyard::driver
