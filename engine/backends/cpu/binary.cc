// SPDX-License-Identifier: Apache-2.0
//
// Functions of two elements, with broadcasting.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/binary.cc"
#include "engine/backends/cpu/targets.h"
// Read for each instruction set.
#include "engine/backends/cpu/lanes-inl.h"

#include <algorithm>
#include <array>
#include <optional>

#include "engine/backends/cpu/kernels.h"
#include "engine/backends/cpu/plain_kernel.h"
#include "engine/numerics/activation_range.h"
#include "engine/numerics/index_walk.h"
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
    float ratioA = 0.0F;
    float ratioB = 0.0F;
    float productRatio = 0.0F;
    std::optional<ScaledSum> sum;
};

struct Combination {
    Binary::Function function = Binary::Function::ADD;
    RealRange range;
    QuantizedCombination quantized;
};

// A row of the output: elements of `a` and `b` lie next to each other, or are the same one.
struct CombinedRow {
    const void* a = nullptr;
    const void* b = nullptr;
    void* to = nullptr;
    int64_t count = 0;
    bool repeatsA = false;
    bool repeatsB = false;
};

using Combine = void (*)(const Combination& combination, const CombinedRow& row);
struct CombineRows {
    Combine floats;
    Combine halves;
    Combine unsignedBytes;
    Combine signedBytes;
};

}  // namespace halyard::engine::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

using Function = Binary::Function;

// store(function(load(a), load(b))) for each vector of the row.
template <typename T, typename Load, typename Combined, typename Store>
HWY_INLINE void combineRow(const CombinedRow& row, Load load, Combined combined, Store store) {
    const auto* a = static_cast<const T*>(row.a);
    const auto* b = static_cast<const T*>(row.b);
    auto* to = static_cast<T*>(row.to);
    const auto repeated = [&](const T* element) HWY_ATTR {
        const auto first = load(element, Some{.count = 1});
        return hn::Set(hn::DFromV<decltype(first)>(), hn::GetLane(first));
    };
    if (row.repeatsA) {
        const auto same = repeated(a);
        forEachVector(row.count, [&](int64_t i, auto there) HWY_ATTR {
            store(combined(same, load(b + i, there)), to + i, there);
        });
    } else if (row.repeatsB) {
        const auto same = repeated(b);
        forEachVector(row.count, [&](int64_t i, auto there) HWY_ATTR {
            store(combined(load(a + i, there), same), to + i, there);
        });
    } else {
        forEachVector(row.count, [&](int64_t i, auto there) HWY_ATTR {
            store(combined(load(a + i, there), load(b + i, there)), to + i, there);
        });
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
    withRealFunction(combination.function, [&](auto function) HWY_ATTR {
        combineRow<T>(
                row, [](const T* from, auto there) HWY_ATTR { return loadFloats(from, there); },
                [&](FloatVector a, FloatVector b)
                        HWY_ATTR { return clampLanes(function(a, b), low, high); },
                [](FloatVector value, T* to, auto there)
                        HWY_ATTR { storeFloats(value, to, there); });
    });
}

// By scaled_sum.h, or where the scales are too far apart for that as a sum of floats.
template <typename T>
void addBytes(const Combination& combination, const CombinedRow& row) {
    const QuantizedCombination& numbers = combination.quantized;
    const bool subtracts = combination.function == Function::SUB;
    const IntVector zeroA = hn::Set(kInts, numbers.a.zeroPoint);
    const IntVector zeroB = hn::Set(kInts, numbers.b.zeroPoint);
    const auto load = [](const T* from, auto there) HWY_ATTR { return loadInts(from, there); };
    const auto store = [](IntVector value, T* to, auto there)
                               HWY_ATTR { storeInts(value, to, there); };
    if (!numbers.sum.has_value()) {
        const FloatVector scaleA = hn::Set(kFloats, numbers.ratioA);
        const FloatVector scaleB = hn::Set(kFloats, subtracts ? -numbers.ratioB : numbers.ratioB);
        const Rounding round(numbers.output.zeroPoint, numbers.bounds);
        combineRow<T>(
                row, load,
                [&](IntVector a, IntVector b) HWY_ATTR {
                    const FloatVector x = hn::ConvertTo(kFloats, hn::Sub(a, zeroA));
                    const FloatVector y = hn::ConvertTo(kFloats, hn::Sub(b, zeroB));
                    return round(hn::Add(hn::Mul(x, scaleA), hn::Mul(y, scaleB)));
                },
                store);
        return;
    }
    const ScaledSum& sum = *numbers.sum;
    const IntVector multiplierA = hn::Set(kInts, sum.multiplierA);
    const IntVector multiplierB = hn::Set(kInts, subtracts ? -sum.multiplierB : sum.multiplierB);
    const IntVector half = hn::Set(kInts, 1 << (sum.shift - 1));
    const IntVector zero = hn::Set(kInts, numbers.output.zeroPoint);
    const IntVector low = hn::Set(kInts, numbers.bounds.low);
    const IntVector high = hn::Set(kInts, numbers.bounds.high);
    combineRow<T>(
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
    combineRow<T>(
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
        combineRow<T>(
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

}  // namespace

const CombineRows* combineRows() {
    static const CombineRows kForm = {.floats = combineFloats<float>,
                                      .halves = combineFloats<Half>,
                                      .unsignedBytes = combineBytes<uint8_t>,
                                      .signedBytes = combineBytes<int8_t>};
    return &kForm;
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {
namespace {

// The output as rows along its last axis. Neighbouring axes that are broadcast alike become one.
class Broadcast {
  public:
    Broadcast(const Shape& a, const Shape& b, const Shape& output) {
        const Strides ofA = broadcastStrides(a, output);
        const Strides ofB = broadcastStrides(b, output);
        for (size_t axis = 0; axis < output.rank(); ++axis) {
            add({.extent = output[axis], .a = ofA[axis], .b = ofB[axis]});
        }
        if (mRank == 0) {
            mAxes[mRank++] = {.extent = 1, .a = 1, .b = 1};
        }
    }

    int64_t rowLength() const { return mAxes[mRank - 1].extent; }
    bool repeatsA() const { return mAxes[mRank - 1].a == 0; }
    bool repeatsB() const { return mAxes[mRank - 1].b == 0; }

    // Where a row begins in the inputs.
    struct Offsets {
        int64_t a = 0;
        int64_t b = 0;
    };
    Offsets offsetsOf(int64_t row) const {
        Offsets offsets;
        for (size_t axis = mRank - 1; axis-- > 0;) {
            const int64_t i = row % mAxes[axis].extent;
            row /= mAxes[axis].extent;
            offsets.a += i * mAxes[axis].a;
            offsets.b += i * mAxes[axis].b;
        }
        return offsets;
    }

  private:
    struct Axis {
        int64_t extent = 1;
        int64_t a = 0;
        int64_t b = 0;
    };

    void add(const Axis& axis) {
        if (axis.extent == 1) {
            return;
        }
        if (mRank > 0) {
            Axis& outer = mAxes[mRank - 1];
            if (outer.a == axis.extent * axis.a && outer.b == axis.extent * axis.b) {
                outer = {.extent = outer.extent * axis.extent, .a = axis.a, .b = axis.b};
                return;
            }
        }
        mAxes[mRank++] = axis;
    }

    std::array<Axis, kMaxRank + 1> mAxes;
    size_t mRank = 0;
};

Status combine(const Combination& combination, Combine form, KernelCall& call) {
    constexpr int64_t kChunk = 1 << 12;
    const TensorView& output = call.output(0);
    const Broadcast broadcast(call.input(0).shape(), call.input(1).shape(), output.shape());
    const auto size = static_cast<int64_t>(elementSize(output.type->type));
    const auto* a = call.input(0).as<std::byte>();
    const auto* b = call.input(1).as<std::byte>();
    auto* to = output.as<std::byte>();
    const int64_t length = broadcast.rowLength();
    const int64_t chunks = (length + kChunk - 1) / kChunk;
    const int64_t rows = countOf(output.shape()) / length;
    return call.inParallel(
            rows * chunks, 16 + std::min(length, kChunk) / 4,
            [&](int64_t begin, int64_t end, size_t /*worker*/) {
                for (int64_t i = begin; i < end; ++i) {
                    const Broadcast::Offsets offsets = broadcast.offsetsOf(i / chunks);
                    const int64_t first = i % chunks * kChunk;
                    const int64_t firstA = offsets.a + (broadcast.repeatsA() ? 0 : first);
                    const int64_t firstB = offsets.b + (broadcast.repeatsB() ? 0 : first);
                    form(combination, {.a = a + firstA * size,
                                       .b = b + firstB * size,
                                       .to = to + (i / chunks * length + first) * size,
                                       .count = std::min(kChunk, length - first),
                                       .repeatsA = broadcast.repeatsA(),
                                       .repeatsB = broadcast.repeatsB()});
                }
            });
}

}  // namespace

Status supports(const Binary& node, const Graph& graph, const Node& whole) {
    const DataType type = outputType(graph, whole).type;
    if (!isFloat(type) && !isOfBytes(type)) {
        return unsupported("combines floats and asymmetric 8-bit types, not " +
                           std::string(toString(type)));
    }
    if (node.function == Binary::Function::POW) {
        return unsupported("has no tuned kernel for powers");
    }
    return {};
}

Result<std::unique_ptr<const StepKernel>> compile(const Binary& node,
                                                  const KernelArguments& arguments,
                                                  InstructionSet set) {
    const TensorType& output = outputType(arguments.graph, arguments.node);
    const CombineRows& form = *HALYARD_CPU_CHOOSE(set, combineRows)();
    Combination combination = {
            .function = node.function, .range = rangeOf(node.activation), .quantized = {}};
    Combine rows = output.type == DataType::FLOAT16 ? form.halves : form.floats;
    if (isOfBytes(output.type)) {
        rows = output.type == DataType::QUANT8_ASYMM ? form.unsignedBytes : form.signedBytes;
        const Quantization& a = inputType(arguments.graph, arguments.node, 0).quantization;
        const Quantization& b = inputType(arguments.graph, arguments.node, 1).quantization;
        const float scale = output.quantization.scale;
        const float ratioA = multiplier(a.scale, 1.0F, scale);
        const float ratioB = multiplier(b.scale, 1.0F, scale);
        combination.quantized = {.a = a,
                                 .b = b,
                                 .output = output.quantization,
                                 .type = rangeOf(output.type),
                                 .bounds = rangeOf(node.activation, output),
                                 .ratioA = ratioA,
                                 .ratioB = ratioB,
                                 .productRatio = multiplier(a.scale, b.scale, scale),
                                 .sum = ScaledSum::of(ratioA, ratioB)};
    }
    return plainKernel(arguments, toString(set), [combination, rows](KernelCall& call) {
        return combine(combination, rows, call);
    });
}

}  // namespace halyard::engine::cpu
#endif
