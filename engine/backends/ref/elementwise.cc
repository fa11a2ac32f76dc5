// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <cmath>
#include <cstdint>
#include <span>

#include "engine/backends/ref/elements.h"
#include "engine/backends/ref/evaluate.h"
#include "engine/backends/ref/fused_activation.h"
#include "engine/backends/ref/index_walk.h"
#include "engine/backends/ref/progress.h"
#include "engine/backends/ref/type_support.h"

namespace halyard::engine::ref {
namespace {

// The function itself, on a real number. Quantised types go through it as well: dequantise, apply,
// quantise, each step in float32. That is exact where input and output share a scale and the
// function only clamps, and within one step of NNAPI's fixed point and tables otherwise.
float apply(Activate::Function function, float x) {
    switch (function) {
        case Activate::Function::RELU:
            return activate(x, rangeOf(Activation::RELU));
        case Activate::Function::RELU1:
            return activate(x, rangeOf(Activation::RELU1));
        case Activate::Function::RELU6:
            return activate(x, rangeOf(Activation::RELU6));
        case Activate::Function::LOGISTIC:
            return 1.0F / (1.0F + std::exp(-x));
        case Activate::Function::HARD_SWISH:
            return x * activate(x + 3.0F, rangeOf(Activation::RELU6)) / 6.0F;
    }
    return x;
}

float apply(Binary::Function function, float a, float b) {
    return function == Binary::Function::ADD ? a + b : a * b;
}

// INT32 wraps modulo 2^32.
int32_t apply(Binary::Function function, int32_t a, int32_t b) {
    const auto x = static_cast<uint32_t>(a);
    const auto y = static_cast<uint32_t>(b);
    return static_cast<int32_t>(function == Binary::Function::ADD ? x + y : x * y);
}

// ADD takes both inputs into the output's scale, each by one float32 product, and rounds their
// float32 sum once. MUL is an exact product of integers, requantised. LiteRT and NNAPI do the same
// in fixed point with 20 more bits, which comes within one step.
class QuantizedBinary {
  public:
    QuantizedBinary(Binary::Function function, const TensorType& a, const TensorType& b,
                    const TensorType& output)
        : mFunction(function),
          mZeroA(a.quantization.zeroPoint),
          mZeroB(b.quantization.zeroPoint),
          mZero(output.quantization.zeroPoint),
          mScaleA(multiplier(a.quantization.scale, 1.0F, output.quantization.scale)),
          mScaleB(multiplier(b.quantization.scale, 1.0F, output.quantization.scale)),
          mProductScale(multiplier(a.quantization.scale, b.quantization.scale,
                                   output.quantization.scale)) {}

    int32_t operator()(int32_t a, int32_t b, QuantizedRange range) const {
        const int32_t x = a - mZeroA;
        const int32_t y = b - mZeroB;
        const float value =
                mFunction == Binary::Function::ADD
                        ? static_cast<float>(x) * mScaleA + static_cast<float>(y) * mScaleB
                        : static_cast<float>(x * y) * mProductScale;
        return roundAndClamp(value, mZero, range);
    }

  private:
    Binary::Function mFunction;
    int32_t mZeroA;
    int32_t mZeroB;
    int32_t mZero;
    float mScaleA;
    float mScaleB;
    float mProductScale;
};

// output[i] = combine(a[..], b[..]) with both broadcast to the output's shape.
template <typename T, typename Combine>
Status broadcast(std::span<const ConstTensorView> inputs, const TensorView& output,
                 Progress& progress, Combine combine) {
    const T* a = inputs[0].as<T>();
    const T* b = inputs[1].as<T>();
    T* result = output.as<T>();
    const std::array<Strides, 2> strides = {broadcastStrides(inputs[0].shape(), output.shape()),
                                            broadcastStrides(inputs[1].shape(), output.shape())};
    return walk(output.shape(), strides, progress,
                [&](const std::array<int64_t, 2>& at) { *result++ = combine(a[at[0]], b[at[1]]); });
}

}  // namespace

Status supports(const Activate& /*node*/, TypeList inputs, TypeList outputs) {
    return supportTypes(inputs, outputs, isComputable);
}

Status supports(const Binary& /*node*/, TypeList inputs, TypeList outputs) {
    return supportTypes(inputs, outputs, [](DataType type) {
        return isComputable(type) || type == DataType::INT32;
    });
}

Status run(const Activate& node, std::span<const ConstTensorView> inputs,
           std::span<const TensorView> outputs, Progress& progress) {
    const ConstTensorView& x = inputs[0];
    const TensorView& output = outputs[0];
    const int64_t count = countOf(output.shape());
    if (isFloat(x.type->type)) {
        return withFloatElements(x.type->type, [&]<typename T>() -> Status {
            return progress.forEach(count, 1, [&](int64_t i) {
                output.as<T>()[i] = fromReal<T>(apply(node.function, toReal(x.as<T>()[i])));
            });
        });
    }
    return withQuantizedElements(x.type->type, [&]<typename T>() -> Status {
        return progress.forEach(count, 1, [&](int64_t i) {
            const float real = dequantize(x.as<T>()[i], x.type->quantization);
            output.as<T>()[i] = static_cast<T>(quantize(apply(node.function, real), *output.type));
        });
    });
}

Status run(const Binary& node, std::span<const ConstTensorView> inputs,
           std::span<const TensorView> outputs, Progress& progress) {
    const TensorView& output = outputs[0];
    const DataType type = output.type->type;
    if (type == DataType::INT32) {
        return broadcast<int32_t>(inputs, output, progress,
                                  [&](int32_t a, int32_t b) { return apply(node.function, a, b); });
    }
    if (isFloat(type)) {
        const RealRange range = rangeOf(node.activation);
        return withFloatElements(type, [&]<typename T>() -> Status {
            return broadcast<T>(inputs, output, progress, [&](T a, T b) {
                return fromReal<T>(activate(apply(node.function, toReal(a), toReal(b)), range));
            });
        });
    }
    const QuantizedRange range = rangeOf(node.activation, *output.type);
    const QuantizedBinary combine(node.function, *inputs[0].type, *inputs[1].type, *output.type);
    return withQuantizedElements(type, [&]<typename T>() -> Status {
        return broadcast<T>(inputs, output, progress,
                            [&](T a, T b) { return static_cast<T>(combine(a, b, range)); });
    });
}

}  // namespace halyard::engine::ref
