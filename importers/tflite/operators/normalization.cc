// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <string>

#include "importers/tflite/operators/axes.h"
#include "importers/tflite/operators/handlers.h"
#include "importers/tflite/operators/real_numbers.h"

namespace halyard::tflite {

// TFLite's kernel has no fused activation, and 8-bit results of one quantisation.
Status mapL2Normalization(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(1, 1));
    const int32_t activation = mapper.integer(L2NormOptions::kFusedActivationFunction);
    if (static_cast<FusedActivation>(activation) != FusedActivation::NONE) {
        return unsupported("it has a fused activation, and TFLite's kernel has none");
    }
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    HALYARD_ASSIGN_OR_RETURN(const int32_t output, mapper.output());
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorType type, mapper.declared(output));
    const int32_t zeroPoint = type.type == engine::DataType::QUANT8_ASYMM ? 128 : 0;
    if (hasEightBits(type) &&
        (type.quantization.scale != 1.0F / 128 || type.quantization.zeroPoint != zeroPoint)) {
        return unsupported(mapper.shown(output) + " is " + type.toString() +
                           ", and its scale has to be 1/128");
    }
    return mapper.emit(engine::L2Normalize{}, {x});
}

Status mapLocalResponseNormalization(Mapper& mapper) {
    using Options = LocalResponseNormalizationOptions;
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(1, 1));
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    HALYARD_ASSIGN_OR_RETURN(const size_t rank, rankOf(mapper, x));
    if (rank != 4) {
        return unsupported("it is of " + std::to_string(rank) + " axes, and TFLite's of four");
    }
    return mapper.emit(engine::LocalResponseNormalize{.radius = mapper.integer(Options::kRadius),
                                                      .bias = mapper.real(Options::kBias),
                                                      .alpha = mapper.real(Options::kAlpha),
                                                      .beta = mapper.real(Options::kBeta)},
                       {x});
}

}  // namespace halyard::tflite
