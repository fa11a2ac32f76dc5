// SPDX-License-Identifier: Apache-2.0
//
// What a family's file defines, and what families share when they write their signatures.

#pragma once

#include <array>
#include <vector>

#include "driver/ops/operation.h"

namespace halyard::driver {

#define HALYARD_OPERATION_FAMILY(name) std::vector<OperationDefinition> name##Operations();
#include "driver/ops/families.inc"
#undef HALYARD_OPERATION_FAMILY

// A tensor type that most operations come in, and the version that brought it to them.
struct ElementType {
    OperandType tensor;
    OperandType scalar;  // what a real attribute (SOFTMAX's beta) has beside such tensors
    HalVersion since;
};

// The types that nearly every operation of 1.0 has been extended to.
inline constexpr std::array kElementTypes = {
        ElementType{OperandType::TENSOR_FLOAT32, OperandType::FLOAT32, HalVersion::V1_0},
        ElementType{OperandType::TENSOR_FLOAT16, OperandType::FLOAT16, HalVersion::V1_2},
        ElementType{OperandType::TENSOR_QUANT8_ASYMM, OperandType::FLOAT32, HalVersion::V1_0},
        ElementType{OperandType::TENSOR_QUANT8_ASYMM_SIGNED, OperandType::FLOAT32,
                    HalVersion::V1_3},
};

// For each of kElementTypes, from `since` on: a tensor of that type and the `further` inputs in, a
// tensor of that type out.
std::vector<Signature> elementTypeSignatures(HalVersion since,
                                             const std::vector<OperandType>& further);

}  // namespace halyard::driver
