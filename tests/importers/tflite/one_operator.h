// SPDX-License-Identifier: Apache-2.0
//
// A model of one operator whose input counts from 0.

#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "tests/importers/tflite/model_builder.h"

namespace halyard::tflite {

using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

inline Floats counted(size_t count) {
    Floats values(count);
    std::iota(values.begin(), values.end(), 0.0F);
    return values;
}

inline bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

struct OfOne {
    ModelBuilder builder;
    int32_t x = 0;
    std::vector<int32_t> outputs;

    explicit OfOne(const Extents& shape, size_t results = 1) {
        x = builder.input(ElementType::FLOAT32, shape);
        for (size_t i = 0; i < results; ++i) {
            addOutput(ElementType::FLOAT32);
        }
    }
    int32_t addOutput(ElementType type) {
        outputs.push_back(builder.tensor(type, {}));
        builder.output(outputs.back());
        return outputs.back();
    }
    Outcome run() {
        size_t count = 1;
        for (const int32_t extent : builder.graph().tensors[static_cast<size_t>(x)].shape) {
            count *= static_cast<size_t>(extent);
        }
        return tflite::run(builder.model(), {{x, bytesOf(counted(count))}});
    }
    std::string reason() { return reasonOf(builder.model()); }
};

}  // namespace halyard::tflite
