// SPDX-License-Identifier: Apache-2.0
//
// The operations of Halyard's own extension (driver/model/extensions.h): rows like those of the
// operation table, in a table of their own, as no version of NNAPI has them.

#pragma once

#include <span>

#include "driver/model/model.h"
#include "driver/ops/operation.h"

namespace halyard::driver {

std::span<const OperationDefinition> extensionOperations();

// The definition of a model's operation, be it NNAPI's or Halyard's own; null: none.
const OperationDefinition* findOperation(const Model& model, OperationType type);

}  // namespace halyard::driver
