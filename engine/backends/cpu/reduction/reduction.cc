// SPDX-License-Identifier: Apache-2.0
//
// Reductions: x is seen as [..., reduced, inner], with more axes before, some of which are reduced
// as well. Where there is an inner extent, rows are folded into as many results side by side;
// otherwise a row is folded into the lanes of a vector, and these into one.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/reduction/reduction.cc"
#include "engine/backends/cpu/vectors/targets.h"
// Read for each instruction set.
#include "engine/backends/cpu/vectors/lanes-inl.h"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <limits>

#include "engine/backends/cpu/elementwise/element_forms.h"
#include "engine/backends/cpu/kernels/byte_types.h"
#include "engine/backends/cpu/kernels/kernels.h"
#include "engine/backends/cpu/kernels/plain_kernel.h"
#include "engine/backends/cpu/reduction/reduced_shape.h"
#include "engine/backends/cpu/vectors/half_conversion.h"
#include "engine/graph/control_input.h"
#include "engine/numerics/quantized_mean.h"

#ifndef HALYARD_ENGINE_BACKENDS_CPU_REDUCTION_CC_
#define HALYARD_ENGINE_BACKENDS_CPU_REDUCTION_CC_
namespace halyard::engine::cpu {

// Results of this many neighbours are found together.
constexpr int64_t kFolded = 64;

// Rows of `count` elements, `stride` apart, to be folded into what `results` holds: float for
// floats, int32_t for bytes. kMostLanes of them where the elements of a single row are folded.
struct FoldedRows {
    Reduce::Function function = Reduce::Function::SUM;
    const void* x = nullptr;
    int64_t rows = 0;
    int64_t stride = 0;
    int64_t count = 0;
    void* results = nullptr;
};

struct Folds {
    void (*rows)(const FoldedRows& rows);
    void (*row)(const FoldedRows& rows);  // a single one
};
struct FoldForms {
    ElementForms<Folds> elements;
    // `count` means from sums; a mean of bytes is the sum times and plus something.
    void (*floatMeans)(const float* sums, float divisor, float* to, int64_t count);
    void (*byteMeans)(const int32_t* sums, const QuantizedMean& mean, QuantizedRange range,
                      uint8_t* to, int64_t count);
};

}  // namespace halyard::engine::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

using Function = Reduce::Function;

// float or int32_t, as vectors of T's are folded.
template <typename T>
using Folded = std::conditional_t<std::is_integral_v<T>, int32_t, float>;

template <typename T, typename Count>
HWY_INLINE auto loadFolded(const T* from, Count there) {
    if constexpr (std::is_integral_v<T>) {
        return loadInts(from, there);
    } else {
        return loadFloats(from, there);
    }
}

// A NaN is larger and smaller than any number, and the first of several stays.
HWY_INLINE FloatVector largerOf(FloatVector value, FloatVector each) {
    return hn::IfThenElse(hn::Or(hn::Gt(each, value), hn::IsNaN(each)), each, value);
}
HWY_INLINE FloatVector smallerOf(FloatVector value, FloatVector each) {
    return hn::IfThenElse(hn::Or(hn::Lt(each, value), hn::IsNaN(each)), each, value);
}
HWY_INLINE IntVector largerOf(IntVector value, IntVector each) {
    return hn::Max(value, each);
}
HWY_INLINE IntVector smallerOf(IntVector value, IntVector each) {
    return hn::Min(value, each);
}

// Calls body(function of a value and an element).
template <typename Body>
HWY_INLINE void withFold(Function function, Body body) {
    switch (function) {
        case Function::PROD:
            return body([](auto value, auto each) HWY_ATTR { return hn::Mul(value, each); });
        case Function::MAX:
        case Function::ANY:
            return body([](auto value, auto each) HWY_ATTR { return largerOf(value, each); });
        case Function::MIN:
        case Function::ALL:
            return body([](auto value, auto each) HWY_ATTR { return smallerOf(value, each); });
        default:
            return body([](auto value, auto each) HWY_ATTR { return hn::Add(value, each); });
    }
}

template <typename T>
void foldRows(const FoldedRows& rows) {
    const auto* x = static_cast<const T*>(rows.x);
    auto* results = static_cast<Folded<T>*>(rows.results);
    withFold(rows.function, [&](auto fold) HWY_ATTR {
        forEachVector(rows.count, [&](int64_t i, auto there) HWY_ATTR {
            auto value = loadStored(results + i, there);
            for (int64_t row = 0; row < rows.rows; ++row) {
                value = fold(value, loadFolded(x + row * rows.stride + i, there));
            }
            storeStored(value, results + i, there);
        });
    });
}

template <typename T>
void foldRow(const FoldedRows& rows) {
    const auto* x = static_cast<const T*>(rows.x);
    auto* results = static_cast<Folded<T>*>(rows.results);
    withFold(rows.function, [&](auto fold) HWY_ATTR {
        auto value = loadStored(results, All());
        forEachVector(rows.count, [&](int64_t i, auto there) HWY_ATTR {
            const auto folded = fold(value, loadFolded(x + i, there));
            const hn::DFromV<decltype(value)> tag;
            value = hn::IfThenElse(hn::FirstN(tag, countIn(there)), folded, value);
        });
        storeStored(value, results, All());
    });
}

void floatMeans(const float* sums, float divisor, float* to, int64_t count) {
    const FloatVector by = hn::Set(kFloats, divisor);
    forEachVector(count, [&](int64_t i, auto there) HWY_ATTR {
        storeFloats(hn::Div(loadFloats(sums + i, there), by), to + i, there);
    });
}

void byteMeans(const int32_t* sums, const QuantizedMean& mean, QuantizedRange range, uint8_t* to,
               int64_t count) {
    const FloatVector multiplier = hn::Set(kFloats, mean.multiplier());
    const FloatVector bias = hn::Set(kFloats, mean.bias());
    const Rounding round(0, range);
    forEachVector(count, [&](int64_t i, auto there) HWY_ATTR {
        const FloatVector sum = loadFloats(sums + i, there);
        storeInts(round(hn::Add(hn::Mul(sum, multiplier), bias)), to + i, there);
    });
}

template <typename T>
constexpr Folds foldsOf() {
    return {.rows = foldRows<T>, .row = foldRow<T>};
}

}  // namespace

const FoldForms* foldForms() {
    static const FoldForms kForm = {.elements = {.floats = foldsOf<float>(),
                                                 .halves = foldsOf<Half>(),
                                                 .unsignedBytes = foldsOf<uint8_t>(),
                                                 .signedBytes = foldsOf<int8_t>()},
                                    .floatMeans = floatMeans,
                                    .byteMeans = byteMeans};
    return &kForm;
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {
namespace {

using Function = Reduce::Function;
constexpr size_t kLanes = 16;  // of the widest vector

template <typename Value>
Value nothingOf(Function function) {
    switch (function) {
        case Function::PROD:
            return Value{1};
        case Function::MAX:
        case Function::ANY:
            return std::numeric_limits<Value>::has_infinity
                           ? -std::numeric_limits<Value>::infinity()
                           : std::numeric_limits<Value>::min();
        case Function::MIN:
        case Function::ALL:
            return std::numeric_limits<Value>::has_infinity ? std::numeric_limits<Value>::infinity()
                                                            : std::numeric_limits<Value>::max();
        default:
            return Value{0};
    }
}

// As the vectors fold.
template <typename Value>
Value foldOne(Function function, Value value, Value each) {
    switch (function) {
        case Function::PROD:
            return value * each;
        case Function::MAX:
        case Function::ANY:
            return each > value || each != each ? each : value;
        case Function::MIN:
        case Function::ALL:
            return each < value || each != each ? each : value;
        default:
            return value + each;
    }
}

// Source and destination of the results of one tile.
struct Reduction {
    Function function = Function::MEAN;
    Quantization x;
    TensorType output;  // without its shape
    Folds folds;
    const FoldForms* forms = nullptr;
    const HalfConversion* halves = nullptr;
    int64_t threads = 1;  // as many as may ever share it

    Status run(const ReducedShape& shape, KernelCall& call) const;

  private:
    template <typename Value, typename Store>
    Status foldAll(const ReducedShape& shape, KernelCall& call, Store store) const;
    bool addsInParts(const ReducedShape& shape) const;
    template <typename Value, typename Store>
    Status addParts(const ReducedShape& shape, KernelCall& call, Store store) const;
    void storeFloats(float* values, int64_t count, int64_t reduced, void* to) const;
    void storeBytes(const int64_t* values, int64_t count, int64_t reduced, uint8_t* to) const;
    int32_t byteOf(int64_t value, int64_t reduced) const;
};

// Rows between two looks at the checkpoint, of which a sum of bytes fits in 31 bits.
constexpr int64_t kMostRows = 1 << 16;

// store(values, count, first): Wide values of `count` results from `first` on.
template <typename Value, typename Store>
Status Reduction::foldAll(const ReducedShape& shape, KernelCall& call, Store store) const {
    using Wide = std::conditional_t<std::is_integral_v<Value>, int64_t, float>;
    const auto size = static_cast<int64_t>(elementSize(output.type));
    const auto* source = call.input(0).as<std::byte>();
    const bool single = shape.inner == 1;
    // Columns of a tile: fewer where there is not one for each thread, but no less than a line of
    // the cache has.
    constexpr int64_t kFewestColumns = 16;
    const auto workers = static_cast<int64_t>(call.threadCount());
    const int64_t each = (shape.inner + workers - 1) / workers;
    const int64_t columns =
            shape.kept.count() >= workers
                    ? kFolded
                    : std::clamp((each + kFewestColumns - 1) / kFewestColumns * kFewestColumns,
                                 kFewestColumns, kFolded);
    const int64_t chunks = (shape.inner + columns - 1) / columns;
    const int64_t width = single ? 1 : std::min(shape.inner, columns);
    const int64_t operations = 128 + std::min(shape.count() * width, int64_t{1} << 30) / 4;
    const auto fold = [&](int64_t begin, int64_t end, size_t /*worker*/) -> Status {
        for (int64_t tile = begin; tile < end; ++tile) {
            const int64_t row = tile / chunks;
            const int64_t column = tile % chunks * columns;
            const int64_t count = std::min(columns, shape.inner - column);
            Wide wide[kFolded];
            std::fill(wide, wide + kFolded, nothingOf<Wide>(function));
            const std::byte* from = source + (shape.kept.offsetOf(row) + column) * size;
            const auto add = [&](const std::byte* part, int64_t firstRow, int64_t lastRow) {
                alignas(64) Value values[kFolded];
                std::fill(values, values + kFolded, nothingOf<Value>(function));
                const FoldedRows rows = {.function = function,
                                         .x = part + firstRow * shape.inner * size,
                                         .rows = lastRow - firstRow,
                                         .stride = shape.inner,
                                         .count = single ? lastRow - firstRow : count,
                                         .results = values};
                single ? folds.row(rows) : folds.rows(rows);
                for (int64_t i = 0; i < (single ? int64_t{kLanes} : count); ++i) {
                    Wide& to = wide[single ? 0 : i];
                    to = foldOne<Wide>(function, to, values[i]);
                }
            };
            // One part after the other; before each it may be time to stop.
            for (int64_t i = 0; i < shape.folded.count(); ++i) {
                const std::byte* part = from + shape.folded.offsetOf(i) * size;
                for (int64_t first = 0; first < shape.reduced; first += kMostRows) {
                    HALYARD_RETURN_IF_ERROR(call.inParallel(
                            1, kMostRows, [&](int64_t /*begin*/, int64_t /*end*/, size_t /*one*/) {
                                add(part, first, std::min(first + kMostRows, shape.reduced));
                            }));
                }
            }
            store(wide, single ? 1 : count, row * shape.inner + column);
        }
        return {};
    };
    return call.inParallel(shape.kept.count() * chunks, operations, fold);
}

// Sums over the rows of feature maps are found part by part, and then those of the parts: a thread
// finds in its cache the rows that it has most likely computed, where a column would lie in all
// threads' caches. There are as many parts as the program may have threads, whether these are there
// or not, so that sums of floats are the same in each run. A part is no larger than a tile may be,
// since checkpoints lie only between tiles.
bool Reduction::addsInParts(const ReducedShape& shape) const {
    constexpr int64_t kFewestRows = 32;  // of a part
    return threads > 1 && (function == Function::MEAN || function == Function::SUM) &&
           shape.folded.count() == 1 && shape.kept.count() < threads &&
           shape.inner >= kFolded / 2 && shape.reduced >= threads * kFewestRows &&
           shape.reduced <= kMostRows &&
           shape.reduced / threads * shape.inner <= kMostRows * kFolded;
}

template <typename Value, typename Store>
Status Reduction::addParts(const ReducedShape& shape, KernelCall& call, Store store) const {
    using Wide = std::conditional_t<std::is_integral_v<Value>, int64_t, float>;
    const auto size = static_cast<int64_t>(elementSize(output.type));
    const auto* source = call.input(0).as<std::byte>();
    const int64_t length = (shape.inner + int64_t{kLanes} - 1) / kLanes * kLanes;
    HALYARD_ASSIGN_OR_RETURN(
            const std::span<Value> sums,
            call.scratch<Value>(static_cast<size_t>(shape.kept.count() * threads * length)));
    HALYARD_RETURN_IF_ERROR(call.inParallel(
            shape.kept.count() * threads, shape.reduced / threads * shape.inner / 4,
            [&](int64_t begin, int64_t end, size_t /*worker*/) {
                for (int64_t i = begin; i < end; ++i) {
                    const int64_t part = i % threads;
                    const int64_t first = shape.reduced * part / threads;
                    const int64_t last = shape.reduced * (part + 1) / threads;
                    Value* const results = sums.data() + i * length;
                    std::fill_n(results, length, Value{0});
                    folds.rows(
                            {.function = Function::SUM,
                             .x = source +
                                  (shape.kept.offsetOf(i / threads) + first * shape.inner) * size,
                             .rows = last - first,
                             .stride = shape.inner,
                             .count = shape.inner,
                             .results = results});
                }
            }));
    const int64_t chunks = (shape.inner + kFolded - 1) / kFolded;
    return call.inParallel(shape.kept.count() * chunks, kFolded + threads * kFolded / 4,
                           [&](int64_t begin, int64_t end, size_t /*worker*/) {
                               for (int64_t tile = begin; tile < end; ++tile) {
                                   const int64_t row = tile / chunks;
                                   const int64_t column = tile % chunks * kFolded;
                                   const int64_t count = std::min(kFolded, shape.inner - column);
                                   Wide all[kFolded] = {};
                                   for (int64_t part = 0; part < threads; ++part) {
                                       const Value* const from = sums.data() +
                                                                 (row * threads + part) * length +
                                                                 column;
                                       for (int64_t i = 0; i < count; ++i) {
                                           all[i] += from[i];
                                       }
                                   }
                                   store(all, count, row * shape.inner + column);
                               }
                           });
}

void Reduction::storeFloats(float* values, int64_t count, int64_t reduced, void* to) const {
    if (function == Function::MEAN) {
        forms->floatMeans(values, static_cast<float>(reduced), values, count);
    }
    if (output.type == DataType::FLOAT16) {
        halves->toHalves(values, count, static_cast<Half*>(to));
    } else {
        std::copy_n(values, count, static_cast<float*>(to));
    }
}

int32_t Reduction::byteOf(int64_t value, int64_t reduced) const {
    if (output.type == DataType::BOOL8) {
        return value > 0 ? 1 : 0;  // nothing at all is true for ALL, and false for ANY
    }
    const QuantizedRange range = rangeOf(output.type);
    if (function == Function::MEAN) {
        return QuantizedMean(x, output.quantization, reduced)(value, range);
    }
    if (reduced == 0) {
        return function == Function::MAX ? range.low : range.high;
    }
    return quantize(dequantize(static_cast<int32_t>(value), x), output);
}

void Reduction::storeBytes(const int64_t* values, int64_t count, int64_t reduced,
                           uint8_t* to) const {
    if (function == Function::MEAN && reduced > 0 && reduced <= kMostRows) {
        int32_t sums[kFolded];
        std::copy(values, values + count, sums);
        forms->byteMeans(sums, QuantizedMean(x, output.quantization, reduced), rangeOf(output.type),
                         to, count);
        return;
    }
    std::transform(values, values + count, to,
                   [&](int64_t value) { return static_cast<uint8_t>(byteOf(value, reduced)); });
}

Status Reduction::run(const ReducedShape& shape, KernelCall& call) const {
    auto* to = call.output(0).as<std::byte>();
    const auto size = static_cast<int64_t>(elementSize(output.type));
    if (!isFloat(output.type)) {
        const auto store = [&](int64_t* values, int64_t count, int64_t first) {
            storeBytes(values, count, shape.count(), reinterpret_cast<uint8_t*>(to) + first);
        };
        return addsInParts(shape) ? addParts<int32_t>(shape, call, store)
                                  : foldAll<int32_t>(shape, call, store);
    }
    const auto store = [&](float* values, int64_t count, int64_t first) {
        storeFloats(values, count, shape.count(), to + first * size);
    };
    return addsInParts(shape) ? addParts<float>(shape, call, store)
                              : foldAll<float>(shape, call, store);
}

}  // namespace

Status supports(const Reduce& node, const Graph& graph, const Node& whole) {
    const TensorType& x = inputType(graph, whole);
    if (node.function == Reduce::Function::MEAN && isOfBytes(x.type) &&
        isBeyondOutput(x.quantization.scale, outputType(graph, whole).quantization.scale)) {
        return unsupported("has no mean of bytes one step of which is more than the output holds");
    }
    return {};
}

Result<std::unique_ptr<const StepKernel>> compile(const Reduce& node,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    const TensorType& x = inputType(arguments.graph, arguments.node);
    const FoldForms& forms = *HALYARD_CPU_CHOOSE(target.set, foldForms)();
    const Reduction reduction = {.function = node.function,
                                 .x = x.quantization,
                                 .output = outputType(arguments.graph, arguments.node),
                                 .folds = forms.elements.of(x.type),
                                 .forms = &forms,
                                 .halves = &halfConversion(target.set),
                                 .threads = static_cast<int64_t>(arguments.threads)};
    return plainKernel(arguments, toString(target.set), [reduction](KernelCall& call) -> Status {
        const Shape& shape = call.input(0).shape();
        HALYARD_ASSIGN_OR_RETURN(const std::bitset<kMaxRank> axes,
                                 readAxes(call.input(1), shape.rank()));
        return reduction.run(reducedShape(shape, axes), call);
    });
}

}  // namespace halyard::engine::cpu
#endif
