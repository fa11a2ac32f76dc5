// SPDX-License-Identifier: Apache-2.0

#include "driver/ops/boxes.h"

#include "driver/ops/rules.h"

namespace halyard::driver {

std::vector<TypeRow> boxTypes() {
    using enum HalVersion;
    using enum OperandType;
    return {{V1_2, {TENSOR_FLOAT32, TENSOR_FLOAT32, FLOAT32, TENSOR_FLOAT32}},
            {V1_2, {TENSOR_FLOAT16, TENSOR_FLOAT16, FLOAT16, TENSOR_FLOAT16}},
            {V1_2, {TENSOR_QUANT8_ASYMM, TENSOR_QUANT16_ASYMM, FLOAT32, TENSOR_QUANT16_SYMM}},
            {V1_3,
             {TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_QUANT16_ASYMM, FLOAT32, TENSOR_QUANT16_SYMM}}};
}

Status requireBoxes(const OperandView& boxes) {
    HALYARD_RETURN_IF_ERROR(requireRank(boxes, 2));
    return requireCoordinates(boxes);
}

Status requireCoordinates(const OperandView& coordinates) {
    const OperandType type = coordinates.operand->type;
    const bool quantized =
            type == OperandType::TENSOR_QUANT16_ASYMM || type == OperandType::TENSOR_QUANT16_SYMM;
    return quantized ? requireQuantization(coordinates, 0.125F, 0) : Status();
}

}  // namespace halyard::driver
