// SPDX-License-Identifier: Apache-2.0
//
// Constants that are one number, as what is spelled out in several nodes multiplies and adds.

#pragma once

#include <cstring>
#include <optional>

#include "engine/base/half.h"
#include "engine/graph/tensor.h"

namespace halyard::engine {

// The one element of a float constant.
inline std::optional<double> constantNumber(const Tensor& tensor) {
    const DataType type = tensor.type.type;
    const size_t size = type == DataType::FLOAT16 ? sizeof(Half) : sizeof(float);
    if (!tensor.isConstant() || tensor.constant.bytes.size() != size ||
        (type != DataType::FLOAT16 && type != DataType::FLOAT32)) {
        return std::nullopt;
    }
    if (type == DataType::FLOAT16) {
        Half half;
        std::memcpy(&half, tensor.constant.bytes.data(), sizeof half);
        return toFloat(half);
    }
    float number = 0;
    std::memcpy(&number, tensor.constant.bytes.data(), sizeof number);
    return number;
}

}  // namespace halyard::engine
