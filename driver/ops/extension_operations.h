// SPDX-License-Identifier: Apache-2.0
//
// The operations of Halyard's own extension (driver/model/extensions.h): rows like those of the
// operation table, in a table of their own, as no version of NNAPI has them.

#pragma once

#include <span>

#include "driver/ops/operation.h"

namespace halyard::driver {

std::span<const OperationDefinition> extensionOperations();

}  // namespace halyard::driver
