// SPDX-License-Identifier: Apache-2.0
//
// Elements in relation to others of their row.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "engine/backends/gpu/kernels/kernels.h"
#include "engine/backends/gpu/kernels/map.h"
#include "engine/backends/gpu/kernels/rows.h"
#include "engine/graph/shape_inference.h"
#include "engine/numerics/byte_tables.h"
#include "engine/numerics/elements.h"

namespace halyard::engine::gpu {
namespace {

// A copy of the kernels' struct.
struct Numbers {
    int32_t count = 0;   // elements of a row
    int32_t stride = 1;  // from one of them to the next
    float beta = 0.0F;
    float gamma = 0.0F;
    float epsilon = 0.0F;
    float scale = 1.0F;  // of the output
    int32_t xZero = 0;
    int32_t zero = 0;
    int32_t least = 0;
    int32_t most = 0;
};

constexpr std::string_view kNumbersText = R"(
typedef struct {
    int count;
    int stride;
    float beta;
    float gamma;
    float epsilon;
    float scale;
    int x_zero;
    int zero;
    int least;
    int most;
} Numbers;

#define FIRST (ROW / n.stride * n.count * n.stride + ROW % n.stride)
#define EACH(i) for (int i = LANE; i < n.count; i += WORK_ITEMS)
)";

// The sum of bytes' powers is one of integers (byte_tables.h), so that its order does not matter.
constexpr RowFamilies kSoftmax =
        forRows({.kernel = "softmax", .shared = {kRowsText, kNumbersText}, .text = R"(
#ifdef QUANTIZED
FOLD(int, largest_of, max(a, b))
FOLD(ulong, sum_of, a + b)
#else
FOLD(float, largest_of, a < b ? b : a)
FOLD(float, sum_of, a + b)
#endif

__kernel __attribute__((reqd_work_group_size(WORK_ITEMS, 1, 1))) void softmax(
        IN(px), IN(powers), OUT(pr), const Numbers n) {
    BIND_IN(X, px);
    BIND_OUT(X, pr);
    const int first = FIRST;
#ifdef QUANTIZED
    const __global uint* const power_of = (const __global uint*)PLACE(powers);
    LOCAL_MEMORY(int, extremes);
    LOCAL_MEMORY(ulong, sums);
    int largest = -32768;
    EACH(i) {
        largest = max(largest, LOAD(X, px, first + i * n.stride));
    }
    largest = largest_of(largest, extremes);
    ulong sum = 0;
    EACH(i) {
        sum += power_of[(largest - LOAD(X, px, first + i * n.stride)) & 255];
    }
    sum = sum_of(sum, sums);
    const float m = (float)(1.0 / ((double)sum * (double)n.scale));
    EACH(i) {
        const int at = first + i * n.stride;
        const float power = (float)power_of[(largest - LOAD(X, px, at)) & 255];
        STORE(X, pr, at, round_and_clamp(power * m, n.zero, n.least, n.most));
    }
#else
    LOCAL_MEMORY(float, local_memory);
    float largest = -INFINITY;
    EACH(i) {
        const float x = LOAD(X, px, first + i * n.stride);
        largest = largest < x ? x : largest;
    }
    largest = largest_of(largest, local_memory);
    float sum = 0.0f;
    EACH(i) {
        sum += exp(n.beta * (LOAD(X, px, first + i * n.stride) - largest));
    }
    sum = sum_of(sum, local_memory);
#ifdef LOGARITHMIC
    const float log_of_sum = log(sum);
#endif
    EACH(i) {
        const int at = first + i * n.stride;
        const float x = n.beta * (LOAD(X, px, at) - largest);
#ifdef LOGARITHMIC
        STORE(X, pr, at, x - log_of_sum);
#else
        STORE(X, pr, at, exp(x) / sum);
#endif
    }
#endif
}
)"});

// A row of zeros stays zeros: a shorter row counts as so long as that of the reference.
constexpr RowFamilies kLength =
        forRows({.kernel = "normalize_length", .shared = {kRowsText, kNumbersText}, .text = R"(
#ifdef QUANTIZED
#define SUM long
#else
#define SUM float
#endif
FOLD(SUM, sum_of, a + b)

__kernel __attribute__((reqd_work_group_size(WORK_ITEMS, 1, 1))) void normalize_length(
        IN(px), OUT(pr), const Numbers n) {
    BIND_IN(X, px);
    BIND_OUT(X, pr);
    LOCAL_MEMORY(SUM, local_memory);
    const int first = FIRST;
    SUM sum = 0;
    EACH(i) {
        const VALUE(X) x = LOAD(X, px, first + i * n.stride);
#ifdef QUANTIZED
        sum += (long)((x - n.x_zero) * (x - n.x_zero));
#else
        sum += x * x;
#endif
    }
    sum = sum_of(sum, local_memory);
#ifdef QUANTIZED
    const double length = sqrt((double)max(sum, (long)1));
    const float m = (float)(1.0 / (length * (double)n.scale));
#else
    const float root = sqrt(sum);
    const float length = root < 1e-6f ? 1e-6f : root;
#endif
    EACH(i) {
        const int at = first + i * n.stride;
        const VALUE(X) x = LOAD(X, px, at);
#ifdef QUANTIZED
        STORE(X, pr, at, round_and_clamp((float)(x - n.x_zero) * m, n.zero, n.least, n.most));
#else
        STORE(X, pr, at, x / length);
#endif
    }
}
)"});

// The rows are the positions of a channel.
constexpr RowFamilies kInstance =
        forRows({.kernel = "normalize_instance", .shared = {kRowsText, kNumbersText}, .text = R"(
FOLD(float, sum_of, a + b)

__kernel __attribute__((reqd_work_group_size(WORK_ITEMS, 1, 1))) void normalize_instance(
        IN(px), OUT(pr), const Numbers n) {
    BIND_IN(X, px);
    BIND_OUT(X, pr);
    LOCAL_MEMORY(float, local_memory);
    const int first = FIRST;
    float sum = 0.0f;
    EACH(i) {
        sum += LOAD(X, px, first + i * n.stride);
    }
    const float mean = sum_of(sum, local_memory) / (float)n.count;
    float squares = 0.0f;
    EACH(i) {
        const float distance = LOAD(X, px, first + i * n.stride) - mean;
        squares += distance * distance;
    }
    const float variance = sum_of(squares, local_memory) / (float)n.count;
    const float deviation = sqrt(variance + n.epsilon);
    EACH(i) {
        const int at = first + i * n.stride;
        STORE(X, pr, at, n.gamma * (LOAD(X, px, at) - mean) / deviation + n.beta);
    }
}
)"});

// An element for each work-item: windows overlap.
constexpr KernelFamily kResponse = {.kernel = "normalize_response",
                                    .text = R"(
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void normalize_response(
        IN(px), OUT(pr), const int count, const int along, const int stride, const int radius,
        const float bias, const float alpha, const float beta) {
    const int at = (int)get_global_id(0);
    if (at >= count) {
        return;
    }
    BIND_IN(X, px);
    BIND_OUT(X, pr);
    const int i = at / stride % along;
    const int first = max(i - radius, 0);
    const int last = min(i + radius, along - 1);
    float sum = 0.0f;
    for (int j = first; j <= last; ++j) {
        const float x = LOAD(X, px, at + (j - i) * stride);
        sum += x * x;
    }
    STORE(X, pr, at, LOAD(X, px, at) / pow(bias + alpha * sum, beta));
}
)",
                                    .local = {64, 1, 1}};

std::string definesOf(const TensorType& type) {
    std::string defines = "#define X " + std::string(storageOf(type.type)) + "\n";
    return isQuantized(type.type) ? defines + "#define QUANTIZED 1\n" : defines;
}

Status needsDoubles(const Graph& graph, const Node& whole, const DeviceFacts& facts) {
    return facts.hasDoubles || !isQuantized(graph.tensor(whole.inputs[0]).type.type)
                   ? Status()
                   : unsupported("normalises no bytes without double precision");
}

Result<Numbers> numbersOf(const StepPlan& step, int32_t axis) {
    const TensorType& x = step.input(0);
    const TensorType& output = step.output();
    HALYARD_ASSIGN_OR_RETURN(const size_t resolved, resolveAxis(axis, x.shape.rank()));
    Numbers n;
    n.count = x.shape[resolved];
    n.stride = static_cast<int32_t>(countOf(Shape(x.shape.extents().subspan(resolved + 1))));
    if (isQuantized(output.type)) {
        n.scale = output.quantization.scale;
        n.xZero = x.quantization.zeroPoint;
        n.zero = output.quantization.zeroPoint;
        n.least = minValue(output.type);
        n.most = maxValue(output.type);
    }
    return n;
}

Status normalizeRows(StepPlan& step, const RowFamilies& families, const std::string& defines,
                     const Numbers& n, std::optional<Operand> powers = std::nullopt) {
    const int64_t count = countOf(step.output().shape);
    return addRows(step, {.families = families,
                          .defines = definesOf(step.input(0)) + defines,
                          .shape = "apart " + std::to_string(n.stride),
                          .rows = static_cast<uint64_t>(count / n.count),
                          .length = n.count,
                          .work = static_cast<uint64_t>(count) * 16,
                          .hand = [&](Launch& launch) {
                              launch.with(step.in(0));
                              if (powers.has_value()) {
                                  launch.with(*powers);
                              }
                              launch.with(step.out()).with(n);
                          }});
}

Status addSoftmax(StepPlan& step, float beta, int32_t axis, const std::string& defines) {
    HALYARD_ASSIGN_OR_RETURN(Numbers n, numbersOf(step, axis));
    n.beta = beta;
    Operand powers = step.in(0);
    if (isQuantized(step.input(0).type)) {
        const ExponentialTable table = exponentialTable(beta, step.input(0).quantization.scale);
        powers = step.table(std::span<const uint32_t>(table));
    }
    return normalizeRows(step, kSoftmax, defines, n, powers);
}

}  // namespace

Status supports(const Softmax& /*node*/, const Graph& graph, const Node& whole,
                const DeviceFacts& facts) {
    return needsDoubles(graph, whole, facts);
}

Status plan(const Softmax& node, StepPlan& step) {
    return addSoftmax(step, node.beta, node.axis, "");
}

Status supports(const LogSoftmax& /*node*/, const Graph& /*graph*/, const Node& /*whole*/,
                const DeviceFacts& /*facts*/) {
    return {};
}

Status plan(const LogSoftmax& node, StepPlan& step) {
    return addSoftmax(step, node.beta, node.axis, "#define LOGARITHMIC 1\n");
}

Status supports(const L2Normalize& /*node*/, const Graph& graph, const Node& whole,
                const DeviceFacts& facts) {
    return needsDoubles(graph, whole, facts);
}

Status plan(const L2Normalize& node, StepPlan& step) {
    HALYARD_ASSIGN_OR_RETURN(const Numbers n, numbersOf(step, node.axis));
    return normalizeRows(step, kLength, "", n);
}

Status supports(const InstanceNormalize& /*node*/, const Graph& /*graph*/, const Node& /*whole*/,
                const DeviceFacts& /*facts*/) {
    return {};
}

Status plan(const InstanceNormalize& node, StepPlan& step) {
    const Shape& x = step.input(0).shape;
    const Numbers n = {.count = x[1] * x[2],
                       .stride = x[3],
                       .beta = node.beta,
                       .gamma = node.gamma,
                       .epsilon = node.epsilon};
    return normalizeRows(step, kInstance, "", n);
}

Status supports(const LocalResponseNormalize& /*node*/, const Graph& /*graph*/,
                const Node& /*whole*/, const DeviceFacts& /*facts*/) {
    return {};
}

Status plan(const LocalResponseNormalize& node, StepPlan& step) {
    HALYARD_ASSIGN_OR_RETURN(const Numbers n, numbersOf(step, node.axis));
    const int64_t count = countOf(step.output().shape);
    // No window is longer than the row.
    const int32_t radius = std::min(node.radius, n.count);
    HALYARD_ASSIGN_OR_RETURN(Launch* const launch,
                             step.launch(kResponse, definesOf(step.input(0))));
    launch->with(step.in(0)).with(step.out()).with(static_cast<int32_t>(count));
    launch->with(n.count).with(n.stride).with(radius);
    launch->with(node.bias).with(node.alpha).with(node.beta);
    launch->workItems = {static_cast<size_t>(count), 1, 1};
    launch->work = static_cast<uint64_t>(count) * (2 * static_cast<uint64_t>(radius) + 16);
    return {};
}

}  // namespace halyard::engine::gpu
