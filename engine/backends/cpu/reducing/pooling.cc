// SPDX-License-Identifier: Apache-2.0
//
// Windows of pixels, all channels of a pixel side by side. Sums take their terms in the order of
// the reference, so that floats come out equal, too.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/reducing/pooling.cc"
#include "engine/backends/cpu/vectors/targets.h"
// Read for each instruction set.
#include "engine/backends/cpu/vectors/lanes-inl.h"
#include "engine/backends/cpu/vectors/partial_vectors-inl.h"

#include <algorithm>
#include <limits>

#include "engine/backends/cpu/elementwise/byte_types.h"
#include "engine/backends/cpu/elementwise/element_forms.h"
#include "engine/backends/cpu/kernels.h"
#include "engine/backends/cpu/plain_kernel.h"
#include "engine/graph/shape_inference.h"
#include "engine/numerics/activation_range.h"
#include "engine/numerics/quantized_mean.h"

#ifndef HALYARD_ENGINE_BACKENDS_CPU_POOLING_CC_
#define HALYARD_ENGINE_BACKENDS_CPU_POOLING_CC_
namespace halyard::engine::cpu {

// Some channels of one pixel of the output.
struct PooledWindow {
    const void* x = nullptr;  // the window's first pixel
    int64_t rows = 0;
    int64_t columns = 0;
    int64_t rowStride = 0;  // elements from a row of pixels to the next
    int64_t depth = 0;      // and from a pixel to the next
    int64_t channels = 0;
    void* to = nullptr;
};

struct Pooling {
    Pool2d::Function function = Pool2d::Function::AVERAGE;
    RealRange range;
    QuantizedRange bounds;
    Quantization x;
    Quantization output;
};

using PoolWindow = void (*)(const Pooling& pooling, const PooledWindow& window);

}  // namespace halyard::engine::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

// What add(value, pixel) makes of `value` over all pixels.
template <typename T, typename Value, typename Add>
HWY_INLINE Value fold(const PooledWindow& window, const T* x, Value value, Add add) {
    for (int64_t row = 0; row < window.rows; ++row) {
        const T* pixel = x + row * window.rowStride;
        for (int64_t column = 0; column < window.columns; ++column) {
            value = add(value, pixel);
            pixel += window.depth;
        }
    }
    return value;
}

template <typename T>
void poolFloats(const Pooling& pooling, const PooledWindow& window) {
    const FloatVector low = hn::Set(kFloats, pooling.range.low);
    const FloatVector high = hn::Set(kFloats, pooling.range.high);
    const FloatVector count = hn::Set(kFloats, static_cast<float>(window.rows * window.columns));
    const auto compute = [&](auto pool) HWY_ATTR {
        forEachVector(window.channels, [&](int64_t i, auto there) HWY_ATTR {
            const FloatVector value = pool(static_cast<const T*>(window.x) + i, there);
            storeFloats(clampLanes(value, low, high), static_cast<T*>(window.to) + i, there);
        });
    };
    switch (pooling.function) {
        case Pool2d::Function::AVERAGE:
            compute([&](const T* x, auto there) HWY_ATTR {
                const FloatVector sum = fold(window, x, hn::Zero(kFloats),
                                             [&](FloatVector value, const T* pixel) HWY_ATTR {
                                                 return hn::Add(value, loadFloats(pixel, there));
                                             });
                return hn::Div(sum, count);
            });
            break;
        case Pool2d::Function::L2:
            compute([&](const T* x, auto there) HWY_ATTR {
                const FloatVector sum = fold(window, x, hn::Zero(kFloats),
                                             [&](FloatVector value, const T* pixel) HWY_ATTR {
                                                 const FloatVector each = loadFloats(pixel, there);
                                                 return hn::Add(value, hn::Mul(each, each));
                                             });
                return hn::Sqrt(hn::Div(sum, count));
            });
            break;
        case Pool2d::Function::MAX:
            compute([&](const T* x, auto there) HWY_ATTR {
                const FloatVector least = hn::Set(kFloats, -std::numeric_limits<float>::infinity());
                return fold(window, x, least, [&](FloatVector value, const T* pixel) HWY_ATTR {
                    const FloatVector each = loadFloats(pixel, there);
                    const auto isLarger = hn::Or(hn::Gt(each, value), hn::IsNaN(each));
                    return hn::IfThenElse(isLarger, each, value);
                });
            });
            break;
    }
}

// Bytes are compared as they are, as many as a vector has.
template <typename T>
void largestBytes(const Pooling& pooling, const PooledWindow& window) {
    constexpr hn::CappedTag<T, 64> kVector;
    const auto lanes = static_cast<int64_t>(hn::Lanes(kVector));
    const auto low = hn::Set(kVector, static_cast<T>(pooling.bounds.low));
    const auto high = hn::Set(kVector, static_cast<T>(pooling.bounds.high));
    const auto* const x = static_cast<const T*>(window.x);
    auto* const to = static_cast<T*>(window.to);
    const auto largest = [&](int64_t i, auto load) HWY_ATTR {
        const auto found = fold(window, x + i, low, [&](auto value, const T* pixel) HWY_ATTR {
            return hn::Max(value, load(pixel));
        });
        return hn::Min(found, high);
    };
    int64_t i = 0;
    for (; i + lanes <= window.channels; i += lanes) {
        const auto value =
                largest(i, [&](const T* pixel) HWY_ATTR { return hn::LoadU(kVector, pixel); });
        hn::StoreU(value, kVector, to + i);
    }
    if (i < window.channels) {
        const auto rest = static_cast<size_t>(window.channels - i);
        const auto value = largest(
                i, [&](const T* pixel) HWY_ATTR { return loadFirst(kVector, pixel, rest); });
        storeFirst(value, kVector, to + i, rest);
    }
}

template <typename T>
void poolBytes(const Pooling& pooling, const PooledWindow& window) {
    if (pooling.function == Pool2d::Function::MAX) {
        return largestBytes<T>(pooling, window);
    }
    const IntVector low = hn::Set(kInts, pooling.bounds.low);
    const IntVector high = hn::Set(kInts, pooling.bounds.high);
    const auto compute = [&](auto pool) HWY_ATTR {
        forEachVector(window.channels, [&](int64_t i, auto there) HWY_ATTR {
            const IntVector value = pool(static_cast<const T*>(window.x) + i, there);
            storeInts(hn::Min(hn::Max(value, low), high), static_cast<T*>(window.to) + i, there);
        });
    };
    const auto sum = [&](const T* x, auto there) HWY_ATTR {
        return fold(window, x, hn::Zero(kInts), [&](IntVector value, const T* pixel) HWY_ATTR {
            return hn::Add(value, loadInts(pixel, there));
        });
    };
    const int64_t pixels = window.rows * window.columns;
    if (pooling.x == pooling.output) {
        // Halves away from zero. Sums are below 2^24, which floats hold exactly, and so the
        // quotient's integer part is that of the exact quotient.
        const IntVector half = hn::Set(kInts, static_cast<int32_t>(pixels / 2));
        const FloatVector count = hn::Set(kFloats, static_cast<float>(pixels));
        compute([&](const T* x, auto there) HWY_ATTR {
            const IntVector value = sum(x, there);
            const IntVector away =
                    hn::IfThenElse(hn::Gt(value, hn::Zero(kInts)), half, hn::Neg(half));
            const FloatVector rounded = hn::ConvertTo(kFloats, hn::Add(value, away));
            return hn::ConvertTo(kInts, hn::Div(rounded, count));
        });
    } else {
        const QuantizedMean mean(pooling.x, pooling.output, pixels);
        const FloatVector multiplier = hn::Set(kFloats, mean.multiplier());
        const FloatVector bias = hn::Set(kFloats, mean.bias());
        const Rounding round(0, pooling.bounds);
        compute([&](const T* x, auto there) HWY_ATTR {
            const FloatVector value = hn::ConvertTo(kFloats, sum(x, there));
            return round(hn::Add(hn::Mul(value, multiplier), bias));
        });
    }
}

}  // namespace

const ElementForms<PoolWindow>* poolWindows() {
    static const ElementForms<PoolWindow> kForms = {.floats = poolFloats<float>,
                                                    .halves = poolFloats<Half>,
                                                    .unsignedBytes = poolBytes<uint8_t>,
                                                    .signedBytes = poolBytes<int8_t>};
    return &kForms;
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {
namespace {

// Its sum of bytes stays below 2^24, and nobody waits long for one.
constexpr int64_t kMostPixels = 1 << 16;
constexpr int64_t kChannels = 256;  // of a tile

Status pool(const Pool2d& node, const Pooling& pooling, PoolWindow form, KernelCall& call) {
    const Shape& x = call.input(0).shape();
    const Shape& output = call.output(0).shape();
    HALYARD_ASSIGN_OR_RETURN(const ResolvedWindow resolved,
                             resolveWindow(node.window, x[1], x[2], node.filterH, node.filterW));
    const int64_t depth = x[3];
    const int64_t chunks = (depth + kChannels - 1) / kChannels;
    const int64_t pixels = int64_t{output[0]} * output[1] * output[2];
    const auto size = static_cast<int64_t>(elementSize(call.output(0).type->type));
    const auto* from = call.input(0).as<std::byte>();
    auto* to = call.output(0).as<std::byte>();
    const int64_t window = int64_t{node.filterH} * node.filterW;
    const int64_t operations = 32 + window * std::min(depth, kChannels) / 4;
    return call.inParallel(
            pixels * chunks, operations, [&](int64_t begin, int64_t end, size_t /*worker*/) {
                for (int64_t i = begin; i < end; ++i) {
                    const int64_t pixel = i / chunks;
                    const int64_t channel = i % chunks * kChannels;
                    const int64_t column = pixel % output[2];
                    const int64_t row = pixel / output[2] % output[1];
                    const int64_t batch = pixel / output[2] / output[1];
                    const int64_t top = row * node.window.strideH - resolved.top;
                    const int64_t left = column * node.window.strideW - resolved.left;
                    const int64_t firstRow = std::max<int64_t>(top, 0);
                    const int64_t firstColumn = std::max<int64_t>(left, 0);
                    const int64_t start =
                            ((batch * x[1] + firstRow) * x[2] + firstColumn) * depth + channel;
                    form(pooling,
                         {.x = from + start * size,
                          .rows = std::min<int64_t>(top + node.filterH, x[1]) - firstRow,
                          .columns = std::min<int64_t>(left + node.filterW, x[2]) - firstColumn,
                          .rowStride = x[2] * depth,
                          .depth = depth,
                          .channels = std::min(kChannels, depth - channel),
                          .to = to + (pixel * depth + channel) * size});
                }
            });
}

}  // namespace

Status supports(const Pool2d& node, const Graph& graph, const Node& whole) {
    if (int64_t{node.filterH} * node.filterW > kMostPixels) {
        return unsupported("pools windows of at most " + std::to_string(kMostPixels) + " pixels");
    }
    const TensorType& x = inputType(graph, whole);
    if (node.function == Pool2d::Function::AVERAGE && isOfBytes(x.type) &&
        isBeyondOutput(x.quantization.scale, outputType(graph, whole).quantization.scale)) {
        return unsupported("has no mean of bytes one step of which is more than the output holds");
    }
    return {};
}

Result<std::unique_ptr<const StepKernel>> compile(const Pool2d& node,
                                                  const KernelArguments& arguments,
                                                  InstructionSet set) {
    const TensorType& x = inputType(arguments.graph, arguments.node);
    const TensorType& output = outputType(arguments.graph, arguments.node);
    const PoolWindow form = HALYARD_CPU_CHOOSE(set, poolWindows)()->of(x.type);
    Pooling pooling = {.function = node.function,
                       .range = rangeOf(node.activation),
                       .bounds = {},
                       .x = x.quantization,
                       .output = output.quantization};
    if (isOfBytes(x.type)) {
        pooling.bounds = rangeOf(node.activation, output);
    }
    return plainKernel(arguments, toString(set), [node, pooling, form](KernelCall& call) {
        return pool(node, pooling, form, call);
    });
}

}  // namespace halyard::engine::cpu
#endif
