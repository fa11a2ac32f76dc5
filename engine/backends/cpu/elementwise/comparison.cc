// SPDX-License-Identifier: Apache-2.0
//
// Which of two elements is the larger one, with broadcasting, and a choice between two.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/elementwise/comparison.cc"
#include "engine/backends/cpu/vectors/targets.h"
// Read for each instruction set.
#include "engine/backends/cpu/elementwise/broadcast-inl.h"

#include "engine/backends/cpu/elementwise/element_forms.h"
#include "engine/backends/cpu/kernels/chunks.h"
#include "engine/backends/cpu/kernels/kernels.h"
#include "engine/backends/cpu/kernels/plain_kernel.h"

#ifndef HALYARD_ENGINE_BACKENDS_CPU_COMPARISON_CC_
#define HALYARD_ENGINE_BACKENDS_CPU_COMPARISON_CC_
namespace halyard::engine::cpu {

struct Comparison {
    Compare::Function function = Compare::Function::EQUAL;
    Quantization a;  // where elements are bytes
    Quantization b;
};
using CompareRow = void (*)(const Comparison& comparison, const CombinedRow& row);

struct ComparisonForms {
    ElementForms<CompareRow> rows;
    CompareRow bools;
    // Elements of 1, 2 or 4 bytes: a where the condition is not 0, otherwise b.
    void (*select)(const uint8_t* condition, const void* a, const void* b, void* to, int64_t count,
                   size_t size);
};

}  // namespace halyard::engine::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

using Function = Compare::Function;

template <typename V>
HWY_INLINE IntVector compareVectors(Function function, V a, V b) {
    const auto ones = [](auto mask) HWY_ATTR {
        return hn::IfThenElseZero(hn::RebindMask(kInts, mask), hn::Set(kInts, 1));
    };
    const auto isAtMost = [](V x, V y) HWY_ATTR {
        if constexpr (std::is_same_v<V, IntVector>) {
            return hn::Not(hn::Gt(x, y));
        } else {
            return hn::Le(x, y);
        }
    };
    switch (function) {
        case Function::EQUAL:
            return ones(hn::Eq(a, b));
        case Function::NOT_EQUAL:
            // Not Ne(), which some processors answer with false for a NaN.
            return ones(hn::Not(hn::Eq(a, b)));
        case Function::LESS:
            return ones(hn::Lt(a, b));
        case Function::LESS_EQUAL:
            return ones(isAtMost(a, b));
        case Function::GREATER:
            return ones(hn::Gt(a, b));
        default:
            return ones(isAtMost(b, a));
    }
}

template <typename T, typename Load>
HWY_INLINE void compareLoaded(const Comparison& comparison, const CombinedRow& row, Load load) {
    combineRow<T, uint8_t>(
            row, load,
            [&](auto a, auto b) HWY_ATTR { return compareVectors(comparison.function, a, b); },
            [](IntVector value, uint8_t* to, auto there) HWY_ATTR { storeInts(value, to, there); });
}

template <typename T>
void compareFloats(const Comparison& comparison, const CombinedRow& row) {
    compareLoaded<T>(comparison, row,
                     [](const T* from, auto there) HWY_ATTR { return loadFloats(from, there); });
}

void compareInts(const Comparison& comparison, const CombinedRow& row) {
    compareLoaded<int32_t>(comparison, row, [](const int32_t* from, auto there) HWY_ATTR {
        return loadInts(from, there);
    });
}

void compareBools(const Comparison& comparison, const CombinedRow& row) {
    compareLoaded<uint8_t>(comparison, row, [](const uint8_t* from, auto there) HWY_ATTR {
        return hn::Min(loadInts(from, there), hn::Set(kInts, 1));
    });
}

// By the real numbers that they stand for, each by one product.
template <typename T>
void compareBytes(const Comparison& comparison, const CombinedRow& row) {
    const auto real = [](IntVector stored, const Quantization& quantization) HWY_ATTR {
        const IntVector steps = hn::Sub(stored, hn::Set(kInts, quantization.zeroPoint));
        return hn::Mul(hn::Set(kFloats, quantization.scale), hn::ConvertTo(kFloats, steps));
    };
    combineRow<T, uint8_t>(
            row, [](const T* from, auto there) HWY_ATTR { return loadInts(from, there); },
            [&](IntVector a, IntVector b) HWY_ATTR {
                return compareVectors(comparison.function, real(a, comparison.a),
                                      real(b, comparison.b));
            },
            [](IntVector value, uint8_t* to, auto there) HWY_ATTR { storeInts(value, to, there); });
}

template <typename T>
HWY_INLINE void selectElements(const uint8_t* condition, const T* a, const T* b, T* to,
                               int64_t count) {
    forEachVector(count, [&](int64_t i, auto there) HWY_ATTR {
        const auto isFalse = hn::Eq(loadInts(condition + i, there), hn::Zero(kInts));
        const IntVector x = hn::IfThenElse(isFalse, loadInts(b + i, there), loadInts(a + i, there));
        if constexpr (sizeof(T) == sizeof(uint16_t)) {
            storeStored(hn::TruncateTo(Stored<uint16_t>(),
                                       hn::BitCast(hn::RebindToUnsigned<Ints>(), x)),
                        to + i, there);
        } else {
            storeInts(x, to + i, there);
        }
    });
}

void select(const uint8_t* condition, const void* a, const void* b, void* to, int64_t count,
            size_t size) {
    const auto as = [&]<typename T>(T) HWY_ATTR {
        selectElements(condition, static_cast<const T*>(a), static_cast<const T*>(b),
                       static_cast<T*>(to), count);
    };
    size == 1 ? as(uint8_t()) : size == 2 ? as(uint16_t()) : as(int32_t());
}

}  // namespace

const ComparisonForms* comparisonForms() {
    static const ComparisonForms kForms = {.rows = {.floats = compareFloats<float>,
                                                    .halves = compareFloats<Half>,
                                                    .unsignedBytes = compareBytes<uint8_t>,
                                                    .signedBytes = compareBytes<int8_t>,
                                                    .ints = compareInts},
                                           .bools = compareBools,
                                           .select = select};
    return &kForms;
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {

Status supports(const Compare& /*node*/, const Graph& /*graph*/, const Node& /*whole*/) {
    return {};
}

Result<std::unique_ptr<const StepKernel>> compile(const Compare& node,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    const TensorType& a = inputType(arguments.graph, arguments.node, 0);
    const ComparisonForms& forms = *HALYARD_CPU_CHOOSE(target.set, comparisonForms)();
    const CompareRow form = a.type == DataType::BOOL8 ? forms.bools : forms.rows.of(a.type);
    const Comparison comparison = {.function = node.function,
                                   .a = a.quantization,
                                   .b = inputType(arguments.graph, arguments.node, 1).quantization};
    return plainKernel(arguments, toString(target.set), [comparison, form](KernelCall& call) {
        return forEachRow(call, 1, [&](const CombinedRow& row) { form(comparison, row); });
    });
}

Status supports(const Select& /*node*/, const Graph& graph, const Node& whole) {
    const Quantization& output = outputType(graph, whole).quantization;
    for (const size_t branch : {1, 2}) {
        if (inputType(graph, whole, branch).quantization != output) {
            return unsupported("chooses between tensors of the output's scale");
        }
    }
    return {};
}

Result<std::unique_ptr<const StepKernel>> compile(const Select& /*node*/,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    const auto form = HALYARD_CPU_CHOOSE(target.set, comparisonForms)()->select;
    return plainKernel(arguments, toString(target.set), [form](KernelCall& call) {
        const size_t size = elementSize(call.output(0).type->type);
        const auto* condition = call.input(0).as<uint8_t>();
        const auto* a = call.input(1).as<std::byte>();
        const auto* b = call.input(2).as<std::byte>();
        auto* to = call.output(0).as<std::byte>();
        return forEachChunk(call, kChunk / 4, [&](int64_t first, int64_t count) {
            const int64_t at = first * static_cast<int64_t>(size);
            form(condition + first, a + at, b + at, to + at, count, size);
        });
    });
}

}  // namespace halyard::engine::cpu
#endif
