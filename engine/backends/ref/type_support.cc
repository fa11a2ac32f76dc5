// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/ref/type_support.h"

#include <string>

namespace halyard::engine::ref {

bool isEightBit(DataType type) {
    return type == DataType::QUANT8_ASYMM || type == DataType::QUANT8_ASYMM_SIGNED;
}

bool isComputable(DataType type) {
    return isFloat(type) || isEightBit(type);
}

// The scales of a per-channel type belong to an axis, which moving elements would not keep.
bool isMovable(DataType type) {
    return type != DataType::QUANT8_SYMM_PER_CHANNEL;
}

Status supportType(TypeList tensors, size_t index, bool (*accepts)(DataType), const char* role) {
    if (index >= tensors.size() || tensors[index] == nullptr) {
        return unsupported("needs " + std::string(role) + " " + std::to_string(index));
    }
    if (!accepts(tensors[index]->type)) {
        return unsupported("does not take " + std::string(role) + " " + std::to_string(index) +
                           " of type " + std::string(toString(tensors[index]->type)));
    }
    return {};
}

Status supportTypes(TypeList inputs, TypeList outputs, bool (*accepts)(DataType)) {
    for (size_t i = 0; i < inputs.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(supportType(inputs, i, accepts, "input"));
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(supportType(outputs, i, accepts, "output"));
    }
    return {};
}

}  // namespace halyard::engine::ref
