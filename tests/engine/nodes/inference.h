// SPDX-License-Identifier: Apache-2.0
//
// Asks a node for its output shape, from types alone or with the values of an input.

#pragma once

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/shape_inference.h"

namespace halyard::engine::nodes_test {

constexpr int32_t kUnknown = kUnknownDimension;

inline TensorType floats(Shape shape) {
    return {.type = DataType::FLOAT32, .shape = shape, .quantization = {}};
}

inline TensorType ints(Shape shape) {
    return {.type = DataType::INT32, .shape = shape, .quantization = {}};
}

inline TensorType bytes(Shape shape, float scale = 0.5F, int32_t zeroPoint = 10) {
    return {.type = DataType::QUANT8_ASYMM,
            .shape = shape,
            .quantization = {.scale = scale, .zeroPoint = zeroPoint, .channelScales = {}}};
}

inline TensorType perChannel(Shape shape, std::vector<float> scales, uint32_t dim) {
    return {.type = DataType::QUANT8_SYMM_PER_CHANNEL,
            .shape = shape,
            .quantization = {.channelScales = std::move(scales), .channelDim = dim}};
}

// The types of a node's tensors; where `values` is set, it is what the last input holds.
struct Question {
    std::vector<TensorType> inputs = {};
    TensorType output = floats(Shape::unknownRank());
    const std::vector<int32_t>* values = nullptr;
};

template <typename Descriptor>
Result<Shape> infer(const Descriptor& node, const Question& question) {
    std::vector<KnownInput> inputs;
    for (const TensorType& type : question.inputs) {
        inputs.push_back({.type = &type, .data = nullptr});
    }
    if (question.values != nullptr) {
        inputs.back().data = question.values->data();
    }
    std::array<TensorType, 1> outputs = {question.output};
    HALYARD_RETURN_IF_ERROR(inferShapes(node, inputs, outputs));
    return outputs[0].shape;
}

// Whether inference gives this shape; the message of a failure otherwise.
inline testing::AssertionResult gives(const Result<Shape>& result, const Shape& shape) {
    if (!result.ok()) {
        return testing::AssertionFailure() << result.status().toString();
    }
    return (*result == shape ? testing::AssertionSuccess() : testing::AssertionFailure())
           << "gives " << result->toString() << ", not " << shape.toString();
}

// Whether inference fails with INVALID_ARGUMENT and a message that holds `words`.
template <typename T>
testing::AssertionResult rejects(const Result<T>& result, std::string_view words) {
    if (result.ok()) {
        return testing::AssertionFailure() << "accepted";
    }
    const bool expected = result.status().code() == StatusCode::INVALID_ARGUMENT &&
                          result.status().message().find(words) != std::string_view::npos;
    return (expected ? testing::AssertionSuccess() : testing::AssertionFailure())
           << result.status().toString();
}

}  // namespace halyard::engine::nodes_test
