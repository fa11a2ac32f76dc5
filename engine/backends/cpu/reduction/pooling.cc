// SPDX-License-Identifier: Apache-2.0
//
// Windows of spatial positions, all channels of a spatial position side by side. Sums take their
// terms in the order of the reference, so that floats come out equal, too.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/reduction/pooling.cc"
#include "engine/backends/cpu/vectors/targets.h"
// Read for each instruction set.
#include "engine/backends/cpu/vectors/lanes-inl.h"
#include "engine/backends/cpu/vectors/partial_vectors-inl.h"

#include <algorithm>
#include <limits>

#include "engine/backends/cpu/elementwise/element_forms.h"
#include "engine/backends/cpu/kernels/byte_types.h"
#include "engine/backends/cpu/kernels/kernels.h"
#include "engine/backends/cpu/kernels/plain_kernel.h"
#include "engine/graph/shape_inference.h"
#include "engine/numerics/activation_range.h"
#include "engine/numerics/quantized_mean.h"

#ifndef HALYARD_ENGINE_BACKENDS_CPU_POOLING_CC_
#define HALYARD_ENGINE_BACKENDS_CPU_POOLING_CC_
namespace halyard::engine::cpu {

// Some channels of neighbours in a line of the output, whose windows are alike. Strides are in
// elements.
struct PooledWindows {
    const void* x = nullptr;  // the first window's first spatial position
    int64_t count = 0;
    int64_t stride = 0;  // from a window to the next
    int64_t rows = 0;    // of a window
    int64_t columns = 0;
    int64_t rowStride = 0;  // from a row of spatial positions to the next
    int64_t depth = 0;      // and from a spatial position to the next, of the output, too
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

using PoolWindows = void (*)(const Pooling& pooling, const PooledWindows& windows);

}  // namespace halyard::engine::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

// Folds add(value, position) into `value` over all spatial positions of the window that
// begins with `x`.
template <typename T, typename Value, typename Add>
HWY_INLINE Value fold(const PooledWindows& windows, const T* x, Value value, Add add) {
    for (int64_t row = 0; row < windows.rows; ++row) {
        const T* pixel = x + row * windows.rowStride;
        for (int64_t column = 0; column < windows.columns; ++column) {
            value = add(value, pixel);
            pixel += windows.depth;
        }
    }
    return value;
}

// Calls body(where the window begins, where its spatial position of the output does) for each of
// them.
template <typename T, typename Body>
HWY_INLINE void forEachWindow(const PooledWindows& windows, Body body) {
    const auto* x = static_cast<const T*>(windows.x);
    auto* to = static_cast<T*>(windows.to);
    for (int64_t i = 0; i < windows.count; ++i, x += windows.stride, to += windows.depth) {
        body(x, to);
    }
}

template <typename T>
void poolFloats(const Pooling& pooling, const PooledWindows& windows) {
    const FloatVector low = hn::Set(kFloats, pooling.range.low);
    const FloatVector high = hn::Set(kFloats, pooling.range.high);
    const FloatVector count = hn::Set(kFloats, static_cast<float>(windows.rows * windows.columns));
    const auto compute = [&](auto pool) HWY_ATTR {
        forEachWindow<T>(windows, [&](const T* x, T* to) HWY_ATTR {
            forEachVector(windows.channels, [&](int64_t i, auto there) HWY_ATTR {
                storeFloats(clampLanes(pool(x + i, there), low, high), to + i, there);
            });
        });
    };
    switch (pooling.function) {
        case Pool2d::Function::AVERAGE:
            compute([&](const T* x, auto there) HWY_ATTR {
                const FloatVector sum = fold(windows, x, hn::Zero(kFloats),
                                             [&](FloatVector value, const T* pixel) HWY_ATTR {
                                                 return hn::Add(value, loadFloats(pixel, there));
                                             });
                return hn::Div(sum, count);
            });
            break;
        case Pool2d::Function::L2:
            compute([&](const T* x, auto there) HWY_ATTR {
                const FloatVector sum = fold(windows, x, hn::Zero(kFloats),
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
                return fold(windows, x, least, [&](FloatVector value, const T* pixel) HWY_ATTR {
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
void largestBytes(const Pooling& pooling, const PooledWindows& windows) {
    constexpr hn::CappedTag<T, 64> kVector;
    const auto lanes = static_cast<int64_t>(hn::Lanes(kVector));
    const auto low = hn::Set(kVector, static_cast<T>(pooling.bounds.low));
    const auto high = hn::Set(kVector, static_cast<T>(pooling.bounds.high));
    const auto largest = [&](const T* x, auto load) HWY_ATTR {
        const auto found = fold(windows, x, low, [&](auto value, const T* pixel) HWY_ATTR {
            return hn::Max(value, load(pixel));
        });
        return hn::Min(found, high);
    };
    int64_t i = 0;
    for (; i + lanes <= windows.channels; i += lanes) {
        forEachWindow<T>(windows, [&](const T* x, T* to) HWY_ATTR {
            const auto load = [&](const T* pixel) HWY_ATTR { return hn::LoadU(kVector, pixel); };
            hn::StoreU(largest(x + i, load), kVector, to + i);
        });
    }
    if (i < windows.channels) {
        const auto rest = static_cast<size_t>(windows.channels - i);
        forEachWindow<T>(windows, [&](const T* x, T* to) HWY_ATTR {
            const auto load = [&](const T* pixel)
                                      HWY_ATTR { return loadFirst(kVector, pixel, rest); };
            storeFirst(largest(x + i, load), kVector, to + i, rest);
        });
    }
}

template <typename T>
void poolBytes(const Pooling& pooling, const PooledWindows& windows) {
    if (pooling.function == Pool2d::Function::MAX) {
        return largestBytes<T>(pooling, windows);
    }
    const IntVector low = hn::Set(kInts, pooling.bounds.low);
    const IntVector high = hn::Set(kInts, pooling.bounds.high);
    const auto compute = [&](auto pool) HWY_ATTR {
        forEachWindow<T>(windows, [&](const T* x, T* to) HWY_ATTR {
            forEachVector(windows.channels, [&](int64_t i, auto there) HWY_ATTR {
                const IntVector value = pool(x + i, there);
                storeInts(hn::Min(hn::Max(value, low), high), to + i, there);
            });
        });
    };
    const auto sum = [&](const T* x, auto there) HWY_ATTR {
        return fold(windows, x, hn::Zero(kInts), [&](IntVector value, const T* pixel) HWY_ATTR {
            return hn::Add(value, loadInts(pixel, there));
        });
    };
    const int64_t pixels = windows.rows * windows.columns;
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

const ElementForms<PoolWindows>* poolForms() {
    static const ElementForms<PoolWindows> kForms = {.floats = poolFloats<float>,
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

// The largest window. Its sum of bytes stays below 2^24, and a single one is short enough to need
// no checkpoint.
constexpr int64_t kMostPixels = 1 << 16;
constexpr int64_t kChannels = 256;  // of a tile

class PoolingKernel {
  public:
    PoolingKernel(const Pool2d& node, const Pooling& pooling, PoolWindows form)
        : mNode(node), mPooling(pooling), mForm(form) {}

    Status run(KernelCall& call) const {
        const Shape& x = call.input(0).shape();
        const Shape& output = call.output(0).shape();
        HALYARD_ASSIGN_OR_RETURN(
                const ResolvedWindow resolved,
                resolveWindow(mNode.window, x[1], x[2], mNode.filterH, mNode.filterW));
        const int64_t depth = x[3];
        const int64_t chunks = (depth + kChannels - 1) / kChannels;
        const int64_t pixels = int64_t{output[0]} * output[1] * output[2];
        const int64_t window = int64_t{mNode.filterH} * mNode.filterW;
        const int64_t operations = 32 + window * std::min(depth, kChannels) / 4;
        return call.inParallel(
                pixels * chunks, operations, [&](int64_t begin, int64_t end, size_t /*worker*/) {
                    while (begin < end) {
                        const int64_t pixel = begin % pixels;
                        const int64_t count = std::min(output[2] - pixel % output[2], end - begin);
                        poolLine(call, resolved, begin / pixels * kChannels, pixel, count);
                        begin += count;
                    }
                });
    }

  private:
    // Of `count` neighbours in a line of the output, from `pixel` on, the channels from
    // `channel` on, as many as kChannels.
    void poolLine(KernelCall& call, const ResolvedWindow& resolved, int64_t channel, int64_t pixel,
                  int64_t count) const {
        const Shape& x = call.input(0).shape();
        const Shape& output = call.output(0).shape();
        const auto size = static_cast<int64_t>(elementSize(call.output(0).type->type));
        const auto* const from = call.input(0).as<std::byte>();
        auto* const to = call.output(0).as<std::byte>();
        const int64_t depth = x[3];
        const int64_t width = x[2];
        const int64_t batch = pixel / output[2] / output[1];
        const int64_t top = pixel / output[2] % output[1] * mNode.window.strideH - resolved.top;
        const int64_t firstRow = std::max<int64_t>(top, 0);
        const int64_t line = (batch * x[1] + firstRow) * width;
        for (const int64_t end = pixel + count; pixel < end;) {
            const int64_t left = pixel % output[2] * mNode.window.strideW - resolved.left;
            const int64_t firstColumn = std::max<int64_t>(left, 0);
            const int64_t columns = std::min<int64_t>(left + mNode.filterW, width) - firstColumn;
            // Windows that no border cuts are alike.
            const int64_t alike =
                    columns < mNode.filterW
                            ? 1
                            : std::min((width - left - columns) / mNode.window.strideW + 1,
                                       end - pixel);
            mForm(mPooling, {.x = from + ((line + firstColumn) * depth + channel) * size,
                             .count = alike,
                             .stride = mNode.window.strideW * depth,
                             .rows = std::min<int64_t>(top + mNode.filterH, x[1]) - firstRow,
                             .columns = columns,
                             .rowStride = width * depth,
                             .depth = depth,
                             .channels = std::min(kChannels, depth - channel),
                             .to = to + (pixel * depth + channel) * size});
            pixel += alike;
        }
    }

    const Pool2d mNode;
    const Pooling mPooling;
    const PoolWindows mForm;
};

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
                                                  const CpuTarget& target) {
    const TensorType& x = inputType(arguments.graph, arguments.node);
    const TensorType& output = outputType(arguments.graph, arguments.node);
    const PoolWindows form = HALYARD_CPU_CHOOSE(target.set, poolForms)()->of(x.type);
    Pooling pooling = {.function = node.function,
                       .range = rangeOf(node.activation),
                       .bounds = {},
                       .x = x.quantization,
                       .output = output.quantization};
    if (isOfBytes(x.type)) {
        pooling.bounds = rangeOf(node.activation, output);
    }
    return plainKernel(arguments, toString(target.set),
                       [kernel = PoolingKernel(node, pooling, form)](KernelCall& call) {
                           return kernel.run(call);
                       });
}

}  // namespace halyard::engine::cpu
#endif
