// SPDX-License-Identifier: Apache-2.0
//
// The official list of mutants that may be valid: operations whose operands may have several types
// independently of the others, and whose last operands are optional. It grew with the versions; a
// mutant is exempt only in those whose list has it.

#pragma once

#include <cstddef>

#include "driver/model/model.h"

namespace halyard::vts {

// Operand `operand` of the subgraph gets type `type`.
bool mayTakeType(const driver::Subgraph& graph, size_t operand, driver::OperandType type,
                 driver::HalVersion version);
// The same, with a value that fits the type. Beyond the official list, whose mutants of constants
// keep the old value: 10 inputs of CONV_2D (11 of DEPTHWISE_CONV_2D) are either explicit paddings,
// or an implicit one with a layout and dilations, and the type of the first that differs tells.
bool mayTakeTypeWithValue(const driver::Subgraph& graph, size_t operand, driver::OperandType type,
                          driver::HalVersion version);
// The operand is removed from all that names it.
bool mayLoseOperand(const driver::Subgraph& graph, size_t operand, driver::HalVersion version);
bool mayLoseInput(const driver::Operation& operation, size_t input, driver::HalVersion version);
// An INT32 behind the others.
bool mayGainInput(const driver::Operation& operation, driver::HalVersion version);

}  // namespace halyard::vts
