// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "engine/graph/tensor.h"

namespace halyard::engine::cpu {

// Whether elements are bytes with a zero point, which most kernels have a form for.
inline bool isOfBytes(DataType type) {
    return type == DataType::QUANT8_ASYMM || type == DataType::QUANT8_ASYMM_SIGNED;
}

}  // namespace halyard::engine::cpu
