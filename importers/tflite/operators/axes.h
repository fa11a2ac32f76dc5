// SPDX-License-Identifier: Apache-2.0
//
// Ranks and axes of tensors that an operator works on.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "importers/tflite/mapper.h"

namespace halyard::tflite {

// UNSUPPORTED where only a run tells it.
Result<size_t> rankOf(const Mapper& mapper, TensorId id);
// Whether the extents of a tensor are known.
bool hasExtents(const Mapper& mapper, TensorId id);
// In [0, rank): UNSUPPORTED where `axis` is not in [-rank, rank).
Result<size_t> axisOf(int32_t axis, size_t rank);
// A constant INT32 [rows, 2].
Result<TensorId> pairs(Mapper& mapper, std::span<const int32_t> values);

}  // namespace halyard::tflite
