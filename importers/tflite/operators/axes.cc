// SPDX-License-Identifier: Apache-2.0

#include "importers/tflite/operators/axes.h"

#include <cstring>
#include <string>
#include <utility>

namespace halyard::tflite {

Result<size_t> rankOf(const Mapper& mapper, TensorId id) {
    const engine::Shape& shape = mapper.typeOf(id).shape;
    if (!shape.hasKnownRank()) {
        return unsupported("'" + mapper.graph().tensor(id).name +
                           "' has a rank that only a run tells");
    }
    return shape.rank();
}

bool hasExtents(const Mapper& mapper, TensorId id) {
    return mapper.typeOf(id).shape.isFullyKnown();
}

Result<size_t> axisOf(int32_t axis, size_t rank) {
    const auto whole = static_cast<int64_t>(rank);
    if (axis < -whole || axis >= whole) {
        return unsupported("its axis is " + std::to_string(axis) + ", of " + std::to_string(rank));
    }
    return static_cast<size_t>(axis < 0 ? axis + whole : axis);
}

Result<TensorId> pairs(Mapper& mapper, std::span<const int32_t> values) {
    std::vector<uint8_t> bytes(values.size_bytes());
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return mapper.constant({.type = engine::DataType::INT32,
                            .shape = {static_cast<int32_t>(values.size() / 2), 2},
                            .quantization = {}},
                           std::move(bytes));
}

}  // namespace halyard::tflite
