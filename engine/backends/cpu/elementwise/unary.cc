// SPDX-License-Identifier: Apache-2.0
//
// Functions of one element that are no activations.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/elementwise/unary.cc"
#include "engine/backends/cpu/vectors/targets.h"
// Read for each instruction set.
#include "engine/backends/cpu/vectors/exponential-inl.h"
#include "engine/backends/cpu/vectors/lanes-inl.h"

#include <cmath>

#include "engine/backends/cpu/elementwise/byte_lookup.h"
#include "engine/backends/cpu/elementwise/element_forms.h"
#include "engine/backends/cpu/kernels/chunks.h"
#include "engine/backends/cpu/kernels/kernels.h"
#include "engine/backends/cpu/kernels/plain_kernel.h"

#ifndef HALYARD_ENGINE_BACKENDS_CPU_UNARY_CC_
#define HALYARD_ENGINE_BACKENDS_CPU_UNARY_CC_
namespace halyard::engine::cpu {

using ApplyUnary = void (*)(Unary::Function function, const void* from, void* to, int64_t count);

}  // namespace halyard::engine::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

using Function = Unary::Function;

// One after the other, by the C library's function, for what no network does much of.
template <typename Scalar>
HWY_INLINE FloatVector eachLane(FloatVector x, Scalar scalar) {
    alignas(64) float lanes[kMostLanes];
    hn::Store(x, kFloats, lanes);
    for (size_t i = 0; i < hn::Lanes(kFloats); ++i) {
        lanes[i] = scalar(lanes[i]);
    }
    return hn::Load(kFloats, lanes);
}

template <typename T>
void applyToFloats(Function function, const void* from, void* to, int64_t count) {
    const auto apply = [&](auto each) HWY_ATTR {
        forEachVector(count, [&](int64_t i, auto there) HWY_ATTR {
            storeFloats(each(loadFloats(static_cast<const T*>(from) + i, there)),
                        static_cast<T*>(to) + i, there);
        });
    };
    switch (function) {
        case Function::ABS:
            return apply([](FloatVector x) HWY_ATTR { return hn::Abs(x); });
        case Function::ERF:
            return apply([](FloatVector x) HWY_ATTR { return errorFunction(x); });
        case Function::EXP:
            return apply([](FloatVector x) HWY_ATTR { return exponential(x); });
        case Function::FLOOR:
            return apply([](FloatVector x) HWY_ATTR { return hn::Floor(x); });
        case Function::LOG:
            return apply([](FloatVector x) HWY_ATTR { return logarithm(x); });
        case Function::NEG:
            return apply([](FloatVector x) HWY_ATTR { return hn::Neg(x); });
        case Function::RSQRT:
            return apply([](FloatVector x)
                                 HWY_ATTR { return hn::Div(hn::Set(kFloats, 1.0F), hn::Sqrt(x)); });
        case Function::SIN:
            return apply([](FloatVector x) HWY_ATTR {
                return eachLane(x, [](float value) { return std::sin(value); });
            });
        default:  // SQRT
            return apply([](FloatVector x) HWY_ATTR { return hn::Sqrt(x); });
    }
}

// ABS and NEG, modulo 2^32.
void applyToInts(Function function, const void* from, void* to, int64_t count) {
    forEachVector(count, [&](int64_t i, auto there) HWY_ATTR {
        const IntVector x = loadInts(static_cast<const int32_t*>(from) + i, there);
        const IntVector minus = hn::Sub(hn::Zero(kInts), x);
        const IntVector y = function == Function::NEG
                                    ? minus
                                    : hn::IfThenElse(hn::Lt(x, hn::Zero(kInts)), minus, x);
        storeInts(y, static_cast<int32_t*>(to) + i, there);
    });
}

// LOGICAL_NOT.
void negateBools(Function /*function*/, const void* from, void* to, int64_t count) {
    forEachVector(count, [&](int64_t i, auto there) HWY_ATTR {
        const IntVector x = loadInts(static_cast<const uint8_t*>(from) + i, there);
        const auto isFalse = hn::Eq(x, hn::Zero(kInts));
        storeInts(hn::IfThenElseZero(isFalse, hn::Set(kInts, 1)), static_cast<uint8_t*>(to) + i,
                  there);
    });
}

}  // namespace

const ElementForms<ApplyUnary>* unaryForms() {
    static const ElementForms<ApplyUnary> kForms = {.floats = applyToFloats<float>,
                                                    .halves = applyToFloats<Half>,
                                                    .unsignedBytes = negateBools,
                                                    .ints = applyToInts};
    return &kForms;
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {

Status supports(const Unary& /*node*/, const Graph& /*graph*/, const Node& /*whole*/) {
    return {};
}

Result<std::unique_ptr<const StepKernel>> compile(const Unary& node,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    const TensorType& x = inputType(arguments.graph, arguments.node);
    if (isOfBytes(x.type)) {  // no other function takes them
        return byteLookupKernel(
                arguments, rsqrtTable(x, outputType(arguments.graph, arguments.node)), target.set);
    }
    const DataType type = x.type;
    const ApplyUnary form = HALYARD_CPU_CHOOSE(target.set, unaryForms)()->of(type);
    return plainKernel(arguments, toString(target.set), [node, form, type](KernelCall& call) {
        const auto size = static_cast<int64_t>(elementSize(type));
        const auto* from = call.input(0).as<std::byte>();
        auto* to = call.output(0).as<std::byte>();
        return forEachChunk(call, kChunk, [&](int64_t first, int64_t count) {
            form(node.function, from + first * size, to + first * size, count);
        });
    });
}

}  // namespace halyard::engine::cpu
#endif
