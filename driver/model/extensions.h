// SPDX-License-Identifier: Apache-2.0
//
// Halyard's additions to NNAPI: operations and operand types of its own, as a vendor extension that
// docs/extensions.md describes. A model names the extension and chooses a prefix for it, which
// stands in the high 16 bits of its codes. Inside the driver they have codes of their own below
// 0x10000, where NNAPI has none, so that tables of operations need know no prefix; in a model such
// a code is an unknown one.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/model/capabilities.h"
#include "driver/model/model.h"
#include "driver/model/versions.h"

namespace halyard::driver {

// com.halyard.activation: operations 0 and 1, operand type 0.
inline constexpr auto kSilu = static_cast<OperationType>(0xE000);
inline constexpr auto kGelu = static_cast<OperationType>(0xE001);
inline constexpr auto kGeluApproximation = static_cast<OperandType>(0xE000);

// All of them, as they are listed to clients.
const std::vector<Extension>& knownExtensions();

// The names of an extension's operations, by their numbers; null: it is not known.
const std::vector<std::string_view>* operationsOf(std::string_view extension);

// The code that tables know a model's code by: the driver's own for what is of a known extension.
// Nothing where the code is of another extension, or of something that a known one does not have.
std::optional<OperationType> tabled(const Model& model, OperationType type);
std::optional<OperandType> tabled(const Model& model, OperandType type);

// As findOperandType() of versions.h, for types of known extensions as well.
const OperandTypeInfo* findOperandType(const Model& model, OperandType type);

// "CONV_2D", "com.halyard.activation.GELU", "operation 7 of com.example.vendor"; the number where
// the code has no name.
std::string describe(const Model& model, OperationType type);
std::string describe(const Model& model, OperandType type);
// Of a code that tables have.
std::string describeTabled(OperandType type);

// labelOf() of model.h, with the names of extensions.
std::string labelOf(const Model& model, const Operation& operation, size_t index);

}  // namespace halyard::driver
