// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <string>

#include "engine/backends/gpu/kernels/kernels.h"
#include "engine/backends/gpu/kernels/map.h"
#include "engine/backends/gpu/kernels/mean.h"
#include "engine/backends/gpu/kernels/reduction.h"
#include "engine/graph/shape_inference.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/requantize.h"

namespace halyard::engine::gpu {
namespace {

// A copy of the kernel's struct.
struct Numbers {
    int32_t height = 0;
    int32_t width = 0;
    int32_t depth = 0;
    int32_t outputH = 0;
    int32_t outputW = 0;
    int32_t filterH = 0;
    int32_t filterW = 0;
    int32_t strideH = 0;
    int32_t strideW = 0;
    int32_t top = 0;
    int32_t left = 0;
    int32_t positions = 0;
    int32_t xZero = 0;
    int32_t zero = 0;
    float ratio = 0.0F;     // of the input's scale to the output's
    MeanNumbers mean = {};  // of a window that hangs over no edge
};

constexpr KernelFamily kPool = {.kernel = "pool",
                                .shared = {kMeanText},
                                .text = R"(
typedef struct {
    int height;
    int width;
    int depth;
    int output_h;
    int output_w;
    int filter_h;
    int filter_w;
    int stride_h;
    int stride_w;
    int top;
    int left;
    int positions;
    int x_zero;
    int zero;
    float ratio;
    MeanNumbers mean;
} Numbers;

__kernel __attribute__((reqd_work_group_size(32, 4, 1))) void pool(
        IN(px), OUT(pr), const Numbers n) {
    const int channel = (int)get_global_id(0);
    const int position = (int)get_global_id(1);
    if (channel >= n.depth || position >= n.positions) {
        return;
    }
    BIND_IN(X, px);
    BIND_OUT(X, pr);
    const int left = position % n.output_w * n.stride_w - n.left;
    const int top = position / n.output_w % n.output_h * n.stride_h - n.top;
    const int batch = position / (n.output_w * n.output_h);
    const int end_row = min(top + n.filter_h, n.height);
    const int end_column = min(left + n.filter_w, n.width);
    const int at = position * n.depth + channel;
#ifdef QUANTIZED
    long sum = 0;
    int largest = -2147483647 - 1;
#else
    float sum = 0.0f;
    float largest = -INFINITY;
#endif
    int count = 0;
    for (int i = max(top, 0); i < end_row; ++i) {
        for (int j = max(left, 0); j < end_column; ++j) {
            const VALUE(X) value =
                    LOAD(X, px, ((batch * n.height + i) * n.width + j) * n.depth + channel);
#if defined(QUANTIZED)
            sum += value;
            largest = max(largest, value);
#elif defined(L2)
            sum += value * value;
#elif defined(AVERAGE)
            sum += value;
#else
            largest = isnan(largest) || largest >= value ? largest : value;
#endif
            ++count;
        }
    }
#ifdef AVERAGE
    MeanNumbers mean = n.mean;
    mean.count = count;
#ifdef MEAN_OF_BYTES
    mean.multiplier = n.ratio * divide(1.0f, (float)count);
    mean.bias = (float)n.zero - (float)((long)count * n.x_zero) * mean.multiplier;
#endif
    const VALUE(X) result = MEAN(sum, mean);
#elif defined(QUANTIZED)
    const int result = clamp(largest, n.mean.least, n.mean.most);
#elif defined(L2)
    const float result = between(sqrt(sum / (float)count), n.mean.low, n.mean.high);
#else
    const float result = between(largest, n.mean.low, n.mean.high);
#endif
    STORE(X, pr, at, result);
}
)",
                                .local = {32, 4, 1}};

}  // namespace

Status supports(const Pool2d& node, const Graph& graph, const Node& whole,
                const DeviceFacts& facts) {
    const TensorType& x = graph.tensor(whole.inputs[0]).type;
    const TensorType& output = graph.tensor(whole.outputs[0]).type;
    if (!isQuantized(x.type) || node.function != Pool2d::Function::AVERAGE ||
        x.quantization == output.quantization) {
        return {};
    }
    if (isBeyondOutput(x.quantization.scale, output.quantization.scale)) {
        return unsupported("takes no mean of bytes whose scales are so far apart");
    }
    return facts.canDivide() ? Status() : unsupported("can't quantise exactly on " + facts.name);
}

Status plan(const Pool2d& node, StepPlan& step) {
    const TensorType& x = step.input(0);
    const TensorType& output = step.output();
    HALYARD_ASSIGN_OR_RETURN(
            const ResolvedWindow resolved,
            resolveWindow(node.window, x.shape[1], x.shape[2], node.filterH, node.filterW));
    const Mean mean = meanOf(node, x, output, int64_t{node.filterH} * node.filterW);
    if (isFloat(x.type) && isMeanOfFeatureMaps(node, x.shape, output.shape) &&
        hasColumns(step.facts())) {
        return addMeanOfFeatureMaps(step, mean);
    }
    Numbers n = {.height = x.shape[1],
                 .width = x.shape[2],
                 .depth = x.shape[3],
                 .outputH = output.shape[1],
                 .outputW = output.shape[2],
                 .filterH = node.filterH,
                 .filterW = node.filterW,
                 .strideH = node.window.strideH,
                 .strideW = node.window.strideW,
                 .top = resolved.top,
                 .left = resolved.left,
                 .positions = static_cast<int32_t>(countOf(output.shape) / x.shape[3])};
    std::string defines = "#define X " + std::string(storageOf(x.type)) + "\n";
    if (node.function == Pool2d::Function::AVERAGE) {
        defines += "#define AVERAGE 1\n";
    } else if (node.function == Pool2d::Function::L2) {
        defines += "#define L2 1\n";
    }
    if (isQuantized(x.type)) {
        defines += "#define QUANTIZED 1\n";
        n.xZero = x.quantization.zeroPoint;
        n.zero = output.quantization.zeroPoint;
        n.ratio = x.quantization.scale / output.quantization.scale;
    }
    defines += mean.defines;
    n.mean = mean.numbers;
    HALYARD_ASSIGN_OR_RETURN(Launch* const launch, step.launch(kPool, defines));
    launch->with(step.in(0)).with(step.out()).with(n);
    launch->workItems = {static_cast<size_t>(n.depth), static_cast<size_t>(n.positions), 1};
    launch->work = static_cast<uint64_t>(countOf(output.shape)) *
                   (static_cast<uint64_t>(node.filterH) * static_cast<uint64_t>(node.filterW) + 8);
    return {};
}

}  // namespace halyard::engine::gpu
