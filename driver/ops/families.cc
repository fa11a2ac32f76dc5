// SPDX-License-Identifier: Apache-2.0

#include "driver/ops/families.h"

namespace halyard::driver {

std::vector<TypeRow> elementTypes() {
    using enum HalVersion;
    using enum OperandType;
    return {{V1_0, {TENSOR_FLOAT32, FLOAT32}},
            {V1_2, {TENSOR_FLOAT16, FLOAT16}},
            {V1_0, {TENSOR_QUANT8_ASYMM, FLOAT32}},
            {V1_3, {TENSOR_QUANT8_ASYMM_SIGNED, FLOAT32}}};
}

std::vector<TypeRow> numberTypes() {
    using enum HalVersion;
    using enum OperandType;
    return {{V1_2, {TENSOR_FLOAT16}},
            {V1_2, {TENSOR_FLOAT32}},
            {V1_2, {TENSOR_INT32}},
            {V1_2, {TENSOR_QUANT8_ASYMM}},
            {V1_3, {TENSOR_QUANT8_ASYMM_SIGNED}}};
}

}  // namespace halyard::driver
