// SPDX-License-Identifier: Apache-2.0

#include "engine/numerics/byte_tables.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <optional>

#include "engine/numerics/exponential.h"
#include "engine/numerics/hard_swish.h"
#include "engine/numerics/requantize.h"

namespace halyard::engine {
namespace {

// Of GELU_TANH: 2 sqrt(2 / pi), and what its cube counts.
constexpr double kGeluFactor = 1.5957691216057308;
constexpr double kGeluCube = 0.044715;

// The number that a byte stands for.
int32_t numberOf(size_t byte, DataType type) {
    const auto bits = static_cast<uint8_t>(byte);
    return type == DataType::QUANT8_ASYMM ? int32_t{bits} : int32_t{std::bit_cast<int8_t>(bits)};
}

}  // namespace

double activated(const Activate& node, double x) {
    switch (node.function) {
        case Activate::Function::RELU:
            return std::max(x, 0.0);
        case Activate::Function::RELU1:
            return std::clamp(x, -1.0, 1.0);
        case Activate::Function::RELU6:
            return std::clamp(x, 0.0, 6.0);
        case Activate::Function::LOGISTIC:
            return logistic(x);
        case Activate::Function::TANH:
            return hyperbolicTangent(x);
        case Activate::Function::ELU:
            return x > 0.0 ? x : static_cast<double>(node.alpha) * exponentialMinusOne(x);
        case Activate::Function::HARD_SWISH:
            return x * std::clamp(x + 3.0, 0.0, 6.0) / 6.0;
        case Activate::Function::SWISH:
            return x * logistic(static_cast<double>(node.alpha) * x);
        case Activate::Function::HARD_SIGMOID:
            return std::clamp(x + 3.0, 0.0, 6.0) / 6.0;
        case Activate::Function::GELU:
            return x * 0.5 * std::erfc(-x * std::numbers::sqrt2 / 2.0);
        case Activate::Function::GELU_TANH:
            // Half of 1 + tanh(y) is the logistic function of 2 y.
            return x * logistic(kGeluFactor * (x + kGeluCube * x * x * x));
    }
    return x;
}

float applyActivation(const Activate& node, float x) {
    return static_cast<float>(activated(node, static_cast<double>(x)));
}

ByteTable activationTable(const Activate& node, const TensorType& input, const TensorType& output) {
    ByteTable table{};
    if (node.function == Activate::Function::HARD_SWISH) {
        const std::optional<FixedHardSwish> fixed =
                FixedHardSwish::of(input.quantization.scale, output.quantization.scale);
        if (fixed) {
            const QuantizedRange range = rangeOf(output.type);
            for (size_t byte = 0; byte < table.size(); ++byte) {
                const int32_t x = numberOf(byte, input.type) - input.quantization.zeroPoint;
                table[byte] = static_cast<uint8_t>(std::clamp(
                        (*fixed)(x) + output.quantization.zeroPoint, range.low, range.high));
            }
            return table;
        }
    }
    for (size_t byte = 0; byte < table.size(); ++byte) {
        const float x = dequantize(numberOf(byte, input.type), input.quantization);
        table[byte] = static_cast<uint8_t>(quantize(applyActivation(node, x), output));
    }
    return table;
}

ByteTable rsqrtTable(const TensorType& input, const TensorType& output) {
    ByteTable table{};
    for (size_t byte = 0; byte < table.size(); ++byte) {
        const float x = dequantize(numberOf(byte, input.type), input.quantization);
        table[byte] = static_cast<uint8_t>(quantize(1.0F / std::sqrt(x), output));
    }
    return table;
}

ExponentialTable exponentialTable(float beta, float scale) {
    ExponentialTable table{};
    const double step = static_cast<double>(beta) * static_cast<double>(scale);
    for (size_t distance = 0; distance < table.size(); ++distance) {
        const double power = exponential(-step * static_cast<double>(distance));
        table[distance] = static_cast<uint32_t>(std::nearbyint(std::ldexp(power, 30)));
    }
    return table;
}

}  // namespace halyard::engine
