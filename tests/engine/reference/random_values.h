// SPDX-License-Identifier: Apache-2.0
//
// Random tensors for tests that compare CpuRef with a reference of their own. HALYARD_SEED sets the
// seed, which a failing test prints.

#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "tests/engine/reference/evaluation.h"

namespace halyard::engine::ref_test {

class RandomValues {
  public:
    RandomValues() : mSeed(chooseSeed()), mEngine(mSeed) {}

    std::string seedText() const { return "HALYARD_SEED=" + std::to_string(mSeed); }

    // In [low, high].
    int32_t integer(int32_t low, int32_t high) {
        return std::uniform_int_distribution<int32_t>(low, high)(mEngine);
    }
    float real(float low, float high) {
        return std::uniform_real_distribution<float>(low, high)(mEngine);
    }
    bool coin() { return integer(0, 1) == 1; }

    // A scale and, for asymmetric types, a zero point.
    TensorType quantization(DataType type, float scale) {
        const bool symmetric = type == DataType::QUANT8_SYMM || type == DataType::QUANT16_SYMM;
        return typeOf(type, {}, scale * real(0.5F, 2.0F),
                      symmetric ? 0 : integer(minValue(type), maxValue(type)));
    }

    // Elements in [-1, 1], or anything that the type can store.
    Values values(TensorType type) {
        const auto count = static_cast<size_t>(*type.shape.elementCount());
        if (isFloat(type.type)) {
            std::vector<float> elements(count);
            for (float& element : elements) {
                element = real(-1.0F, 1.0F);
            }
            return type.type == DataType::FLOAT32 ? floats(type.shape, elements)
                                                  : halves(type.shape, elements);
        }
        std::vector<int32_t> elements(count);
        for (int32_t& element : elements) {
            element = integer(minValue(type.type), maxValue(type.type));
        }
        return quantized(type, elements);
    }

  private:
    static uint32_t chooseSeed() {
        const char* chosen = std::getenv("HALYARD_SEED");
        return chosen != nullptr ? static_cast<uint32_t>(std::strtoul(chosen, nullptr, 10))
                                 : std::random_device()();
    }

    uint32_t mSeed;
    std::mt19937 mEngine;
};

}  // namespace halyard::engine::ref_test
