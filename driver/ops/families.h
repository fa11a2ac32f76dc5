// SPDX-License-Identifier: Apache-2.0
//
// The functions that the families' files define, and the type rows that several families share.

#pragma once

#include <vector>

#include "driver/ops/operation.h"

namespace halyard::driver {

#define HALYARD_OPERATION_FAMILY(name) std::vector<OperationDefinition> name##Operations();
#include "driver/ops/families.inc"
#undef HALYARD_OPERATION_FAMILY

// The types that nearly every operation of 1.0 has been extended to, each with the scalar that a
// real attribute (SOFTMAX's beta) has beside such tensors. Their columns:
inline constexpr Column kTensor{0};
inline constexpr Column kScalar{1};
std::vector<TypeRow> elementTypes();
// The same without the scalar of an operation that came with 1.2, and INT32 tensors.
std::vector<TypeRow> numberTypes();

}  // namespace halyard::driver
