// SPDX-License-Identifier: Apache-2.0
//
// From one element type to another: by the real number, or by the stored one.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/elementwise/conversions.cc"
#include "engine/backends/cpu/vectors/targets.h"
// Read for each instruction set.
#include "engine/backends/cpu/vectors/lanes-inl.h"

#include <limits>

#include "engine/backends/cpu/kernels/chunks.h"
#include "engine/backends/cpu/kernels/kernels.h"
#include "engine/backends/cpu/kernels/plain_kernel.h"
#include "engine/backends/cpu/kernels/strided_copy.h"

#ifndef HALYARD_ENGINE_BACKENDS_CPU_CONVERSIONS_CC_
#define HALYARD_ENGINE_BACKENDS_CPU_CONVERSIONS_CC_
namespace halyard::engine::cpu {

// `from` and `to` point at elements of these types.
struct Conversion {
    TensorType from;
    TensorType to;
};
using Convert = void (*)(const Conversion& conversion, const void* from, void* to, int64_t count);
struct Conversions {
    Convert dequantize;
    Convert quantize;
    Convert cast;
};

}  // namespace halyard::engine::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

// Calls body(T()) for the type that stores elements, of those that are converted.
template <typename Body>
HWY_INLINE void withStored(DataType type, Body body) {
    switch (type) {
        case DataType::FLOAT16:
            return body(Half());
        case DataType::INT32:
            return body(int32_t());
        case DataType::QUANT8_ASYMM:
            return body(uint8_t());
        case DataType::QUANT8_ASYMM_SIGNED:
        case DataType::QUANT8_SYMM:
            return body(int8_t());
        default:
            return body(float());
    }
}

void dequantize(const Conversion& conversion, const void* from, void* to, int64_t count) {
    const IntVector zero = hn::Set(kInts, conversion.from.quantization.zeroPoint);
    const FloatVector scale = hn::Set(kFloats, conversion.from.quantization.scale);
    const auto convert = [&]<typename From, typename To>(From, To) HWY_ATTR {
        forEachVector(count, [&](int64_t i, auto there) HWY_ATTR {
            const IntVector x = loadInts(static_cast<const From*>(from) + i, there);
            const FloatVector steps = hn::ConvertTo(kFloats, hn::Sub(x, zero));
            storeFloats(hn::Mul(scale, steps), static_cast<To*>(to) + i, there);
        });
    };
    const bool halves = conversion.to.type == DataType::FLOAT16;
    const bool isSigned = conversion.from.type != DataType::QUANT8_ASYMM;
    if (isSigned) {
        halves ? convert(int8_t(), Half()) : convert(int8_t(), float());
    } else {
        halves ? convert(uint8_t(), Half()) : convert(uint8_t(), float());
    }
}

void quantize(const Conversion& conversion, const void* from, void* to, int64_t count) {
    const Rounding round(conversion.to.quantization.zeroPoint, rangeOf(conversion.to.type));
    const FloatVector scale = hn::Set(kFloats, conversion.to.quantization.scale);
    const auto convert = [&]<typename From>(From) HWY_ATTR {
        forEachVector(count, [&](int64_t i, auto there) HWY_ATTR {
            const FloatVector x = loadFloats(static_cast<const From*>(from) + i, there);
            storeInts(round(hn::Div(x, scale)), static_cast<uint8_t*>(to) + i, there);
        });
    };
    conversion.from.type == DataType::FLOAT16 ? convert(Half()) : convert(float());
}

// As C converts: towards zero, to the nearest number there is, NaN to 0.
template <typename To, typename Count>
HWY_INLINE void storeCast(FloatVector value, To* to, Count there) {
    if constexpr (std::is_integral_v<To>) {
        value = hn::IfThenElseZero(hn::Eq(value, value), value);
        IntVector number = hn::ConvertTo(kInts, value);
        if constexpr (std::is_same_v<To, uint8_t>) {
            number = hn::Min(hn::Max(number, hn::Zero(kInts)), hn::Set(kInts, 255));
        }
        storeInts(number, to, there);
    } else {
        storeFloats(value, to, there);
    }
}

void cast(const Conversion& conversion, const void* from, void* to, int64_t count) {
    withStored(conversion.from.type, [&]<typename From>(From) HWY_ATTR {
        withStored(conversion.to.type, [&]<typename To>(To) HWY_ATTR {
            forEachVector(count, [&](int64_t i, auto there) HWY_ATTR {
                storeCast(loadFloats(static_cast<const From*>(from) + i, there),
                          static_cast<To*>(to) + i, there);
            });
        });
    });
}

}  // namespace

const Conversions* conversions() {
    static const Conversions kForm = {.dequantize = dequantize, .quantize = quantize, .cast = cast};
    return &kForm;
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {
namespace {

Status convertAll(const Conversion& conversion, Convert form, KernelCall& call) {
    const auto* from = call.input(0).as<std::byte>();
    auto* to = call.output(0).as<std::byte>();
    const auto fromSize = static_cast<int64_t>(elementSize(conversion.from.type));
    const auto toSize = static_cast<int64_t>(elementSize(conversion.to.type));
    return forEachChunk(call, kChunk / 4, [&](int64_t first, int64_t count) {
        form(conversion, from + first * fromSize, to + first * toSize, count);
    });
}

Result<std::unique_ptr<const StepKernel>> compileConversion(const KernelArguments& arguments,
                                                            InstructionSet set, Convert form) {
    const Conversion conversion = {.from = inputType(arguments.graph, arguments.node),
                                   .to = outputType(arguments.graph, arguments.node)};
    return plainKernel(arguments, toString(set), [conversion, form](KernelCall& call) {
        return convertAll(conversion, form, call);
    });
}

}  // namespace

Status supports(const Dequantize& /*node*/, const Graph& graph, const Node& whole) {
    const DataType type = inputType(graph, whole).type;
    if (!isOfBytes(type) && type != DataType::QUANT8_SYMM) {
        return unsupported("dequantises 8-bit types with one scale, not " +
                           std::string(toString(type)));
    }
    return {};
}
Result<std::unique_ptr<const StepKernel>> compile(const Dequantize& /*node*/,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    return compileConversion(arguments, target.set,
                             HALYARD_CPU_CHOOSE(target.set, conversions)()->dequantize);
}

Status supports(const Quantize& /*node*/, const Graph& /*graph*/, const Node& /*whole*/) {
    return {};
}
Result<std::unique_ptr<const StepKernel>> compile(const Quantize& /*node*/,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    return compileConversion(arguments, target.set,
                             HALYARD_CPU_CHOOSE(target.set, conversions)()->quantize);
}

Status supports(const Cast& /*node*/, const Graph& /*graph*/, const Node& /*whole*/) {
    return {};
}
Result<std::unique_ptr<const StepKernel>> compile(const Cast& /*node*/,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    const TensorType& from = inputType(arguments.graph, arguments.node);
    if (from.type != outputType(arguments.graph, arguments.node).type) {
        return compileConversion(arguments, target.set,
                                 HALYARD_CPU_CHOOSE(target.set, conversions)()->cast);
    }
    return plainKernel(arguments, {}, [set = target.set](KernelCall& call) -> Status {
        HALYARD_ASSIGN_OR_RETURN(const size_t bytes, call.output(0).type->byteSize());
        StridedCopy copy;
        copy.addAxis(static_cast<int64_t>(bytes), 1, 1);
        return copy.run(call, 1, call.input(0).data, call.output(0).data, set);
    });
}

}  // namespace halyard::engine::cpu
#endif
