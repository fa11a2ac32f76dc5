// SPDX-License-Identifier: Apache-2.0
//
// Functions of two elements, with broadcasting.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/numerics/activation_range.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/index_walk.h"
#include "engine/numerics/reals.h"
#include "engine/numerics/scaled_sum.h"
#include "engine/reference/kernels.h"

namespace halyard::engine::ref {
namespace {

using Function = Binary::Function;

// A NaN among two numbers is their maximum and their minimum, as IEEE 754 has it.
float maximum(float a, float b) {
    return std::isnan(a) || a >= b ? a : b;
}
float minimum(float a, float b) {
    return std::isnan(a) || a <= b ? a : b;
}

float apply(Function function, float a, float b) {
    switch (function) {
        case Function::ADD:
            return a + b;
        case Function::MUL:
            return a * b;
        case Function::SUB:
            return a - b;
        case Function::DIV:
            return a / b;
        case Function::MAXIMUM:
            return maximum(a, b);
        case Function::MINIMUM:
            return minimum(a, b);
        case Function::POW:
            return std::pow(a, b);
        case Function::PRELU:
            return a >= 0.0F ? a : a * b;
        case Function::LOGICAL_AND:
            return a != 0.0F && b != 0.0F ? 1.0F : 0.0F;
        case Function::LOGICAL_OR:
            return a != 0.0F || b != 0.0F ? 1.0F : 0.0F;
    }
    return a;
}

// Rounds towards minus infinity; the quotient of any number and 0 is 0.
int32_t floorDivide(int32_t a, int32_t b) {
    if (b == 0) {
        return 0;
    }
    const int64_t quotient = static_cast<int64_t>(a) / b;
    const bool roundedUp = static_cast<int64_t>(a) % b != 0 && (a < 0) != (b < 0);
    return static_cast<int32_t>(roundedUp ? quotient - 1 : quotient);
}

// INT32 wraps modulo 2^32.
int32_t apply(Function function, int32_t a, int32_t b) {
    const auto x = static_cast<uint32_t>(a);
    const auto y = static_cast<uint32_t>(b);
    switch (function) {
        case Function::ADD:
            return static_cast<int32_t>(x + y);
        case Function::MUL:
            return static_cast<int32_t>(x * y);
        case Function::SUB:
            return static_cast<int32_t>(x - y);
        case Function::DIV:
            return floorDivide(a, b);
        case Function::MAXIMUM:
            return std::max(a, b);
        default:
            return std::min(a, b);
    }
}

// ADD and SUB follow scaled_sum.h. MUL is an exact product of integers, requantised.
class QuantizedBinary {
  public:
    QuantizedBinary(Function function, const TensorType& a, const TensorType& b,
                    const TensorType& output)
        : mFunction(function),
          mZeroA(a.quantization.zeroPoint),
          mZeroB(b.quantization.zeroPoint),
          mZero(output.quantization.zeroPoint),
          mSum(ScaledSum::of(multiplier(a.quantization.scale, 1.0F, output.quantization.scale),
                             multiplier(b.quantization.scale, 1.0F, output.quantization.scale))),
          mFarSum(FarScaledSum::of(a.quantization.scale, b.quantization.scale,
                                   output.quantization.scale)),
          mProductScale(multiplier(a.quantization.scale, b.quantization.scale,
                                   output.quantization.scale)) {}

    static bool knows(Function function) {
        return function == Function::ADD || function == Function::SUB || function == Function::MUL;
    }

    int32_t operator()(int32_t a, int32_t b, QuantizedRange range) const {
        const int32_t x = a - mZeroA;
        const int32_t y = b - mZeroB;
        if (mFunction == Function::MUL) {
            return roundAndClamp(static_cast<float>(x * y) * mProductScale, mZero, range);
        }
        const int32_t addend = mFunction == Function::SUB ? -y : y;
        return mSum ? std::clamp((*mSum)(x, addend) + mZero, range.low, range.high)
                    : mFarSum(x, addend, mZero, range);
    }

  private:
    Function mFunction;
    int32_t mZeroA;
    int32_t mZeroB;
    int32_t mZero;
    std::optional<ScaledSum> mSum;
    FarScaledSum mFarSum;
    float mProductScale;
};

// Calls body(i, a, b) for every element of the output: with its index and those of the elements of
// the inputs, broadcast to the output's shape, that it is made of.
template <typename Body>
Status broadcast(KernelCall& call, Body body) {
    const Shape& output = call.output(0).shape();
    const std::array<Strides, 2> strides = {broadcastStrides(call.input(0).shape(), output),
                                            broadcastStrides(call.input(1).shape(), output)};
    int64_t index = 0;
    return walk(output, strides, call,
                [&](const std::array<int64_t, 2>& at) { body(index++, at[0], at[1]); });
}

// The same with the elements themselves: output[i] = combine(a, b).
template <typename T, typename Combine>
Status combineElements(KernelCall& call, Combine combine) {
    const T* a = call.input(0).as<T>();
    const T* b = call.input(1).as<T>();
    T* output = call.output(0).as<T>();
    return broadcast(call, [&](int64_t i, int64_t atA, int64_t atB) {
        output[i] = combine(a[atA], b[atB]);
    });
}

template <typename T>
bool compare(Compare::Function function, T a, T b) {
    switch (function) {
        case Compare::Function::EQUAL:
            return a == b;
        case Compare::Function::NOT_EQUAL:
            return a != b;
        case Compare::Function::LESS:
            return a < b;
        case Compare::Function::LESS_EQUAL:
            return a <= b;
        case Compare::Function::GREATER:
            return a > b;
        case Compare::Function::GREATER_EQUAL:
            return a >= b;
    }
    return false;
}

}  // namespace

Status run(const Binary& node, KernelCall& call) {
    const TensorView& output = call.output(0);
    const DataType type = output.type->type;
    if (type == DataType::INT32) {
        return combineElements<int32_t>(
                call, [&](int32_t a, int32_t b) { return apply(node.function, a, b); });
    }
    const RealRange range = rangeOf(node.activation);
    if (isFloat(type)) {
        return withFloatElements(type, [&]<typename T>() -> Status {
            return combineElements<T>(call, [&](T a, T b) {
                return fromReal<T>(activate(apply(node.function, toReal(a), toReal(b)), range));
            });
        });
    }
    if (isQuantized(type) && QuantizedBinary::knows(node.function)) {
        const QuantizedRange bounds = rangeOf(node.activation, *output.type);
        const QuantizedBinary combine(node.function, *call.input(0).type, *call.input(1).type,
                                      *output.type);
        return withQuantizedElements(type, [&]<typename T>() -> Status {
            return combineElements<T>(
                    call, [&](T a, T b) { return static_cast<T>(combine(a, b, bounds)); });
        });
    }
    const RealReader a(call.input(0));
    const RealReader b(call.input(1));
    const RealWriter writer(output);
    return broadcast(call, [&](int64_t i, int64_t atA, int64_t atB) {
        writer.set(i, activate(apply(node.function, a[atA], b[atB]), range));
    });
}

Status run(const Compare& node, KernelCall& call) {
    auto* output = call.output(0).as<uint8_t>();
    if (call.input(0).type->type == DataType::INT32) {
        const auto* a = call.input(0).as<int32_t>();
        const auto* b = call.input(1).as<int32_t>();
        return broadcast(call, [&](int64_t i, int64_t atA, int64_t atB) {
            output[i] = compare(node.function, a[atA], b[atB]) ? 1 : 0;
        });
    }
    const RealReader a(call.input(0));
    const RealReader b(call.input(1));
    return broadcast(call, [&](int64_t i, int64_t atA, int64_t atB) {
        output[i] = compare(node.function, a[atA], b[atB]) ? 1 : 0;
    });
}

}  // namespace halyard::engine::ref
