// SPDX-License-Identifier: Apache-2.0
//
// Normalisation along an axis: softmax, log-softmax, and L2 normalisation.
// x is seen as [outer, axis, inner]; a vector holds neighbours along the axis where it is the last
// one, and otherwise as many rows side by side.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/reduction/softmax.cc"
#include "engine/backends/cpu/vectors/targets.h"
// Read for each instruction set.
#include "engine/backends/cpu/vectors/exponential-inl.h"
#include "engine/backends/cpu/vectors/lanes-inl.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>

#include "engine/backends/cpu/elementwise/byte_lookup.h"
#include "engine/backends/cpu/kernels/kernels.h"
#include "engine/backends/cpu/kernels/plain_kernel.h"
#include "engine/graph/shape_inference.h"
#include "engine/numerics/byte_tables.h"
#include "engine/reference/kernels.h"

#ifndef HALYARD_ENGINE_BACKENDS_CPU_SOFTMAX_CC_
#define HALYARD_ENGINE_BACKENDS_CPU_SOFTMAX_CC_
namespace halyard::engine::cpu {

enum class Norm : uint8_t { SOFTMAX, LOG_SOFTMAX, LENGTH };

// Rows of `count` elements, `stride` apart: `rows` of them side by side, at most as many as a
// vector has lanes. One where the stride is 1.
struct NormalizedRows {
    const void* from = nullptr;
    void* to = nullptr;
    int64_t count = 0;
    int64_t stride = 1;
    int64_t rows = 1;
};

struct Normalization {
    Norm norm = Norm::SOFTMAX;
    float beta = 1.0F;
};

struct NormalizeRows {
    void (*floats)(const Normalization& normalization, const NormalizedRows& rows);
    void (*halves)(const Normalization& normalization, const NormalizedRows& rows);
    // numbers[i] * m as bytes.
    void (*bytes)(const float* numbers, float m, const TensorType& output, uint8_t* to,
                  int64_t count);
    // How far each byte is below the largest of them, modulo 256, in the order that they have with
    // the bits of `flipped` turned over. `to` may be `from`.
    void (*distances)(const uint8_t* from, uint8_t flipped, uint8_t* to, int64_t count);
    int64_t lanes;
};

}  // namespace halyard::engine::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

// body(offset, All or Some) for each vector of one row along the axis.
struct AlongRow {
    int64_t count;
    template <typename Body>
    HWY_INLINE void forEach(Body body) const {
        forEachVector(count, body);
    }
    // The reduction over all lanes, in each lane.
    HWY_INLINE FloatVector largest(FloatVector value) const {
        return hn::MaxOfLanes(kFloats, value);
    }
    HWY_INLINE FloatVector sum(FloatVector value) const { return hn::SumOfLanes(kFloats, value); }
};

// And of several rows side by side.
template <typename Count>
struct AcrossRows {
    int64_t count;
    int64_t stride;
    Count there;
    template <typename Body>
    HWY_INLINE void forEach(Body body) const {
        for (int64_t i = 0; i < count; ++i) {
            body(i * stride, there);
        }
    }
    HWY_INLINE FloatVector largest(FloatVector value) const { return value; }
    HWY_INLINE FloatVector sum(FloatVector value) const { return value; }
};

// The value, and where there are no lanes what is given.
HWY_INLINE FloatVector orElse(FloatVector value, FloatVector /*other*/, All /*all*/) {
    return value;
}
HWY_INLINE FloatVector orElse(FloatVector value, FloatVector other, Some some) {
    return hn::IfThenElse(hn::FirstN(kFloats, some.count), value, other);
}

template <typename T, typename Rows>
HWY_INLINE void softmaxOf(const Normalization& normalization, const T* from, T* to, Rows rows) {
    const FloatVector least = hn::Set(kFloats, -std::numeric_limits<float>::infinity());
    const FloatVector beta = hn::Set(kFloats, normalization.beta);
    FloatVector largest = least;
    rows.forEach([&](int64_t i, auto there) HWY_ATTR {
        const FloatVector x = orElse(loadFloats(from + i, there), least, there);
        largest = hn::IfThenElse(hn::Gt(x, largest), x, largest);
    });
    largest = rows.largest(largest);
    const auto distance = [&](int64_t i, auto there) HWY_ATTR {
        return hn::Mul(beta, hn::Sub(loadFloats(from + i, there), largest));
    };
    // Powers are kept where the results will be, unless those are too narrow for them or need none.
    const bool keeps = std::is_same_v<T, float> && normalization.norm == Norm::SOFTMAX;
    FloatVector sum = hn::Zero(kFloats);
    rows.forEach([&](int64_t i, auto there) HWY_ATTR {
        const FloatVector power = exponential(distance(i, there));
        sum = orElse(hn::Add(sum, power), sum, there);
        if (keeps) {
            storeFloats(power, to + i, there);
        }
    });
    sum = rows.sum(sum);
    if (normalization.norm == Norm::LOG_SOFTMAX) {
        alignas(64) float logs[kMostLanes];
        hn::Store(sum, kFloats, logs);
        std::transform(logs, logs + hn::Lanes(kFloats), logs,
                       [](float each) { return std::log(each); });
        const FloatVector log = hn::Load(kFloats, logs);
        rows.forEach([&](int64_t i, auto there) HWY_ATTR {
            storeFloats(hn::Sub(distance(i, there), log), to + i, there);
        });
        return;
    }
    const FloatVector share = hn::Div(hn::Set(kFloats, 1.0F), sum);
    rows.forEach([&](int64_t i, auto there) HWY_ATTR {
        const FloatVector power =
                keeps ? loadFloats(to + i, there) : exponential(distance(i, there));
        storeFloats(hn::Mul(power, share), to + i, there);
    });
}

template <typename T, typename Rows>
HWY_INLINE void divideByLength(const T* from, T* to, Rows rows) {
    FloatVector sum = hn::Zero(kFloats);
    rows.forEach([&](int64_t i, auto there) HWY_ATTR {
        const FloatVector x = loadFloats(from + i, there);
        sum = orElse(hn::Add(sum, hn::Mul(x, x)), sum, there);
    });
    sum = rows.sum(sum);
    const FloatVector shortest = hn::Set(kFloats, 1e-6F);
    const FloatVector root = hn::Sqrt(sum);
    const FloatVector length = hn::IfThenElse(hn::Lt(root, shortest), shortest, root);
    rows.forEach([&](int64_t i, auto there) HWY_ATTR {
        storeFloats(hn::Div(loadFloats(from + i, there), length), to + i, there);
    });
}

template <typename T>
void normalize(const Normalization& normalization, const NormalizedRows& rows) {
    const auto* from = static_cast<const T*>(rows.from);
    auto* to = static_cast<T*>(rows.to);
    const auto compute = [&](auto layout) HWY_ATTR {
        if (normalization.norm == Norm::LENGTH) {
            divideByLength(from, to, layout);
        } else {
            softmaxOf(normalization, from, to, layout);
        }
    };
    if (rows.stride == 1) {
        compute(AlongRow{.count = rows.count});
    } else {
        compute(AcrossRows<Some>{.count = rows.count,
                                 .stride = rows.stride,
                                 .there = {.count = static_cast<size_t>(rows.rows)}});
    }
}

void storeProducts(const float* numbers, float m, const TensorType& output, uint8_t* to,
                   int64_t count) {
    const Rounding round(output.quantization.zeroPoint, rangeOf(output.type));
    const FloatVector multiplier = hn::Set(kFloats, m);
    forEachVector(count, [&](int64_t i, auto there) HWY_ATTR {
        storeInts(round(hn::Mul(loadFloats(numbers + i, there), multiplier)), to + i, there);
    });
}

using Bytes = hn::CappedTag<uint8_t, 64>;
constexpr Bytes kBytes;

HWY_INLINE uint8_t largestOfLanes(hn::Vec<Bytes> bytes) {
    const hn::RepartitionToWide<Bytes> pairs;
    const auto two = hn::BitCast(pairs, bytes);
    const auto largest = hn::Max(hn::And(two, hn::Set(pairs, 0xFF)), hn::ShiftRight<8>(two));
    const hn::RepartitionToWide<decltype(pairs)> fours;
    const auto four = hn::BitCast(fours, largest);
    const auto last = hn::Max(hn::And(four, hn::Set(fours, 0xFFFF)), hn::ShiftRight<16>(four));
    return static_cast<uint8_t>(hn::GetLane(hn::MaxOfLanes(fours, last)));
}

void distancesOf(const uint8_t* from, uint8_t flipped, uint8_t* to, int64_t count) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(kBytes));
    const int64_t whole = count / lanes * lanes;
    const auto flips = hn::Set(kBytes, flipped);
    auto vector = hn::Zero(kBytes);
    for (int64_t i = 0; i < whole; i += lanes) {
        vector = hn::Max(vector, hn::Xor(hn::LoadU(kBytes, from + i), flips));
    }
    uint8_t largest = largestOfLanes(vector);
    for (int64_t i = whole; i < count; ++i) {
        largest = std::max<uint8_t>(largest, from[i] ^ flipped);
    }
    vector = hn::Set(kBytes, largest);
    for (int64_t i = 0; i < whole; i += lanes) {
        hn::StoreU(hn::Sub(vector, hn::Xor(hn::LoadU(kBytes, from + i), flips)), kBytes, to + i);
    }
    for (int64_t i = whole; i < count; ++i) {
        to[i] = static_cast<uint8_t>(largest - (from[i] ^ flipped));
    }
}

}  // namespace

const NormalizeRows* normalizeRows() {
    static const NormalizeRows kForm = {.floats = normalize<float>,
                                        .halves = normalize<Half>,
                                        .bytes = storeProducts,
                                        .distances = distancesOf,
                                        .lanes = static_cast<int64_t>(hn::Lanes(kFloats))};
    return &kForm;
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {
namespace {

// The longest row that is taken at once: the reference looks out for the checkpoint inside longer
// ones.
constexpr int64_t kLongestRow = 1 << 20;

template <typename Descriptor>
Result<bool> isLong(const Descriptor& node, const KernelCall& call) {
    const Shape& x = call.input(0).shape();
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(node.axis, x.rank()));
    return x[axis] > kLongestRow;
}

// The kernel that runs `run`, and the reference's where rows are too long for that.
template <typename Descriptor, typename Run>
Result<std::unique_ptr<const StepKernel>> rowKernel(const Descriptor& node,
                                                    const KernelArguments& arguments,
                                                    InstructionSet set, Run run) {
    return plainKernel(arguments, toString(set), [node, run](KernelCall& call) -> Status {
        HALYARD_ASSIGN_OR_RETURN(const bool isTooLong, isLong(node, call));
        return isTooLong ? ref::run(node, call) : run(call);
    });
}

// [outer, axis, inner]
struct AxisShape {
    int64_t outer = 1;
    int64_t length = 1;
    int64_t inner = 1;
};

AxisShape axisShape(const Shape& x, size_t axis) {
    return {.outer = countOf(Shape(x.extents().first(axis))),
            .length = x[axis],
            .inner = countOf(Shape(x.extents().subspan(axis + 1)))};
}

Status normalizeFloats(const Normalization& normalization, int32_t nodeAxis,
                       const NormalizeRows& form, KernelCall& call) {
    const Shape& x = call.input(0).shape();
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(nodeAxis, x.rank()));
    const AxisShape shape = axisShape(x, axis);
    const bool halves = call.output(0).type->type == DataType::FLOAT16;
    const int64_t size = halves ? 2 : 4;
    const auto* from = call.input(0).as<std::byte>();
    auto* to = call.output(0).as<std::byte>();
    const int64_t width = shape.inner == 1 ? 1 : form.lanes;
    const int64_t across = (shape.inner + width - 1) / width;
    const int64_t operations = 64 + shape.length * (shape.inner == 1 ? 4 : 40);
    return call.inParallel(
            shape.outer * across, operations, [&](int64_t begin, int64_t end, size_t /*worker*/) {
                for (int64_t i = begin; i < end; ++i) {
                    const int64_t column = i % across * width;
                    const int64_t at = (i / across * shape.length * shape.inner + column) * size;
                    const NormalizedRows rows = {.from = from + at,
                                                 .to = to + at,
                                                 .count = shape.length,
                                                 .stride = shape.inner,
                                                 .rows = std::min(width, shape.inner - column)};
                    (halves ? form.halves : form.floats)(normalization, rows);
                }
            });
}

// Rows of bytes, of T: prepare(row) gives a function from bytes to numbers, and what the numbers
// are to be multiplied by.
template <typename T, typename Prepare>
Status normalizeBytes(int32_t nodeAxis, const NormalizeRows& form, KernelCall& call,
                      Prepare prepare) {
    constexpr int64_t kChunk = 256;
    const Shape& x = call.input(0).shape();
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(nodeAxis, x.rank()));
    const AxisShape shape = axisShape(x, axis);
    const T* from = call.input(0).as<T>();
    auto* to = call.output(0).as<uint8_t>();
    return call.inParallel(
            shape.outer * shape.inner, 64 + shape.length * 4,
            [&](int64_t begin, int64_t end, size_t /*worker*/) {
                for (int64_t i = begin; i < end; ++i) {
                    const int64_t at =
                            i / shape.inner * shape.length * shape.inner + i % shape.inner;
                    const auto [numberOf, m] = prepare(from + at, shape.length, shape.inner);
                    for (int64_t first = 0; first < shape.length; first += kChunk) {
                        const int64_t count = std::min(kChunk, shape.length - first);
                        float numbers[kChunk];
                        uint8_t bytes[kChunk];
                        for (int64_t j = 0; j < count; ++j) {
                            numbers[j] = numberOf(from[at + (first + j) * shape.inner]);
                        }
                        form.bytes(numbers, m, *call.output(0).type, bytes, count);
                        for (int64_t j = 0; j < count; ++j) {
                            to[at + (first + j) * shape.inner] = bytes[j];
                        }
                    }
                }
            });
}

// How the softmax of bytes is computed, as the reference does it. Another process may change the
// bytes after the largest one was found: the distance is looked up modulo 256.
struct ByteSoftmax {
    ByteSoftmax(const ExponentialTable& exponentials, InstructionSet set)
        : table(exponentials),
          form(HALYARD_CPU_CHOOSE(set, normalizeRows)()),
          sum(sumNumbers(set)),
          lookUp(lookUpBytes(set)) {
        std::ranges::transform(exponentials, numbers.begin(),
                               [](uint32_t number) { return static_cast<float>(number); });
    }

    NumberTable table;
    std::array<float, 256> numbers{};
    const NormalizeRows* form;
    SumNumbers sum;
    LookUpBytes lookUp;
};

float multiplierOf(uint64_t sum, const KernelCall& call) {
    const auto scale = static_cast<double>(call.output(0).type->quantization.scale);
    return static_cast<float>(1.0 / (static_cast<double>(sum) * scale));
}

// Rows of neighbours, with a table of results for each.
Status softmaxOfByteRows(const ByteSoftmax& softmax, uint8_t flipped, int64_t rows, int64_t length,
                         KernelCall& call) {
    const auto* const from = call.input(0).as<uint8_t>();
    auto* const to = call.output(0).as<uint8_t>();
    return call.inParallel(rows, 256 + length, [&](int64_t begin, int64_t end, size_t /*worker*/) {
        for (int64_t i = begin; i < end; ++i) {
            uint8_t* const row = to + i * length;
            softmax.form->distances(from + i * length, flipped, row, length);
            const float m = multiplierOf(softmax.sum(softmax.table, row, length), call);
            ByteTable results;
            softmax.form->bytes(softmax.numbers.data(), m, *call.output(0).type, results.data(),
                                std::ssize(results));
            softmax.lookUp(results, row, row, length);
        }
    });
}

template <typename T>
Status softmaxOfBytes(int32_t nodeAxis, const ByteSoftmax& softmax, KernelCall& call) {
    // Shorter rows are not worth a table.
    constexpr int64_t kFewestElements = 64;
    const Shape& x = call.input(0).shape();
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(nodeAxis, x.rank()));
    const AxisShape shape = axisShape(x, axis);
    if (shape.inner == 1 && shape.length >= kFewestElements) {
        return softmaxOfByteRows(softmax, std::is_signed_v<T> ? 0x80 : 0, shape.outer, shape.length,
                                 call);
    }
    const ExponentialTable& table = softmax.table.numbers;
    return normalizeBytes<T>(nodeAxis, *softmax.form, call,
                             [&](const T* row, int64_t count, int64_t stride) {
                                 int32_t largest = std::numeric_limits<int32_t>::min();
                                 for (int64_t i = 0; i < count; ++i) {
                                     largest = std::max<int32_t>(largest, row[i * stride]);
                                 }
                                 uint64_t sum = 0;
                                 for (int64_t i = 0; i < count; ++i) {
                                     sum += table[static_cast<uint8_t>(largest - row[i * stride])];
                                 }
                                 const auto numberOf = [&softmax, largest](T byte) {
                                     return softmax.numbers[static_cast<uint8_t>(largest - byte)];
                                 };
                                 return std::pair(numberOf, multiplierOf(sum, call));
                             });
}

template <typename T>
Status lengthOfBytes(int32_t axis, const NormalizeRows& form, KernelCall& call) {
    const int32_t zeroPoint = call.input(0).type->quantization.zeroPoint;
    const auto scale = static_cast<double>(call.output(0).type->quantization.scale);
    return normalizeBytes<T>(axis, form, call, [&](const T* row, int64_t count, int64_t stride) {
        int64_t sum = 0;
        for (int64_t i = 0; i < count; ++i) {
            const int64_t value = row[i * stride] - zeroPoint;
            sum += value * value;
        }
        const double length = std::sqrt(static_cast<double>(std::max<int64_t>(sum, 1)));
        const auto numberOf = [zeroPoint](T byte) { return static_cast<float>(byte - zeroPoint); };
        return std::pair(numberOf, static_cast<float>(1.0 / (length * scale)));
    });
}

template <typename Descriptor>
Result<std::unique_ptr<const StepKernel>> compileFloats(const Descriptor& node,
                                                        const KernelArguments& arguments,
                                                        InstructionSet set,
                                                        const Normalization& normalization) {
    const NormalizeRows* form = HALYARD_CPU_CHOOSE(set, normalizeRows)();
    return rowKernel(node, arguments, set,
                     [normalization, axis = node.axis, form](KernelCall& call) {
                         return normalizeFloats(normalization, axis, *form, call);
                     });
}

}  // namespace

Status supports(const Softmax& /*node*/, const Graph& /*graph*/, const Node& /*whole*/) {
    return {};
}
Result<std::unique_ptr<const StepKernel>> compile(const Softmax& node,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    const TensorType& x = inputType(arguments.graph, arguments.node);
    if (isFloat(x.type)) {
        return compileFloats(node, arguments, target.set,
                             {.norm = Norm::SOFTMAX, .beta = node.beta});
    }
    const ByteSoftmax softmax(exponentialTable(node.beta, x.quantization.scale), target.set);
    const bool isSigned = x.type == DataType::QUANT8_ASYMM_SIGNED;
    return rowKernel(node, arguments, target.set,
                     [axis = node.axis, isSigned, softmax](KernelCall& call) {
                         return isSigned ? softmaxOfBytes<int8_t>(axis, softmax, call)
                                         : softmaxOfBytes<uint8_t>(axis, softmax, call);
                     });
}

Status supports(const LogSoftmax& /*node*/, const Graph& /*graph*/, const Node& /*whole*/) {
    return {};
}
Result<std::unique_ptr<const StepKernel>> compile(const LogSoftmax& node,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    return compileFloats(node, arguments, target.set,
                         {.norm = Norm::LOG_SOFTMAX, .beta = node.beta});
}

Status supports(const L2Normalize& /*node*/, const Graph& /*graph*/, const Node& /*whole*/) {
    return {};
}
Result<std::unique_ptr<const StepKernel>> compile(const L2Normalize& node,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    const DataType type = inputType(arguments.graph, arguments.node).type;
    if (isFloat(type)) {
        return compileFloats(node, arguments, target.set, {.norm = Norm::LENGTH});
    }
    const NormalizeRows* form = HALYARD_CPU_CHOOSE(target.set, normalizeRows)();
    return rowKernel(node, arguments, target.set, [axis = node.axis, type, form](KernelCall& call) {
        return type == DataType::QUANT8_ASYMM_SIGNED ? lengthOfBytes<int8_t>(axis, *form, call)
                                                     : lengthOfBytes<uint8_t>(axis, *form, call);
    });
}

}  // namespace halyard::engine::cpu
#endif
