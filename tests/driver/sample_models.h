// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "driver/model/model.h"

namespace halyard::driver {

// input [1, 3, 3, 1] -> CONV_2D (2x2, VALID, its bias in a pool) -> RELU -> ADD of the two ->
// output [1, 2, 2, 2]. Valid from 1.0.
Model floatConvModel();
// The same in TENSOR_QUANT8_ASYMM, with scales that 1.0 accepts.
Model quantConvModel();

// Where the operands of both stand.
namespace conv_model {
inline constexpr uint32_t kInput = 0;
inline constexpr uint32_t kFilter = 1;
inline constexpr uint32_t kBias = 2;
inline constexpr uint32_t kScheme = 3;
inline constexpr uint32_t kStride = 4;      // both strides
inline constexpr uint32_t kActivation = 5;  // of both operations
inline constexpr uint32_t kConv = 6;        // CONV_2D's output
inline constexpr uint32_t kRelu = 7;        // RELU's output
inline constexpr uint32_t kOutput = 8;
}  // namespace conv_model

// input [2, 2] -> RELU -> output [2, 2]; float, valid from 1.0.
Model reluModel();

// inputs value [1] and limit [1]: while value is LESS than limit, value = body(value, limit). With
// MAXIMUM it ends, with MINIMUM it never does. Valid from 1.3.
Model loopModel(OperationType body);

}  // namespace halyard::driver
