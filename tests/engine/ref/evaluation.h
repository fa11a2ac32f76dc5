// SPDX-License-Identifier: Apache-2.0
//
// Runs one node on CpuRef: values in, values out, shapes by inference.

#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/backends/ref/evaluate.h"
#include "engine/backends/ref/progress.h"
#include "engine/base/half.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine::ref_test {

// A tensor with its elements. The bytes are exactly as long as the type says, so that a sanitizer
// sees every access beyond them.
struct Values {
    TensorType type;
    std::vector<uint8_t> bytes;
};

template <typename T>
Values pack(TensorType type, const std::vector<T>& elements) {
    Values values{.type = std::move(type),
                  .bytes = std::vector<uint8_t>(elements.size() * sizeof(T))};
    if (!elements.empty()) {
        std::memcpy(values.bytes.data(), elements.data(), values.bytes.size());
    }
    return values;
}

inline TensorType typeOf(DataType type, Shape shape, float scale = 0.0F, int32_t zeroPoint = 0) {
    return {.type = type,
            .shape = shape,
            .quantization = {.scale = scale, .zeroPoint = zeroPoint, .channelScales = {}}};
}

inline Values floats(Shape shape, const std::vector<float>& elements) {
    return pack(typeOf(DataType::FLOAT32, shape), elements);
}

inline Values halves(Shape shape, const std::vector<float>& elements) {
    std::vector<Half> rounded;
    for (const float element : elements) {
        rounded.push_back(toHalf(element));
    }
    return pack(typeOf(DataType::FLOAT16, shape), rounded);
}

inline Values ints(Shape shape, const std::vector<int32_t>& elements) {
    return pack(typeOf(DataType::INT32, shape), elements);
}

// Stored values of any quantised type, by its size.
inline Values quantized(const TensorType& type, const std::vector<int32_t>& elements) {
    if (elementSize(type.type) == 2) {
        return pack(type, std::vector<uint16_t>(elements.begin(), elements.end()));
    }
    return pack(type, std::vector<uint8_t>(elements.begin(), elements.end()));
}

// Where an index lies in a dense tensor.
inline size_t offsetOf(const Shape& shape, std::initializer_list<int32_t> index) {
    size_t offset = 0;
    size_t axis = 0;
    for (const int32_t position : index) {
        offset = offset * static_cast<size_t>(shape[axis++]) + static_cast<size_t>(position);
    }
    return offset;
}

// The stored numbers.
inline std::vector<double> stored(const Values& values) {
    std::vector<double> numbers;
    const size_t size = elementSize(values.type.type);
    for (size_t i = 0; i < values.bytes.size() / size; ++i) {
        const uint8_t* at = values.bytes.data() + i * size;
        const auto read = [&]<typename T>(T element) {
            std::memcpy(&element, at, sizeof element);
            return element;
        };
        switch (values.type.type) {
            case DataType::FLOAT32:
                numbers.push_back(read(float()));
                break;
            case DataType::FLOAT16:
                numbers.push_back(toFloat(read(Half())));
                break;
            case DataType::INT32:
                numbers.push_back(read(int32_t()));
                break;
            case DataType::QUANT8_ASYMM:
            case DataType::BOOL8:
                numbers.push_back(read(uint8_t()));
                break;
            case DataType::QUANT16_SYMM:
                numbers.push_back(read(int16_t()));
                break;
            case DataType::QUANT16_ASYMM:
                numbers.push_back(read(uint16_t()));
                break;
            default:
                numbers.push_back(read(int8_t()));
                break;
        }
    }
    return numbers;
}

// The real numbers that they stand for, in double precision. Not for per-channel types.
inline std::vector<double> reals(const Values& values) {
    std::vector<double> numbers = stored(values);
    if (isQuantized(values.type.type)) {
        for (double& number : numbers) {
            number = static_cast<double>(values.type.quantization.scale) *
                     (number - values.type.quantization.zeroPoint);
        }
    }
    return numbers;
}

// Runs a node without a deadline.
template <typename Descriptor>
Status runNode(const Descriptor& node, std::span<const ConstTensorView> inputs,
               const TensorView& output) {
    const std::function<bool()> never = [] { return false; };
    ref::Progress progress(never);
    return ref::run(node, inputs, {&output, 1}, progress);
}

// Asks CpuRef whether it supports the node, infers the output's shape and runs the node.
template <typename Descriptor>
Result<Values> evaluate(const Descriptor& node, const std::vector<Values>& inputs,
                        TensorType outputType) {
    std::vector<ConstTensorView> views;
    std::vector<const TensorType*> types;
    for (const Values& input : inputs) {
        views.push_back({.type = &input.type, .data = input.bytes.data()});
        types.push_back(&input.type);
    }
    std::vector<TensorType> outputs = {std::move(outputType)};
    const TensorType* outputTypes[] = {outputs.data()};
    HALYARD_RETURN_IF_ERROR(ref::supports(node, types, outputTypes));
    HALYARD_RETURN_IF_ERROR(inferShapes(node, views, outputs));
    HALYARD_ASSIGN_OR_RETURN(const size_t size, outputs[0].byteSize());
    Values result{.type = outputs[0], .bytes = std::vector<uint8_t>(size, 0xcd)};
    const TensorView view{.type = &result.type, .data = result.bytes.data()};
    HALYARD_RETURN_IF_ERROR(runNode(node, views, view));
    return result;
}

// Whether the result holds these stored numbers, to within `tolerance`.
inline testing::AssertionResult holds(const Result<Values>& result,
                                      const std::vector<double>& expected, double tolerance = 0) {
    if (!result.ok()) {
        return testing::AssertionFailure() << result.status().toString();
    }
    const std::vector<double> actual = stored(*result);
    if (actual.size() != expected.size()) {
        return testing::AssertionFailure() << actual.size() << " elements, not " << expected.size();
    }
    for (size_t i = 0; i < expected.size(); ++i) {
        const bool bothNan = actual[i] != actual[i] && expected[i] != expected[i];
        if (actual[i] != expected[i] && !bothNan &&
            !(std::abs(actual[i] - expected[i]) <= tolerance)) {
            return testing::AssertionFailure()
                   << "element " << i << " is " << actual[i] << ", not " << expected[i];
        }
    }
    return testing::AssertionSuccess();
}

// Whether every element is the best one for the real number `expected` says, but for what float32
// arithmetic adds: half a step for quantised types (whose ends clamp), a relative error for floats.
inline testing::AssertionResult approximates(const Result<Values>& result,
                                             const std::vector<double>& expected) {
    if (!result.ok()) {
        return testing::AssertionFailure() << result.status().toString();
    }
    const TensorType& type = result->type;
    const std::vector<double> actual = reals(*result);
    const std::vector<double> raw = stored(*result);
    if (actual.size() != expected.size()) {
        return testing::AssertionFailure() << actual.size() << " elements, not " << expected.size();
    }
    for (size_t i = 0; i < expected.size(); ++i) {
        double tolerance = type.type == DataType::FLOAT16 ? 1e-3 : 2e-6;
        tolerance *= 1.0 + std::abs(expected[i]);
        if (isQuantized(type.type)) {
            tolerance = 0.501 * static_cast<double>(type.quantization.scale);
            const bool clampedLow = raw[i] == minValue(type.type) && expected[i] < actual[i];
            const bool clampedHigh = raw[i] == maxValue(type.type) && expected[i] > actual[i];
            if (clampedLow || clampedHigh) {
                continue;
            }
        }
        if (!(std::abs(actual[i] - expected[i]) <= tolerance)) {
            return testing::AssertionFailure()
                   << "element " << i << " is " << actual[i] << ", not " << expected[i];
        }
    }
    return testing::AssertionSuccess();
}

}  // namespace halyard::engine::ref_test
