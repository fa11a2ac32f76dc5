// SPDX-License-Identifier: Apache-2.0
//
// What the supports() functions ask about element types.

#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>

#include "engine/base/status.h"
#include "engine/graph/tensor.h"

namespace halyard::engine::ref {

using TypeList = std::span<const TensorType* const>;

// Types by what CpuRef can do with them.
bool isComputable(DataType type);  // float, or asymmetric 8-bit
bool isEightBit(DataType type);    // asymmetric 8-bit
bool isMovable(DataType type);     // elements that may be copied to another index

// UNSUPPORTED unless every tensor is there and `accepts` its type.
Status supportTypes(TypeList inputs, TypeList outputs, bool (*accepts)(DataType));
// The same for one tensor of a list, called `role` in the reason.
Status supportType(TypeList tensors, size_t index, bool (*accepts)(DataType), const char* role);

}  // namespace halyard::engine::ref
