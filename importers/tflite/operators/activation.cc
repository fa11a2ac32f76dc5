// SPDX-License-Identifier: Apache-2.0
//
// Activation functions and softmaxes.

#include <cmath>

#include "importers/tflite/operators/handlers.h"
#include "importers/tflite/operators/real_numbers.h"

namespace halyard::tflite {
namespace {

using engine::Activate;
using engine::Binary;
using engine::TensorType;

Status mapFunction(Mapper& mapper, const Activate& node) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(1, 1));
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    return mapper.emit(node, {x});
}

}  // namespace

Status mapElu(Mapper& mapper) {
    return mapFunction(mapper, {.function = Activate::Function::ELU});
}

Status mapGelu(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(1, 1));
    const bool isApproximate = mapper.flag(GeluOptions::kApproximate);
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, readReal(mapper, 0));
    return emitReal(mapper,
                    Activate{.function = isApproximate ? Activate::Function::GELU_TANH
                                                       : Activate::Function::GELU},
                    {x});
}

Status mapHardSwish(Mapper& mapper) {
    return mapFunction(mapper, {.function = Activate::Function::HARD_SWISH});
}

// A PRELU of one slope; of 8 bits the slope is one step of its size.
Status mapLeakyRelu(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(1, 1));
    const float alpha = mapper.real(LeakyReluOptions::kAlpha);
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    TensorType type = mapper.typeOf(x);
    type.shape = {1};
    if (hasEightBits(type)) {
        if (!(alpha > 0.0F) || !std::isfinite(alpha)) {
            return unsupported("its slope is " + std::to_string(alpha) +
                               ", which is no scale for 8 bits");
        }
        type.quantization.scale = alpha;
        type.quantization.zeroPoint = 0;
    }
    HALYARD_ASSIGN_OR_RETURN(const TensorId slope, mapper.scalar(type, alpha));
    return mapper.emit(Binary{.function = Binary::Function::PRELU}, {x, slope});
}

Status mapLogistic(Mapper& mapper) {
    return mapFunction(mapper, {.function = Activate::Function::LOGISTIC});
}

Status mapLogSoftmax(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(1, 1));
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, readReal(mapper, 0));
    return emitReal(mapper, engine::LogSoftmax{}, {x});
}

Status mapPrelu(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(2, 2));
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    HALYARD_ASSIGN_OR_RETURN(const int32_t activations, mapper.input(0));
    HALYARD_ASSIGN_OR_RETURN(const TensorId slope, mapper.readWeights(1, activations));
    return mapper.emit(Binary{.function = Binary::Function::PRELU}, {x, slope});
}

Status mapRelu(Mapper& mapper) {
    return mapFunction(mapper, {.function = Activate::Function::RELU});
}

Status mapRelu6(Mapper& mapper) {
    return mapFunction(mapper, {.function = Activate::Function::RELU6});
}

Status mapRelu1(Mapper& mapper) {
    return mapFunction(mapper, {.function = Activate::Function::RELU1});
}

Status mapRelu0To1(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(1, 1));
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, readReal(mapper, 0));
    const TensorType type = mapper.typeOf(x);
    HALYARD_ASSIGN_OR_RETURN(const TensorId zero, mapper.scalar(type, 0.0));
    HALYARD_ASSIGN_OR_RETURN(const TensorId one, mapper.scalar(type, 1.0));
    HALYARD_ASSIGN_OR_RETURN(
            const TensorId raised,
            mapper.emitInner(Binary{.function = Binary::Function::MAXIMUM}, {x, zero}, type));
    return emitReal(mapper, Binary{.function = Binary::Function::MINIMUM}, {raised, one});
}

Status mapSoftmax(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(1, 1));
    const float beta = mapper.real(SoftmaxOptions::kBeta);
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    return mapper.emit(engine::Softmax{.beta = beta}, {x});
}

Status mapTanh(Mapper& mapper) {
    return mapFunction(mapper, {.function = Activate::Function::TANH});
}

}  // namespace halyard::tflite
