// SPDX-License-Identifier: Apache-2.0
//
// Functions of two elements, with broadcasting.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/elementwise/binary.cc"
#include "engine/backends/cpu/vectors/targets.h"
// Read for each instruction set.
#include "engine/backends/cpu/elementwise/added_bytes-inl.h"
#include "engine/backends/cpu/elementwise/broadcast-inl.h"

#include <cmath>
#include <limits>
#include <optional>

#include "engine/backends/cpu/elementwise/element_forms.h"
#include "engine/backends/cpu/kernels/epilogue.h"
#include "engine/backends/cpu/kernels/kernels.h"
#include "engine/backends/cpu/kernels/plain_kernel.h"
#include "engine/numerics/activation_range.h"
#include "engine/numerics/scaled_sum.h"

#ifndef HALYARD_ENGINE_BACKENDS_CPU_BINARY_CC_
#define HALYARD_ENGINE_BACKENDS_CPU_BINARY_CC_
namespace halyard::engine::cpu {

// The numbers that 8-bit elements are combined with.
struct QuantizedCombination {
    Quantization a;
    Quantization b;
    Quantization output;
    QuantizedRange type;    // what the output can hold
    QuantizedRange bounds;  // the same, activated
    float productRatio = 0.0F;
    std::optional<ScaledSum> sum;  // there for ADD and SUB

    ByteAddition addition(bool subtracts) const {
        ScaledSum own = *sum;
        own.multiplierB = subtracts ? -own.multiplierB : own.multiplierB;
        return {.sum = own,
                .zeroA = a.zeroPoint,
                .zeroB = b.zeroPoint,
                .zero = output.zeroPoint,
                .bounds = bounds};
    }
};

struct Combination {
    Binary::Function function = Binary::Function::ADD;
    RealRange range;
    QuantizedCombination quantized;
};

using Combine = void (*)(const Combination& combination, const CombinedRow& row);
struct CombineForms {
    ElementForms<Combine> rows;
    Combine bools;
};

}  // namespace halyard::engine::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

using Function = Binary::Function;

// One after the other: Highway has no such function.
HWY_INLINE FloatVector power(FloatVector a, FloatVector b) {
    alignas(64) float bases[kMostLanes];
    alignas(64) float exponents[kMostLanes];
    hn::Store(a, kFloats, bases);
    hn::Store(b, kFloats, exponents);
    for (size_t i = 0; i < hn::Lanes(kFloats); ++i) {
        bases[i] = std::pow(bases[i], exponents[i]);
    }
    return hn::Load(kFloats, bases);
}

// The power for one exponent, where a few products or a root are it.
enum class PowerForm : uint8_t { ANY, ITSELF, SQUARE, CUBE, ROOT, INVERSE };

template <typename T>
PowerForm powerFormOf(const Combination& combination, const CombinedRow& row) {
    if (combination.function != Function::POW || !row.repeatsB) {
        return PowerForm::ANY;
    }
    const float exponent = toReal(*static_cast<const T*>(row.b));
    return exponent == 1.0F    ? PowerForm::ITSELF
           : exponent == 2.0F  ? PowerForm::SQUARE
           : exponent == 3.0F  ? PowerForm::CUBE
           : exponent == 0.5F  ? PowerForm::ROOT
           : exponent == -1.0F ? PowerForm::INVERSE
                               : PowerForm::ANY;
}

HWY_INLINE FloatVector power(FloatVector x, PowerForm form) {
    const FloatVector infinity = hn::Set(kFloats, std::numeric_limits<float>::infinity());
    switch (form) {
        case PowerForm::SQUARE:
            return hn::Mul(x, x);
        case PowerForm::CUBE:
            return hn::Mul(hn::Mul(x, x), x);
        case PowerForm::ROOT:
            // The power of -0 is 0, and that of minus infinity is infinity.
            return hn::IfThenElse(hn::Eq(x, hn::Neg(infinity)), infinity,
                                  hn::Sqrt(hn::Add(x, hn::Zero(kFloats))));
        case PowerForm::INVERSE:
            return hn::Div(hn::Set(kFloats, 1.0F), x);
        default:
            return x;
    }
}

// Calls body(function of two vectors of real numbers).
template <typename Body>
HWY_INLINE void withRealFunction(Function function, Body body) {
    switch (function) {
        case Function::ADD:
            return body([](FloatVector a, FloatVector b) HWY_ATTR { return hn::Add(a, b); });
        case Function::SUB:
            return body([](FloatVector a, FloatVector b) HWY_ATTR { return hn::Sub(a, b); });
        case Function::MUL:
            return body([](FloatVector a, FloatVector b) HWY_ATTR { return hn::Mul(a, b); });
        case Function::DIV:
            return body([](FloatVector a, FloatVector b) HWY_ATTR { return hn::Div(a, b); });
        case Function::MAXIMUM:
            return body([](FloatVector a, FloatVector b) HWY_ATTR {
                return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::Ge(a, b)), a, b);
            });
        case Function::MINIMUM:
            return body([](FloatVector a, FloatVector b) HWY_ATTR {
                return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::Le(a, b)), a, b);
            });
        case Function::POW:
            return body([](FloatVector a, FloatVector b) HWY_ATTR { return power(a, b); });
        default:  // PRELU
            return body([](FloatVector a, FloatVector b) HWY_ATTR {
                return hn::IfThenElse(hn::Ge(a, hn::Zero(kFloats)), a, hn::Mul(a, b));
            });
    }
}

template <typename T>
void combineFloats(const Combination& combination, const CombinedRow& row) {
    const FloatVector low = hn::Set(kFloats, combination.range.low);
    const FloatVector high = hn::Set(kFloats, combination.range.high);
    const auto combine = [&](auto function) HWY_ATTR {
        combineRow<T, T>(
                row, [](const T* from, auto there) HWY_ATTR { return loadFloats(from, there); },
                [&](FloatVector a, FloatVector b)
                        HWY_ATTR { return clampLanes(function(a, b), low, high); },
                [](FloatVector value, T* to, auto there)
                        HWY_ATTR { storeFloats(value, to, there); });
    };
    if (const PowerForm form = powerFormOf<T>(combination, row); form != PowerForm::ANY) {
        return combine([form](FloatVector a, FloatVector /*b*/)
                               HWY_ATTR { return power(a, form); });
    }
    withRealFunction(combination.function, combine);
}

// By scaled_sum.h.
template <typename T>
void addBytes(const Combination& combination, const CombinedRow& row) {
    const QuantizedCombination& numbers = combination.quantized;
    const bool subtracts = combination.function == Function::SUB;
    const IntVector zeroA = hn::Set(kInts, numbers.a.zeroPoint);
    const IntVector zeroB = hn::Set(kInts, numbers.b.zeroPoint);
    const auto load = [](const T* from, auto there) HWY_ATTR { return loadInts(from, there); };
    const auto store = [](IntVector value, T* to, auto there)
                               HWY_ATTR { storeInts(value, to, there); };
    const ScaledSum& sum = *numbers.sum;
    const IntVector multiplierA = hn::Set(kInts, sum.multiplierA);
    const IntVector multiplierB = hn::Set(kInts, subtracts ? -sum.multiplierB : sum.multiplierB);
    const IntVector half = hn::Set(kInts, 1 << (sum.shift - 1));
    const IntVector zero = hn::Set(kInts, numbers.output.zeroPoint);
    const IntVector low = hn::Set(kInts, numbers.bounds.low);
    const IntVector high = hn::Set(kInts, numbers.bounds.high);
    combineRow<T, T>(
            row, load,
            [&](IntVector a, IntVector b) HWY_ATTR {
                const IntVector x = hn::Mul(hn::Sub(a, zeroA), multiplierA);
                const IntVector y = hn::Mul(hn::Sub(b, zeroB), multiplierB);
                const IntVector steps = hn::ShiftRightSame(hn::Add(hn::Add(x, y), half), sum.shift);
                return hn::Min(hn::Max(hn::Add(steps, zero), low), high);
            },
            store);
}

template <typename T>
void multiplyBytes(const Combination& combination, const CombinedRow& row) {
    const QuantizedCombination& numbers = combination.quantized;
    const IntVector zeroA = hn::Set(kInts, numbers.a.zeroPoint);
    const IntVector zeroB = hn::Set(kInts, numbers.b.zeroPoint);
    const FloatVector ratio = hn::Set(kFloats, numbers.productRatio);
    const Rounding round(numbers.output.zeroPoint, numbers.bounds);
    combineRow<T, T>(
            row, [](const T* from, auto there) HWY_ATTR { return loadInts(from, there); },
            [&](IntVector a, IntVector b) HWY_ATTR {
                const IntVector product = hn::Mul(hn::Sub(a, zeroA), hn::Sub(b, zeroB));
                return round(hn::Mul(hn::ConvertTo(kFloats, product), ratio));
            },
            [](IntVector value, T* to, auto there) HWY_ATTR { storeInts(value, to, there); });
}

// Through the real numbers.
template <typename T>
void combineReals(const Combination& combination, const CombinedRow& row) {
    const QuantizedCombination& numbers = combination.quantized;
    const IntVector zeroA = hn::Set(kInts, numbers.a.zeroPoint);
    const IntVector zeroB = hn::Set(kInts, numbers.b.zeroPoint);
    const FloatVector scaleA = hn::Set(kFloats, numbers.a.scale);
    const FloatVector scaleB = hn::Set(kFloats, numbers.b.scale);
    const FloatVector scale = hn::Set(kFloats, numbers.output.scale);
    const FloatVector low = hn::Set(kFloats, combination.range.low);
    const FloatVector high = hn::Set(kFloats, combination.range.high);
    const Rounding round(numbers.output.zeroPoint, numbers.type);
    withRealFunction(combination.function, [&](auto function) HWY_ATTR {
        combineRow<T, T>(
                row, [](const T* from, auto there) HWY_ATTR { return loadInts(from, there); },
                [&](IntVector a, IntVector b) HWY_ATTR {
                    const FloatVector x =
                            hn::Mul(scaleA, hn::ConvertTo(kFloats, hn::Sub(a, zeroA)));
                    const FloatVector y =
                            hn::Mul(scaleB, hn::ConvertTo(kFloats, hn::Sub(b, zeroB)));
                    return round(hn::Div(clampLanes(function(x, y), low, high), scale));
                },
                [](IntVector value, T* to, auto there) HWY_ATTR { storeInts(value, to, there); });
    });
}

template <typename T>
void combineBytes(const Combination& combination, const CombinedRow& row) {
    switch (combination.function) {
        case Function::ADD:
        case Function::SUB:
            return addBytes<T>(combination, row);
        case Function::MUL:
            return multiplyBytes<T>(combination, row);
        default:
            return combineReals<T>(combination, row);
    }
}

#if HWY_TARGET == HWY_AVX3
// With dot products. Rows that repeat an element are rare.
template <typename T>
void combineBytesByProducts(const Combination& combination, const CombinedRow& row) {
    const Function function = combination.function;
    if ((function != Function::ADD && function != Function::SUB) || row.repeatsA || row.repeatsB) {
        return combineBytes<T>(combination, row);
    }
    AddedBytes<T>(combination.quantized.addition(function == Function::SUB))
            .row(static_cast<const T*>(row.a), static_cast<const T*>(row.b),
                 static_cast<T*>(row.to), row.count);
}
#endif

// Rounds towards minus infinity; the quotient of any number and 0 is 0.
HWY_INLINE int32_t floorDivide(int32_t a, int32_t b) {
    if (b == 0) {
        return 0;
    }
    const int64_t quotient = int64_t{a} / b;
    const bool roundedUp = int64_t{a} % b != 0 && (a < 0) != (b < 0);
    return static_cast<int32_t>(roundedUp ? quotient - 1 : quotient);
}

HWY_INLINE IntVector divideInts(IntVector a, IntVector b) {
    alignas(64) int32_t dividends[kMostLanes];
    alignas(64) int32_t divisors[kMostLanes];
    hn::Store(a, kInts, dividends);
    hn::Store(b, kInts, divisors);
    for (size_t i = 0; i < hn::Lanes(kInts); ++i) {
        dividends[i] = floorDivide(dividends[i], divisors[i]);
    }
    return hn::Load(kInts, dividends);
}

// Modulo 2^32.
void combineInts(const Combination& combination, const CombinedRow& row) {
    const auto combine = [&](auto function) HWY_ATTR {
        combineRow<int32_t, int32_t>(
                row, [](const int32_t* from, auto there) HWY_ATTR { return loadInts(from, there); },
                function,
                [](IntVector value, int32_t* to, auto there)
                        HWY_ATTR { storeInts(value, to, there); });
    };
    switch (combination.function) {
        case Function::ADD:
            return combine([](IntVector a, IntVector b) HWY_ATTR { return hn::Add(a, b); });
        case Function::SUB:
            return combine([](IntVector a, IntVector b) HWY_ATTR { return hn::Sub(a, b); });
        case Function::MUL:
            return combine([](IntVector a, IntVector b) HWY_ATTR { return hn::Mul(a, b); });
        case Function::DIV:
            return combine([](IntVector a, IntVector b) HWY_ATTR { return divideInts(a, b); });
        case Function::MAXIMUM:
            return combine([](IntVector a, IntVector b) HWY_ATTR { return hn::Max(a, b); });
        default:  // MINIMUM
            return combine([](IntVector a, IntVector b) HWY_ATTR { return hn::Min(a, b); });
    }
}

// LOGICAL_AND and LOGICAL_OR; whatever is not 0 is true.
void combineBools(const Combination& combination, const CombinedRow& row) {
    const bool both = combination.function == Function::LOGICAL_AND;
    combineRow<uint8_t, uint8_t>(
            row,
            [](const uint8_t* from, auto there)
                    HWY_ATTR { return hn::Min(loadInts(from, there), hn::Set(kInts, 1)); },
            [&](IntVector a, IntVector b) HWY_ATTR { return both ? hn::And(a, b) : hn::Or(a, b); },
            [](IntVector value, uint8_t* to, auto there) HWY_ATTR { storeInts(value, to, there); });
}

}  // namespace

const CombineForms* combineForms() {
    static const CombineForms kForms = {.rows = {.floats = combineFloats<float>,
                                                 .halves = combineFloats<Half>,
                                                 .unsignedBytes = combineBytes<uint8_t>,
                                                 .signedBytes = combineBytes<int8_t>,
                                                 .ints = combineInts},
                                        .bools = combineBools};
    return &kForms;
}

#if HWY_TARGET == HWY_AVX3
const CombineForms* combineDotForms() {
    static const CombineForms kForms = [] {
        CombineForms forms = *combineForms();
        forms.rows.unsignedBytes = combineBytesByProducts<uint8_t>;
        forms.rows.signedBytes = combineBytesByProducts<int8_t>;
        return forms;
    }();
    return &kForms;
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {
namespace {

std::optional<ScaledSum> sumOf(const TensorType& a, const TensorType& b, const TensorType& output) {
    const float scale = output.quantization.scale;
    return ScaledSum::of(multiplier(a.quantization.scale, 1.0F, scale),
                         multiplier(b.quantization.scale, 1.0F, scale));
}

Combination combinationOf(const Binary& node, const TensorType& a, const TensorType& b,
                          const TensorType& output) {
    Combination combination = {
            .function = node.function, .range = rangeOf(node.activation), .quantized = {}};
    if (isOfBytes(output.type)) {
        const float scale = output.quantization.scale;
        combination.quantized = {
                .a = a.quantization,
                .b = b.quantization,
                .output = output.quantization,
                .type = rangeOf(output.type),
                .bounds = rangeOf(node.activation, output),
                .productRatio = multiplier(a.quantization.scale, b.quantization.scale, scale),
                .sum = sumOf(a, b, output)};
    }
    return combination;
}

const CombineForms& formsOf(InstructionSet set) {
#if HWY_TARGETS & HWY_AVX3
    if (hasByteProducts(set)) {
        return *N_AVX3::combineDotForms();
    }
#endif
    return *HALYARD_CPU_CHOOSE(set, combineForms)();
}

Combine formOf(DataType type, InstructionSet set) {
    const CombineForms& forms = formsOf(set);
    return type == DataType::BOOL8 ? forms.bools : forms.rows.of(type);
}

}  // namespace

Status supports(const Binary& node, const Graph& graph, const Node& whole) {
    const TensorType& output = outputType(graph, whole);
    const bool adds =
            node.function == Binary::Function::ADD || node.function == Binary::Function::SUB;
    if (adds && isOfBytes(output.type) &&
        !sumOf(inputType(graph, whole, 0), inputType(graph, whole, 1), output).has_value()) {
        return unsupported("adds no bytes one step of which is more than the output holds");
    }
    return {};
}

Result<std::unique_ptr<const StepKernel>> compile(const Binary& node,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    const TensorType& output = outputType(arguments.graph, arguments.node);
    const Combine form = formOf(output.type, target.set);
    const Combination combination =
            combinationOf(node, inputType(arguments.graph, arguments.node, 0),
                          inputType(arguments.graph, arguments.node, 1), output);
    const int64_t operations = node.function == Binary::Function::POW ? 64 : 1;
    return plainKernel(
            arguments, toString(target.set), [combination, form, operations](KernelCall& call) {
                return forEachRow(call, operations,
                                  [&](const CombinedRow& row) { form(combination, row); });
            });
}

std::optional<ByteAddition> byteAdditionOf(const Binary& node, const TensorType& a,
                                           const TensorType& b, const TensorType& output) {
    const QuantizedCombination numbers = combinationOf(node, a, b, output).quantized;
    return node.function == Binary::Function::ADD && numbers.sum.has_value()
                   ? std::optional(numbers.addition(false))
                   : std::nullopt;
}

EpilogueStage stageOf(const Binary& node, const TensorType& a, const TensorType& b,
                      const TensorType& output, bool replacesFirst, InstructionSet set) {
    return [combination = combinationOf(node, a, b, output), form = formOf(output.type, set),
            replacesFirst](std::byte* elements, const std::byte* addend, int64_t count) {
        form(combination, {.a = replacesFirst ? elements : addend,
                           .b = replacesFirst ? addend : elements,
                           .to = elements,
                           .count = count});
    };
}

}  // namespace halyard::engine::cpu
#endif
