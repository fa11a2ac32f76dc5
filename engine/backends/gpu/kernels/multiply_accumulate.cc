// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/kernels/multiply_accumulate.h"

#include <span>
#include <vector>

#include "engine/backends/gpu/kernels/map.h"
#include "engine/numerics/activation_range.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/requantize.h"

namespace halyard::engine::gpu {

std::string Geometry::toString() const {
    std::string text;
    for (const int32_t number :
         {height, width, depth, filterH, filterW, outputH, outputW, channels, strideH, strideW, top,
          left, dilationH, dilationW, positions, groupDepth, channelsPerGroup}) {
        text.append(text.empty() ? "" : ",").append(std::to_string(number));
    }
    return text;
}

std::string storageDefines(const StepPlan& step) {
    const DataType x = step.input(0).type;
    const DataType weights = step.input(1).type;
    return define("X", storageOf(x)) + define("W", storageOf(weights)) +
           define("R", storageOf(step.output().type)) + (isFloat(x) ? "" : define("QUANTIZED")) +
           (weights == DataType::QUANT8_SYMM_PER_CHANNEL ? define("WEIGHT_ZERO", 0) : "");
}

MultiplyAccumulate multiplyAccumulateOf(StepPlan& step, Activation activation, size_t which) {
    const TensorType& x = step.input(0, which);
    const TensorType& weights = step.input(1, which);
    const TensorType& output = step.output(0, which);
    MultiplyAccumulate sum;
    if (isFloat(x.type)) {
        const RealRange range = rangeOf(activation);
        sum.numbers.low = range.low;
        sum.numbers.high = range.high;
        // Never read, but a kernel has its parameters.
        sum.multipliers = step.in(2, which);
        return sum;
    }
    const QuantizedRange range = rangeOf(activation, output);
    const Quantization& ofX = x.quantization;
    const Quantization& ofWeights = weights.quantization;
    const bool perChannel = weights.type == DataType::QUANT8_SYMM_PER_CHANNEL;
    sum.numbers.xZero = ofX.zeroPoint;
    sum.numbers.weightZero = perChannel ? 0 : ofWeights.zeroPoint;
    sum.numbers.zero = output.quantization.zeroPoint;
    sum.numbers.least = range.low;
    sum.numbers.most = range.high;
    sum.numbers.multiplierStride = perChannel ? 1 : 0;
    std::vector<float> multipliers;
    if (perChannel) {
        for (const float scale : ofWeights.channelScales) {
            multipliers.push_back(multiplier(ofX.scale, scale, output.quantization.scale));
        }
    } else {
        multipliers.push_back(multiplier(ofX.scale, ofWeights.scale, output.quantization.scale));
    }
    sum.multipliers = step.table(std::span<const float>(multipliers));
    return sum;
}

}  // namespace halyard::engine::gpu
