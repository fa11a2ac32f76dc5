// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>

#include "driver/model/model.h"

namespace halyard::vts {

// Bytes of a value. Nothing where a dimension is not specified, or the type has no elements.
std::optional<uint32_t> valueSize(const driver::Operand& operand);

// Gives one of the model's operands, whose size is known, a value: whatever operandValues begin
// with. Its lifetime is CONSTANT_COPY already.
void giveValue(driver::Model& model, driver::Operand& constant);

}  // namespace halyard::vts
