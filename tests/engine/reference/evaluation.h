// SPDX-License-Identifier: Apache-2.0
//
// Runs one node on CpuRef: values in, values out, shapes by inference or found by running.

#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/checkpoint.h"
#include "engine/base/half.h"
#include "engine/graph/shape_inference.h"
#include "engine/plan/kernel_call.h"
#include "engine/reference/kernels.h"

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

// The type of an output whose shape is for inference to find.
inline const TensorType kFloat = typeOf(DataType::FLOAT32, {});
inline const TensorType kInt32 = typeOf(DataType::INT32, {});

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

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

inline Values bools(Shape shape, const std::vector<uint8_t>& elements) {
    return pack(typeOf(DataType::BOOL8, shape), elements);
}

// Runs the kernel of a node, of whatever kind that has one.
inline Status runKernel(const NodeDescriptor& node, KernelCall& call) {
    return std::visit(
            [&](const auto& descriptor) -> Status {
                if constexpr (requires { ref::run(descriptor, call); }) {
                    return ref::run(descriptor, call);
                } else {
                    return unsupported("CpuRef has no kernel for the node");
                }
            },
            node);
}

// A node's outputs while it runs: each is followed by guard bytes, and those that running finds get
// their memory here.
class OutputMemory : public OutputAllocator {
  public:
    explicit OutputMemory(std::span<const TensorType> types) {
        mTypes.assign(types.begin(), types.end());
        mBytes.resize(types.size());
        mViews.resize(types.size());
    }

    // Memory for the outputs of known shape.
    Status prepare() {
        for (size_t i = 0; i < mTypes.size(); ++i) {
            mViews[i] = {.type = &mTypes[i], .data = nullptr};
            if (mTypes[i].shape.isFullyKnown()) {
                HALYARD_RETURN_IF_ERROR(provide(i));
            }
        }
        return {};
    }

    Result<TensorView> allocate(size_t output, const Shape& shape) override {
        EXPECT_TRUE(mBytes[output].empty()) << "asked once, for what is not known";
        HALYARD_ASSIGN_OR_RETURN(mTypes[output].shape, mergeShapes(mTypes[output].shape, shape));
        HALYARD_RETURN_IF_ERROR(provide(output));
        return mViews[output];
    }

    std::span<TensorView> views() { return mViews; }

    // The outputs, once the node has run.
    Result<std::vector<Values>> take() {
        std::vector<Values> values;
        for (size_t i = 0; i < mTypes.size(); ++i) {
            if (mBytes[i].empty()) {
                return internalError("not asked for output " + std::to_string(i));
            }
            const size_t size = mBytes[i].size() - kMargin;
            for (size_t beyond = size; beyond < mBytes[i].size(); ++beyond) {
                EXPECT_EQ(mBytes[i][beyond], kUntouched) << "beyond the end of output " << i;
            }
            mBytes[i].resize(size);
            values.push_back({.type = mTypes[i], .bytes = std::move(mBytes[i])});
        }
        return values;
    }

  private:
    static constexpr size_t kMargin = 8;
    static constexpr uint8_t kUntouched = 0xcd;

    Status provide(size_t output) {
        HALYARD_ASSIGN_OR_RETURN(const size_t size, mTypes[output].byteSize());
        mBytes[output].assign(size + kMargin, kUntouched);
        mViews[output] = {.type = &mTypes[output], .data = mBytes[output].data()};
        return {};
    }

    std::vector<TensorType> mTypes;
    std::vector<std::vector<uint8_t>> mBytes;
    std::vector<TensorView> mViews;
};

// Infers the outputs' shapes and runs the node. An absent input was left out. `outputs` are the
// types, whose shapes don't count.
inline Result<std::vector<Values>> evaluateAll(const NodeDescriptor& node,
                                               const std::vector<std::optional<Values>>& inputs,
                                               std::vector<TensorType> outputs,
                                               const Checkpoint& checkpoint = {}) {
    std::vector<ConstTensorView> views;
    for (const std::optional<Values>& input : inputs) {
        views.push_back(input.has_value()
                                ? ConstTensorView{.type = &input->type, .data = input->bytes.data()}
                                : ConstTensorView());
        if (input.has_value() && input->bytes.empty()) {
            views.back().data = &views;  // no elements, but an address
        }
    }
    HALYARD_RETURN_IF_ERROR(inferShapes(
            Node{.descriptor = node, .inputs = {}, .outputs = {}, .label = "node", .sources = {}},
            views, outputs));
    OutputMemory memory(outputs);
    HALYARD_RETURN_IF_ERROR(memory.prepare());
    KernelCall call({.inputs = views,
                     .outputs = memory.views(),
                     .allocator = &memory,
                     .checkpoint = checkpoint,
                     .memory = nullptr,
                     .constants = {}});
    HALYARD_RETURN_IF_ERROR(runKernel(node, call));
    return memory.take();
}

// The same for a node with one output; inputs at the end may be left out.
inline Result<Values> evaluate(const NodeDescriptor& node, const std::vector<Values>& inputs,
                               TensorType outputType) {
    std::vector<std::optional<Values>> all(inputs.begin(), inputs.end());
    const NodeSignature signature = signatureOf(node);
    while (all.size() < signature.inputs.size() &&
           signature.inputs[all.size()].traits == kOmittable) {
        all.emplace_back();
    }
    HALYARD_ASSIGN_OR_RETURN(std::vector<Values> outputs,
                             evaluateAll(node, all, {std::move(outputType)}));
    return std::move(outputs[0]);
}

// Whether the node is refused with INVALID_ARGUMENT and a message that holds `words`.
template <typename T>
testing::AssertionResult refused(const Result<T>& result, std::string_view words) {
    if (result.ok()) {
        return testing::AssertionFailure() << "accepted";
    }
    const bool expected = result.status().code() == StatusCode::INVALID_ARGUMENT &&
                          result.status().message().find(words) != std::string_view::npos;
    return (expected ? testing::AssertionSuccess() : testing::AssertionFailure())
           << result.status().toString();
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
// arithmetic adds: half a step for quantised types (whose ends clamp) unless told otherwise, a
// relative error for floats.
inline testing::AssertionResult approximates(const Result<Values>& result,
                                             const std::vector<double>& expected,
                                             double steps = 0.501) {
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
            tolerance = steps * static_cast<double>(type.quantization.scale);
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
