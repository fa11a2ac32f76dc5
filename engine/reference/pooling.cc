// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "engine/graph/shape_inference.h"
#include "engine/numerics/activation_range.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/quantized_mean.h"
#include "engine/numerics/reals.h"
#include "engine/reference/inner_loops.h"
#include "engine/reference/kernels.h"
#include "engine/reference/mean.h"
#include "engine/reference/ranking.h"

namespace halyard::engine::ref {
namespace {

// Calls body(index, window) for every element of the output, which returns a Status; window(visit)
// calls visit(index of the input) for each element of the window that is not padding, and fails
// when it is time to stop.
template <typename Body>
Status forEachWindow(const Pool2d& node, const ResolvedWindow& resolved, const Shape& x,
                     const Shape& output, KernelCall& call, Body body) {
    const int64_t height = output[1];
    const int64_t width = output[2];
    const int64_t depth = x[3];
    return call.forEach(output[0] * height * width, 1, [&](int64_t pixel) -> Status {
        const int64_t batch = pixel / (height * width);
        const int64_t top = pixel / width % height * node.window.strideH - resolved.top;
        const int64_t left = pixel % width * node.window.strideW - resolved.left;
        const Extent rows = {.first = std::max<int64_t>(top, 0),
                             .end = std::min<int64_t>(top + node.filterH, x[1])};
        const Extent columns = {.first = std::max<int64_t>(left, 0),
                                .end = std::min<int64_t>(left + node.filterW, x[2])};
        for (int64_t channel = 0; channel < depth; ++channel) {
            HALYARD_RETURN_IF_ERROR(body(pixel * depth + channel, [&](auto visit) {
                return forEachTap(call, rows, columns, 1,
                                  [&](int64_t i, int64_t j, int64_t /*begin*/, int64_t /*end*/) {
                                      visit(((batch * x[1] + i) * x[2] + j) * depth + channel);
                                  });
            }));
        }
        return {};
    });
}

// The mean of a window in the input's own steps, halves away from zero: the rule of NNAPI and
// LiteRT for AVERAGE_POOL_2D, whose input and output share scale and zero point. Windows of an even
// number of elements have such halves often.
class WindowMean {
  public:
    void add(int32_t value) {
        mSum += value;
        ++mCount;
    }
    // Inference has refused windows without elements.
    int32_t value(QuantizedRange range) const {
        const int64_t half = mSum > 0 ? mCount / 2 : -(mCount / 2);
        const auto rounded = static_cast<int32_t>((mSum + half) / mCount);
        return std::clamp(rounded, range.low, range.high);
    }
    int64_t sum() const { return mSum; }
    int64_t count() const { return mCount; }

  private:
    int64_t mSum = 0;
    int64_t mCount = 0;
};

// The result of a window of real numbers.
class RealPool {
  public:
    explicit RealPool(Pool2d::Function function) : mFunction(function) {}

    void add(float value) {
        switch (mFunction) {
            case Pool2d::Function::AVERAGE:
                mMean.add(value);
                break;
            case Pool2d::Function::L2:
                mMean.add(value * value);
                break;
            case Pool2d::Function::MAX:
                mLargest = isLarger(value, mLargest) ? value : mLargest;
                break;
        }
    }
    float value() const {
        switch (mFunction) {
            case Pool2d::Function::AVERAGE:
                return mMean.value();
            case Pool2d::Function::L2:
                return std::sqrt(mMean.value());
            case Pool2d::Function::MAX:
                return mLargest;
        }
        return 0.0F;
    }

  private:
    Pool2d::Function mFunction;
    FloatMean mMean;
    float mLargest = -std::numeric_limits<float>::infinity();
};

}  // namespace

Status run(const Pool2d& node, KernelCall& call) {
    const ConstTensorView& x = call.input(0);
    const TensorView& output = call.output(0);
    HALYARD_ASSIGN_OR_RETURN(
            const ResolvedWindow resolved,
            resolveWindow(node.window, x.shape()[1], x.shape()[2], node.filterH, node.filterW));
    if (countOf(output.shape()) == 0) {
        return {};
    }
    if (isFloat(x.type->type)) {
        const RealRange range = rangeOf(node.activation);
        const RealReader reader(x);
        const RealWriter writer(output);
        return forEachWindow(
                node, resolved, x.shape(), output.shape(), call,
                [&](int64_t at, auto window) -> Status {
                    RealPool pool(node.function);
                    HALYARD_RETURN_IF_ERROR(window([&](int64_t i) { pool.add(reader[i]); }));
                    writer.set(at, activate(pool.value(), range));
                    return {};
                });
    }
    const bool average = node.function == Pool2d::Function::AVERAGE;
    const QuantizedRange range = rangeOf(node.activation, *output.type);
    const bool sameSteps = x.type->quantization == output.type->quantization;
    return withQuantizedElements(x.type->type, [&]<typename T>() -> Status {
        const auto compute = [&](int64_t at, auto window) -> Status {
            WindowMean mean;
            int32_t largest = std::numeric_limits<int32_t>::min();
            HALYARD_RETURN_IF_ERROR(window([&](int64_t i) {
                mean.add(x.as<T>()[i]);
                largest = std::max<int32_t>(largest, x.as<T>()[i]);
            }));
            int32_t value = std::clamp(largest, range.low, range.high);
            if (average) {
                const QuantizedMean rescaled(x.type->quantization, output.type->quantization,
                                             mean.count());
                value = sameSteps ? mean.value(range) : rescaled(mean.sum(), range);
            }
            output.as<T>()[at] = static_cast<T>(value);
            return {};
        };
        return forEachWindow(node, resolved, x.shape(), output.shape(), call, compute);
    });
}

}  // namespace halyard::engine::ref
