// SPDX-License-Identifier: Apache-2.0
//
// Operators that the engine computes with real numbers only, of 8-bit tensors: Dequantize before,
// Quantize behind. TFLite rounds once as well.

#pragma once

#include <vector>

#include "importers/tflite/mapper.h"

namespace halyard::tflite {

// An input as FLOAT32 where it has 8 bits, else as it is.
Result<TensorId> readReal(Mapper& mapper, size_t place);
// FLOAT32, with the shape unknown, where the type has 8 bits; else the type.
engine::TensorType realType(const engine::TensorType& type);
// Mapper::emit() of a node that computes reals: the operator's one output may have 8 bits.
Status emitReal(Mapper& mapper, engine::NodeDescriptor descriptor, std::vector<TensorId> inputs);
bool hasEightBits(const engine::TensorType& type);

}  // namespace halyard::tflite
