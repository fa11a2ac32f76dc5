// SPDX-License-Identifier: Apache-2.0
//
// Elements in relation to their neighbours: along one axis, or over a feature map.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "engine/graph/shape_inference.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/reals.h"
#include "engine/numerics/requantize.h"
#include "engine/reference/kernels.h"
#include "engine/reference/mean.h"
#include "engine/reference/rows.h"

namespace halyard::engine::ref {
namespace {

// A row of zeros stays zeros, as NNAPI and LiteRT have it: a shorter row counts as so long.
constexpr float kShortestLength = 1e-6F;

template <typename T>
Status normalizeLength(const T* x, T* output, const Row& row, KernelCall& call) {
    float sum = 0.0F;
    HALYARD_RETURN_IF_ERROR(call.forEach(row.count, 1, [&](int64_t i) {
        const float value = toReal(x[row[i]]);
        sum += value * value;
    }));
    const float length = std::max(std::sqrt(sum), kShortestLength);
    return call.forEach(row.count, 1, [&](int64_t i) {
        output[row[i]] = fromReal<T>(toReal(x[row[i]]) / length);
    });
}

// The scale of the input cancels out, so the stored integers are what counts: their squares sum
// exactly, and each result is float32(q - zeroPoint) * m with m = 1 / (sqrt(sum) * s_out), rounded
// once to float32. NNAPI multiplies by an inverse root in fixed point, within one step of this.
template <typename T>
Status normalizeLength(const T* x, T* output, const Row& row, const TensorType& inputType,
                       const TensorType& outputType, KernelCall& call) {
    const int32_t zeroPoint = inputType.quantization.zeroPoint;
    int64_t sum = 0;
    HALYARD_RETURN_IF_ERROR(call.forEach(row.count, 1, [&](int64_t i) {
        const int64_t value = x[row[i]] - zeroPoint;
        sum += value * value;
    }));
    const double length = std::sqrt(static_cast<double>(std::max<int64_t>(sum, 1)));
    const auto m =
            static_cast<float>(1.0 / (length * static_cast<double>(outputType.quantization.scale)));
    return call.forEach(row.count, 1, [&](int64_t i) {
        output[row[i]] = static_cast<T>(roundAndClamp(static_cast<float>(x[row[i]] - zeroPoint) * m,
                                                      outputType.quantization.zeroPoint,
                                                      rangeOf(outputType.type)));
    });
}

template <typename T>
Status normalizeResponse(const LocalResponseNormalize& node, const T* x, T* output, const Row& row,
                         KernelCall& call) {
    // No window is longer than the row.
    const int64_t radius = std::min<int64_t>(node.radius, row.count);
    for (int64_t i = 0; i < row.count; ++i) {
        const int64_t first = std::max<int64_t>(i - radius, 0);
        const int64_t last = std::min(i + radius, row.count - 1);
        float sum = 0.0F;
        HALYARD_RETURN_IF_ERROR(call.forEach(last - first + 1, 1, [&](int64_t j) {
            const float value = toReal(x[row[first + j]]);
            sum += value * value;
        }));
        output[row[i]] =
                fromReal<T>(toReal(x[row[i]]) / std::pow(node.bias + node.alpha * sum, node.beta));
    }
    return {};
}

// The pixels of one channel of one feature map.
template <typename T>
Status normalizeChannel(const InstanceNormalize& node, const T* x, T* output, const Row& pixels,
                        KernelCall& call) {
    FloatMean mean;
    HALYARD_RETURN_IF_ERROR(
            call.forEach(pixels.count, 1, [&](int64_t i) { mean.add(toReal(x[pixels[i]])); }));
    const float centre = mean.value();
    FloatMean variance;
    HALYARD_RETURN_IF_ERROR(call.forEach(pixels.count, 1, [&](int64_t i) {
        const float distance = toReal(x[pixels[i]]) - centre;
        variance.add(distance * distance);
    }));
    const float deviation = std::sqrt(variance.value() + node.epsilon);
    return call.forEach(pixels.count, 1, [&](int64_t i) {
        const float distance = toReal(x[pixels[i]]) - centre;
        output[pixels[i]] = fromReal<T>(node.gamma * distance / deviation + node.beta);
    });
}

// One row; gamma and beta are null where they are left out.
template <typename T>
struct LayerRow {
    const T* x = nullptr;
    const T* gamma = nullptr;
    const T* beta = nullptr;
    T* output = nullptr;
    int64_t count = 0;
};

template <typename T>
Status normalizeLayer(float epsilon, const LayerRow<T>& row, KernelCall& call) {
    FloatMean mean;
    HALYARD_RETURN_IF_ERROR(
            call.forEach(row.count, 1, [&](int64_t i) { mean.add(toReal(row.x[i])); }));
    const float centre = mean.value();
    FloatMean variance;
    HALYARD_RETURN_IF_ERROR(call.forEach(row.count, 1, [&](int64_t i) {
        const float distance = toReal(row.x[i]) - centre;
        variance.add(distance * distance);
    }));
    const float deviation = std::sqrt(variance.value() + epsilon);
    return call.forEach(row.count, 1, [&](int64_t i) {
        float result = (toReal(row.x[i]) - centre) / deviation;
        if (row.gamma != nullptr) {
            result *= toReal(row.gamma[i]);
        }
        if (row.beta != nullptr) {
            result += toReal(row.beta[i]);
        }
        row.output[i] = fromReal<T>(result);
    });
}

}  // namespace

Status run(const L2Normalize& node, KernelCall& call) {
    const ConstTensorView& x = call.input(0);
    const TensorView& output = call.output(0);
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(node.axis, x.shape().rank()));
    if (isFloat(x.type->type)) {
        return withFloatElements(x.type->type, [&]<typename T>() -> Status {
            return forEachRow(x.shape(), axis, [&](const Row& row) {
                return normalizeLength(x.as<T>(), output.as<T>(), row, call);
            });
        });
    }
    return withQuantizedElements(x.type->type, [&]<typename T>() -> Status {
        return forEachRow(x.shape(), axis, [&](const Row& row) {
            return normalizeLength(x.as<T>(), output.as<T>(), row, *x.type, *output.type, call);
        });
    });
}

Status run(const LocalResponseNormalize& node, KernelCall& call) {
    const ConstTensorView& x = call.input(0);
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(node.axis, x.shape().rank()));
    return withFloatElements(x.type->type, [&]<typename T>() -> Status {
        return forEachRow(x.shape(), axis, [&](const Row& row) {
            return normalizeResponse(node, x.as<T>(), call.output(0).as<T>(), row, call);
        });
    });
}

// A feature map's height and width are one axis of the tensor [N, H * W, C].
Status run(const InstanceNormalize& node, KernelCall& call) {
    const ConstTensorView& x = call.input(0);
    if (countOf(x.shape()) == 0) {
        return {};
    }
    const Shape featureMaps = {x.shape()[0], x.shape()[1] * x.shape()[2], x.shape()[3]};
    return withFloatElements(x.type->type, [&]<typename T>() -> Status {
        return forEachRow(featureMaps, 1, [&](const Row& pixels) {
            return normalizeChannel(node, x.as<T>(), call.output(0).as<T>(), pixels, call);
        });
    });
}

Status run(const LayerNormalize& node, KernelCall& call) {
    const ConstTensorView& x = call.input(0);
    if (countOf(x.shape()) == 0) {
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(node.axis, x.shape().rank()));
    const int64_t length = countOf(Shape(x.shape().extents().subspan(axis)));
    const int64_t rows = countOf(x.shape()) / length;
    return withFloatElements(x.type->type, [&]<typename T>() -> Status {
        const auto weights = [&](size_t index) {
            return call.input(index).present() ? call.input(index).as<T>() : nullptr;
        };
        LayerRow<T> row = {.x = x.as<T>(),
                           .gamma = weights(1),
                           .beta = weights(2),
                           .output = call.output(0).as<T>(),
                           .count = length};
        for (int64_t i = 0; i < rows; ++i, row.x += length, row.output += length) {
            HALYARD_RETURN_IF_ERROR(normalizeLayer(node.epsilon, row, call));
        }
        return {};
    });
}

}  // namespace halyard::engine::ref
