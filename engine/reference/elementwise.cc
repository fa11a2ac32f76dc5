// SPDX-License-Identifier: Apache-2.0
//
// Functions of one element, and the choice between two.

#include <cmath>
#include <cstdint>
#include <span>

#include "engine/numerics/byte_tables.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/reals.h"
#include "engine/reference/kernels.h"

namespace halyard::engine::ref {
namespace {

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
        case Unary::Function::ERF:
            return std::erf(x);
    }
    return x;
}

// ABS and NEG, modulo 2^32.
int32_t apply(Unary::Function function, int32_t x) {
    const bool keep = function == Unary::Function::ABS && x >= 0;
    return keep ? x : static_cast<int32_t>(0U - static_cast<uint32_t>(x));
}

Status lookUp(const ByteTable& table, KernelCall& call) {
    const auto* x = call.input(0).as<uint8_t>();
    auto* output = call.output(0).as<uint8_t>();
    return call.forEach(countOf(call.output(0).shape()), 1,
                        [&](int64_t i) { output[i] = table[x[i]]; });
}

}  // namespace

Status run(const Activate& node, KernelCall& call) {
    const int64_t count = countOf(call.output(0).shape());
    const TensorType& type = *call.input(0).type;
    if (isFloat(type.type)) {
        return withFloatElements(type.type, [&]<typename T>() -> Status {
            const T* x = call.input(0).as<T>();
            T* output = call.output(0).as<T>();
            return call.forEach(count, 1, [&](int64_t i) {
                output[i] = fromReal<T>(applyActivation(node, toReal(x[i])));
            });
        });
    }
    return lookUp(activationTable(node, type, *call.output(0).type), call);
}

Status run(const Unary& node, KernelCall& call) {
    const int64_t count = countOf(call.output(0).shape());
    if (call.input(0).type->type == DataType::INT32) {
        const auto* x = call.input(0).as<int32_t>();
        auto* output = call.output(0).as<int32_t>();
        return call.forEach(count, 1, [&](int64_t i) { output[i] = apply(node.function, x[i]); });
    }
    if (node.function == Unary::Function::RSQRT && !isFloat(call.input(0).type->type)) {
        return lookUp(rsqrtTable(*call.input(0).type, *call.output(0).type), call);
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
