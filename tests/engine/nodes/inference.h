// SPDX-License-Identifier: Apache-2.0
//
// Asks a node for its output shapes, through the dispatcher: from types alone or with values.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/graph/shape_inference.h"

namespace halyard::engine::nodes_test {

constexpr int32_t kUnknown = kUnknownDimension;
constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
constexpr auto kMostAxes = static_cast<int32_t>(kMaxRank);
inline const Shape kNoRank = Shape::unknownRank();

inline Shape ones(size_t rank) {
    return Shape(std::vector<int32_t>(rank, 1));
}

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

inline TensorType typed(DataType type, Shape shape, float scale = 0.5F, int32_t zeroPoint = 0) {
    TensorType result = {.type = type, .shape = shape, .quantization = {}};
    if (type == DataType::QUANT8_SYMM_PER_CHANNEL) {
        result.quantization.channelScales =
                std::vector<float>(static_cast<size_t>(shape.rank() == 0 ? 1 : shape[0]), 0.5F);
    } else if (isQuantized(type)) {
        result.quantization.scale = scale;
        result.quantization.zeroPoint = zeroPoint;
    }
    return result;
}

inline TensorType bools(Shape shape) {
    return typed(DataType::BOOL8, shape);
}

// Asks the dispatcher, tensor by tensor: Asking(TopK{.k = 2}).with(floats({3, 4})).shape().
class Asking {
  public:
    explicit Asking(const NodeDescriptor& descriptor);

    Asking& with(TensorType type) {
        mInputs.push_back({.type = std::move(type), .values = {}, .isKnown = false});
        return *this;
    }
    // An input whose elements are known. Those that may be left out need not be said at the end.
    Asking& with(TensorType type, std::vector<int32_t> values) {
        mInputs.push_back({.type = std::move(type), .values = std::move(values), .isKnown = true});
        return *this;
    }
    // A graph's input, which a run may not bring.
    Asking& withPerhaps(TensorType type) {
        with(std::move(type));
        mInputs.back().mayBeLeftOut = true;
        return *this;
    }
    Asking& withList(std::vector<int32_t> values) {
        const auto length = static_cast<int32_t>(values.size());
        return with(ints({length}), std::move(values));
    }
    Asking& without() {
        mInputs.emplace_back();
        return *this;
    }
    // An output of that type; one of FLOAT32 where there is none.
    Asking& giving(TensorType type) {
        mOutputs.push_back(std::move(type));
        return *this;
    }

    Result<std::vector<Shape>> shapes() const;
    // Of the first output.
    Result<Shape> shape() const;

  private:
    struct Input {
        std::optional<TensorType> type;
        std::vector<int32_t> values;
        bool isKnown = false;
        bool mayBeLeftOut = false;
    };

    std::shared_ptr<const Node> mNode;
    std::vector<Input> mInputs;
    std::vector<TensorType> mOutputs;
};

// The names of the element types for which `ask(type)`, a Result, succeeds.
template <typename Ask>
std::string accepted(Ask ask) {
    std::string names;
    for (uint8_t i = 0; i <= static_cast<uint8_t>(DataType::QUANT16_ASYMM); ++i) {
        const auto type = static_cast<DataType>(i);
        if (ask(type).ok()) {
            names.append(names.empty() ? "" : " ").append(toString(type));
        }
    }
    return names;
}
inline constexpr const char* kFloatNames = "FLOAT32 FLOAT16";
inline constexpr const char* kRealNames = "FLOAT32 FLOAT16 QUANT8_ASYMM QUANT8_ASYMM_SIGNED";
inline constexpr const char* kNumberNames =
        "FLOAT32 FLOAT16 INT32 QUANT8_ASYMM QUANT8_ASYMM_SIGNED";
inline constexpr const char* kMovableNames =
        "FLOAT32 FLOAT16 INT32 BOOL8 QUANT8_ASYMM QUANT8_ASYMM_SIGNED QUANT8_SYMM QUANT16_SYMM "
        "QUANT16_ASYMM";

// For a node of one input: the types that it takes and gives back.
std::string acceptedAlone(const NodeDescriptor& node, Shape shape = {2, 2});

// The types of a node's tensors; where `values` is set, it is what the last input holds.
struct Question {
    std::vector<TensorType> inputs = {};
    TensorType output = floats(Shape::unknownRank());
    const std::vector<int32_t>* values = nullptr;
};

Result<Shape> infer(const NodeDescriptor& node, const Question& question);

// Whether inference gives this shape; the message of a failure otherwise.
inline testing::AssertionResult gives(const Result<Shape>& result, const Shape& shape) {
    if (!result.ok()) {
        return testing::AssertionFailure() << result.status().toString();
    }
    return (*result == shape ? testing::AssertionSuccess() : testing::AssertionFailure())
           << "gives " << result->toString() << ", not " << shape.toString();
}

inline testing::AssertionResult gives(const Result<std::vector<Shape>>& result,
                                      const std::vector<Shape>& shapes) {
    if (!result.ok()) {
        return testing::AssertionFailure() << result.status().toString();
    }
    testing::AssertionResult verdict =
            *result == shapes ? testing::AssertionSuccess() : testing::AssertionFailure();
    for (const Shape& shape : *result) {
        verdict << shape.toString() << " ";
    }
    return verdict;
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
