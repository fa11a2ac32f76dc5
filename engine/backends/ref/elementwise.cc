// SPDX-License-Identifier: Apache-2.0
//
// Functions of one element, and the choice between two.

#include <cmath>
#include <cstdint>
#include <span>

#include "engine/backends/ref/kernels.h"
#include "engine/numerics/activation_range.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/reals.h"

namespace halyard::engine::ref {
namespace {

// The function itself, on a real number. Quantised types go through it as well: dequantise, apply,
// quantise, each step in float32. That is exact where input and output share a scale and the
// function only clamps, and within one step of NNAPI's fixed point and tables otherwise.
float apply(const Activate& node, float x) {
    switch (node.function) {
        case Activate::Function::RELU:
            return activate(x, rangeOf(Activation::RELU));
        case Activate::Function::RELU1:
            return activate(x, rangeOf(Activation::RELU1));
        case Activate::Function::RELU6:
            return activate(x, rangeOf(Activation::RELU6));
        case Activate::Function::LOGISTIC:
            return 1.0F / (1.0F + std::exp(-x));
        case Activate::Function::TANH:
            return std::tanh(x);
        case Activate::Function::ELU:
            return x > 0.0F ? x : node.alpha * std::expm1(x);
        case Activate::Function::HARD_SWISH:
            return x * activate(x + 3.0F, rangeOf(Activation::RELU6)) / 6.0F;
    }
    return x;
}

float apply(Unary::Function function, float x) {
    switch (function) {
        case Unary::Function::ABS:
            return std::fabs(x);
        case Unary::Function::EXP:
            return std::exp(x);
        case Unary::Function::FLOOR:
            return std::floor(x);
        case Unary::Function::LOG:
            return std::log(x);
        case Unary::Function::LOGICAL_NOT:
            return x == 0.0F ? 1.0F : 0.0F;
        case Unary::Function::NEG:
            return -x;
        case Unary::Function::RSQRT:
            return 1.0F / std::sqrt(x);
        case Unary::Function::SIN:
            return std::sin(x);
        case Unary::Function::SQRT:
            return std::sqrt(x);
    }
    return x;
}

// ABS and NEG, modulo 2^32.
int32_t apply(Unary::Function function, int32_t x) {
    const bool keep = function == Unary::Function::ABS && x >= 0;
    return keep ? x : static_cast<int32_t>(0U - static_cast<uint32_t>(x));
}

}  // namespace

Status run(const Activate& node, KernelCall& call) {
    const RealReader x(call.input(0));
    const RealWriter output(call.output(0));
    return call.forEach(countOf(call.output(0).shape()), 1,
                        [&](int64_t i) { output.set(i, apply(node, x[i])); });
}

Status run(const Unary& node, KernelCall& call) {
    const int64_t count = countOf(call.output(0).shape());
    if (call.input(0).type->type == DataType::INT32) {
        const auto* x = call.input(0).as<int32_t>();
        auto* output = call.output(0).as<int32_t>();
        return call.forEach(count, 1, [&](int64_t i) { output[i] = apply(node.function, x[i]); });
    }
    const RealReader x(call.input(0));
    const RealWriter output(call.output(0));
    return call.forEach(count, 1, [&](int64_t i) { output.set(i, apply(node.function, x[i])); });
}

// A quantised branch whose scale is not the output's is requantised; everything else is moved.
Status run(const Select& /*node*/, KernelCall& call) {
    const auto* condition = call.input(0).as<uint8_t>();
    const TensorView& output = call.output(0);
    const int64_t count = countOf(output.shape());
    const Quantization& quantization = output.type->quantization;
    if (call.input(1).type->quantization == quantization &&
        call.input(2).type->quantization == quantization) {
        return withMovedElements(output.type->type, [&]<typename T>() -> Status {
            const T* a = call.input(1).as<T>();
            const T* b = call.input(2).as<T>();
            return call.forEach(count, 1, [&](int64_t i) {
                output.as<T>()[i] = condition[i] != 0 ? a[i] : b[i];
            });
        });
    }
    const RealReader a(call.input(1));
    const RealReader b(call.input(2));
    const RealWriter writer(output);
    return call.forEach(count, 1,
                        [&](int64_t i) { writer.set(i, condition[i] != 0 ? a[i] : b[i]); });
}

}  // namespace halyard::engine::ref
