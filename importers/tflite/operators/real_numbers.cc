// SPDX-License-Identifier: Apache-2.0

#include "importers/tflite/operators/real_numbers.h"

#include <utility>

namespace halyard::tflite {

using engine::DataType;
using engine::TensorType;

bool hasEightBits(const TensorType& type) {
    return type.type == DataType::QUANT8_ASYMM || type.type == DataType::QUANT8_ASYMM_SIGNED;
}

TensorType realType(const TensorType& type) {
    if (!hasEightBits(type)) {
        return type;
    }
    return {.type = DataType::FLOAT32, .shape = engine::Shape::unknownRank(), .quantization = {}};
}

Result<TensorId> readReal(Mapper& mapper, size_t place) {
    HALYARD_ASSIGN_OR_RETURN(const TensorId id, mapper.readInput(place));
    if (!hasEightBits(mapper.typeOf(id))) {
        return id;
    }
    return mapper.emitInner(engine::Dequantize{}, {id}, realType(mapper.typeOf(id)));
}

Status emitReal(Mapper& mapper, engine::NodeDescriptor descriptor, std::vector<TensorId> inputs) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t output, mapper.output());
    HALYARD_ASSIGN_OR_RETURN(const TensorType type, mapper.declared(output));
    if (!hasEightBits(type)) {
        return mapper.emit(std::move(descriptor), std::move(inputs));
    }
    HALYARD_ASSIGN_OR_RETURN(
            const TensorId real,
            mapper.emitInner(std::move(descriptor), std::move(inputs), realType(type)));
    return mapper.emit(engine::Quantize{}, {real});
}

}  // namespace halyard::tflite
