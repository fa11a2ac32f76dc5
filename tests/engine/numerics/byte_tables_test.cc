// SPDX-License-Identifier: Apache-2.0

#include "engine/numerics/byte_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>

namespace halyard::engine {
namespace {

using Function = Activate::Function;

TensorType typeOf(DataType type, float scale, int32_t zeroPoint) {
    return {.type = type,
            .shape = {},
            .quantization = {.scale = scale, .zeroPoint = zeroPoint, .channelScales = {}}};
}

long double realOf(Function function, long double x) {
    switch (function) {
        case Function::LOGISTIC:
            return 1 / (1 + std::exp(-x));
        case Function::TANH:
            return std::tanh(x);
        case Function::HARD_SWISH:
            return x * std::clamp<long double>(x + 3, 0, 6) / 6;
        case Function::SWISH:
            return x / (1 + std::exp(-x));
        case Function::HARD_SIGMOID:
            return std::clamp<long double>(x + 3, 0, 6) / 6;
        case Function::GELU_TANH:
            return x / 2 *
                   (1 + std::tanh(std::sqrt(2 / std::numbers::pi_v<long double>) *
                                  (x + 0.044715L * x * x * x)));
        default:
            return std::max<long double>(x, 0);
    }
}

// Every byte of both types is the nearest to the real result.
TEST(ByteTables, HaveTheNearestByte) {
    for (const Function function :
         {Function::LOGISTIC, Function::TANH, Function::HARD_SWISH, Function::SWISH,
          Function::HARD_SIGMOID, Function::GELU_TANH, Function::RELU}) {
        for (const float scale : {0.003F, 0.05F, 0.11F}) {
            for (const bool isSigned : {false, true}) {
                const TensorType input = isSigned ? typeOf(DataType::QUANT8_ASYMM_SIGNED, scale, -5)
                                                  : typeOf(DataType::QUANT8_ASYMM, scale, 131);
                const TensorType output =
                        isSigned ? typeOf(DataType::QUANT8_ASYMM_SIGNED, 1.0F / 128.0F, 3)
                                 : typeOf(DataType::QUANT8_ASYMM, 1.0F / 128.0F, 131);
                const ByteTable table =
                        activationTable(Activate{.function = function}, input, output);
                const long double lowest = isSigned ? -128 : 0;
                for (int byte = 0; byte < 256; ++byte) {
                    const int q = isSigned ? static_cast<int8_t>(byte) : byte;
                    const int at = isSigned ? static_cast<int8_t>(table[static_cast<size_t>(byte)])
                                            : table[static_cast<size_t>(byte)];
                    const long double x =
                            static_cast<long double>(scale) * (q - input.quantization.zeroPoint);
                    const long double exact =
                            std::clamp(realOf(function, x) * 128 + output.quantization.zeroPoint,
                                       lowest, lowest + 255);
                    ASSERT_LE(std::fabs(at - exact), 0.5001L)
                            << static_cast<int>(function) << " of " << q << ", scale " << scale;
                }
            }
        }
    }
}

TEST(ByteTables, HoldPowers) {
    const ExponentialTable table = exponentialTable(2.0F, 0.25F);
    EXPECT_EQ(table[0], 1U << 30);
    for (int distance = 0; distance < 256; ++distance) {
        const long double exact = std::ldexp(std::exp(-0.5L * distance), 30);
        ASSERT_LE(std::fabs(table[static_cast<size_t>(distance)] - exact), 0.5001L) << distance;
    }
}

}  // namespace
}  // namespace halyard::engine
