// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <span>

#include "engine/backends/ref/elements.h"
#include "engine/backends/ref/evaluate.h"
#include "engine/backends/ref/progress.h"
#include "engine/backends/ref/requantize.h"
#include "engine/backends/ref/type_support.h"

namespace halyard::engine::ref {

Status supports(const Dequantize& /*node*/, TypeList inputs, TypeList outputs) {
    HALYARD_RETURN_IF_ERROR(supportTypes(inputs, {}, isQuantized));
    return supportTypes({}, outputs, isFloat);
}

Status supports(const Quantize& /*node*/, TypeList inputs, TypeList outputs) {
    HALYARD_RETURN_IF_ERROR(supportTypes(inputs, {}, isFloat));
    return supportTypes({}, outputs, isEightBit);
}

Status run(const Dequantize& /*node*/, std::span<const ConstTensorView> inputs,
           std::span<const TensorView> outputs, Progress& progress) {
    const ConstTensorView& x = inputs[0];
    const Quantization& quantization = x.type->quantization;
    const int64_t count = countOf(x.shape());
    if (count == 0) {
        return {};
    }
    const bool perChannel = x.type->type == DataType::QUANT8_SYMM_PER_CHANNEL;
    // Neighbours along the channel axis are this many elements apart.
    const int64_t inner =
            perChannel ? countOf(Shape(x.shape().extents().subspan(quantization.channelDim + 1)))
                       : count;
    const int64_t channels = perChannel ? x.shape()[quantization.channelDim] : 1;
    return withQuantizedElements(x.type->type, [&]<typename X>() -> Status {
        return withFloatElements(outputs[0].type->type, [&]<typename T>() -> Status {
            return progress.forEach(count, 1, [&](int64_t i) {
                const X value = x.as<X>()[i];
                const auto channel = static_cast<size_t>(i / inner % channels);
                const float real =
                        perChannel ? quantization.channelScales[channel] * static_cast<float>(value)
                                   : dequantize(value, quantization);
                outputs[0].as<T>()[i] = fromReal<T>(real);
            });
        });
    });
}

Status run(const Quantize& /*node*/, std::span<const ConstTensorView> inputs,
           std::span<const TensorView> outputs, Progress& progress) {
    const ConstTensorView& x = inputs[0];
    const TensorView& output = outputs[0];
    const int64_t count = countOf(output.shape());
    return withFloatElements(x.type->type, [&]<typename X>() -> Status {
        return withQuantizedElements(output.type->type, [&]<typename T>() -> Status {
            return progress.forEach(count, 1, [&](int64_t i) {
                output.as<T>()[i] = static_cast<T>(quantize(toReal(x.as<X>()[i]), *output.type));
            });
        });
    });
}

}  // namespace halyard::engine::ref
