// SPDX-License-Identifier: Apache-2.0
//
// Boxes that a network moves, and where the largest score of a heatmap lies in a box. Boxes that
// end before they begin make the run fail.

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "engine/backends/gpu/kernels/finding.h"
#include "engine/backends/gpu/kernels/kernels.h"
#include "engine/backends/gpu/kernels/map.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/requantize.h"

namespace halyard::engine::gpu {
namespace {

// A kernel's finding about a region.
enum Reason : int32_t { kBatch = 1, kMalformed };

// Exact where bytes ask for it.
constexpr std::string_view kQuotientText = R"(
#if defined(DIVIDES_EXACTLY) || defined(HAS_DOUBLES)
#define QUOTIENT(a, b) divide(a, b)
#else
#define QUOTIENT(a, b) ((a) / (b))
#endif
)";

constexpr KernelFamily kCheckBoxes = {.kernel = "check_boxes",
                                      .shared = {kFindingText},
                                      .text = R"(
__kernel __attribute__((reqd_work_group_size(CHECK_WORK_ITEMS, 1, 1))) void check_boxes(
        IN(boxes),
#ifdef BATCHES
        IN(batches),
#endif
        OUT(finding), const int count, const int batch_count, const float scale, const int zero) {
    BIND_IN(B, boxes);
#ifdef BATCHES
    BIND_IN(I32, batches);
#endif
    int wrong = NOTHING;
    int reason = 0;
    int value = 0;
    EACH_VALUE(i, count) {
#define CORNER(k) REAL(B, LOAD(B, boxes, i * 4 + k), scale, zero)
        int against = CORNER(0) <= CORNER(2) && CORNER(1) <= CORNER(3) ? 0 : 2;
        int batch = 0;
#ifdef BATCHES
        batch = batches[i];
        against = batch < 0 || batch >= batch_count ? 1 : against;
#endif
        if (wrong == NOTHING && against != 0) {
            wrong = i;
            reason = against;
            value = batch;
        }
    }
    REPORT(wrong, reason, value)
}
)",
                                      .local = {kCheckWorkItems, 1, 1}};

// A box of a region for each work-item. How much a box of bytes grows is in a table, made by the
// host, so that every backend has the same.
constexpr KernelFamily kTransform = {.kernel = "transform_boxes",
                                     .text = R"(
typedef struct {
    int count;
    int classes;
    int images;
    float box_scale;
    int box_zero;
    float delta_scale;
    int delta_zero;
    float image_scale;
    int image_zero;
    float output_scale;
    int output_zero;
} Numbers;

float inside(const float position, const float end) {
    const float least = position < 0.0f ? 0.0f : position;
    return end < least ? end : least;
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void transform_boxes(
        IN(boxes), IN(deltas), IN(batches), IN(images), IN(growths), OUT(pr),
        const Numbers n) {
    const int at = (int)get_global_id(0);
    if (at >= n.count) {
        return;
    }
    BIND_IN(B, boxes);
    BIND_IN(D, deltas);
    BIND_IN(I32, batches);
    BIND_IN(B, images);
    BIND_IN(F32, growths);
    BIND_OUT(B, pr);
    const int region = at / n.classes;
    const int batch = clamp(batches[region], 0, n.images - 1);
#define CORNER(k) REAL(B, LOAD(B, boxes, region * 4 + k), n.box_scale, n.box_zero)
#define DELTA(k) REAL(D, LOAD(D, deltas, at * 4 + k), n.delta_scale, n.delta_zero)
#define IMAGE(k) REAL(B, LOAD(B, images, batch * 2 + k), n.image_scale, n.image_zero)
#ifdef QUANTIZED
#define GROWTH(k) growths[LOAD(D, deltas, at * 4 + k) & 255]
#else
#define GROWTH(k) exp(DELTA(k))
#endif
#define MOVE(axis, size) { \
        const float begin = CORNER(axis); \
        const float end = CORNER(axis + 2); \
        const float before = end - begin; \
        const float centre = (begin + end) / 2.0f + DELTA(axis) * before; \
        const float extent = GROWTH(axis + 2) * before; \
        const float low = inside(centre - extent / 2.0f, size); \
        const float high = inside(centre + extent / 2.0f, size); \
        STORE(B, pr, at * 4 + axis, FROM_REAL(B, low, n.output_scale, n.output_zero)); \
        STORE(B, pr, at * 4 + axis + 2, FROM_REAL(B, high, n.output_scale, n.output_zero)); \
    }
    MOVE(0, IMAGE(1))
    MOVE(1, IMAGE(0))
}
)",
                                     .local = {64, 1, 1}};

// A keypoint of a region for each work-item: the peak of the quadratic surface through the largest
// pixel and its neighbours, as the reference has it.
constexpr KernelFamily kKeypoint = {.kernel = "find_keypoints",
                                    .shared = {kQuotientText},
                                    .text = R"(
#ifdef FLOATS
#define IS_LARGER(a, b) ((a) > (b) || (isnan(a) && !isnan(b)))
#else
#define IS_LARGER(a, b) ((a) > (b))
#endif
typedef struct {
    int count;
    int keypoints;
    int size;
    float tolerance;
    float scale;
    int zero;
    float box_scale;
    int box_zero;
    float score_scale;
    int score_zero;
    float position_scale;
    int position_zero;
} Numbers;

int mirrored(const int i, const int size) {
    return i < 0 ? 1 : (i >= size ? size - 2 : i);
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void find_keypoints(
        IN(heatmaps), IN(boxes), OUT(scores), OUT(positions), const Numbers n) {
    const int at = (int)get_global_id(0);
    if (at >= n.count) {
        return;
    }
    BIND_IN(X, heatmaps);
    BIND_IN(B, boxes);
    BIND_OUT(X, scores);
    BIND_OUT(B, positions);
    const int region = at / n.keypoints;
    const int pixels = n.size * n.size;
    const int first = region * pixels * n.keypoints + at % n.keypoints;
    int largest = 0;
    VALUE(X) most = LOAD(X, heatmaps, first);
    for (int i = 1; i < pixels; ++i) {
        const VALUE(X) score = LOAD(X, heatmaps, first + i * n.keypoints);
        if (IS_LARGER(score, most)) {
            largest = i;
            most = score;
        }
    }
    const int row = largest / n.size;
    const int column = largest % n.size;
    float s[3][3];
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            const int pixel =
                mirrored(row + i - 1, n.size) * n.size + mirrored(column + j - 1, n.size);
            s[i][j] = REAL(X, LOAD(X, heatmaps, first + pixel * n.keypoints), n.scale, n.zero);
        }
    }
    const float gx = (s[1][2] - s[1][0]) / 2.0f;
    const float gy = (s[2][1] - s[0][1]) / 2.0f;
    const float hxx = s[1][0] - 2.0f * s[1][1] + s[1][2];
    const float hyy = s[0][1] - 2.0f * s[1][1] + s[2][1];
    const float hxy = (s[2][2] - s[2][0] - s[0][2] + s[0][0]) / 4.0f;
    const float determinant = hxx * hyy - hxy * hxy;
    float x = 0.0f;
    float y = 0.0f;
    float score = s[1][1];
    if (!(fabs(determinant) < n.tolerance + n.tolerance * (hxx * hyy))) {
        x = QUOTIENT(hxy * gy - hyy * gx, determinant);
        y = QUOTIENT(hxy * gx - hxx * gy, determinant);
        const float distance = fabs(x) < fabs(y) ? fabs(y) : fabs(x);
        if (distance > 1.5f) {
            const float shorter = QUOTIENT(1.5f, distance);
            x *= shorter;
            y *= shorter;
        }
        const float bend = (hxx * x + hxy * y) * x + (hxy * x + hyy * y) * y;
        score = s[1][1] + gx * x + gy * y + bend / 2.0f;
    }
    STORE(X, scores, at, FROM_REAL(X, score, n.score_scale, n.score_zero));
#define CORNER(k) REAL(B, LOAD(B, boxes, region * 4 + k), n.box_scale, n.box_zero)
#define STORE_POSITION(axis, pixel, distance) { \
        const float part = QUOTIENT((float)(pixel) + (distance) + 0.5f, (float)n.size); \
        const float position = part * (CORNER(axis + 2) - CORNER(axis)) + CORNER(axis); \
        STORE(B, positions, at * 2 + axis, \
              FROM_REAL(B, position, n.position_scale, n.position_zero)); \
    }
    STORE_POSITION(0, column, x)
    STORE_POSITION(1, row, y)
}
)",
                                    .local = {64, 1, 1}};

// Copies of the kernels' structs.
struct TransformNumbers {
    int32_t count = 0;
    int32_t classes = 0;
    int32_t images = 0;
    float boxScale = 1.0F;
    int32_t boxZero = 0;
    float deltaScale = 1.0F;
    int32_t deltaZero = 0;
    float imageScale = 1.0F;
    int32_t imageZero = 0;
    float outputScale = 1.0F;
    int32_t outputZero = 0;
};
struct KeypointNumbers {
    int32_t count = 0;
    int32_t keypoints = 0;
    int32_t size = 0;
    float tolerance = 0.0F;
    float scale = 1.0F;
    int32_t zero = 0;
    float boxScale = 1.0F;
    int32_t boxZero = 0;
    float scoreScale = 1.0F;
    int32_t scoreZero = 0;
    float positionScale = 1.0F;
    int32_t positionZero = 0;
};

void define(std::string& defines, std::string_view name, std::string_view value = "1") {
    defines.append("#define ").append(name).append(" ").append(value).append("\n");
}

// Of input `boxes`; `batches`: the input with their batches, of which there are so many.
Status checkBoxes(StepPlan& step, size_t boxes, std::optional<size_t> batches, int32_t batchCount) {
    const TensorType& type = step.input(boxes);
    if (type.shape[0] == 0) {
        return {};
    }
    const Operand finding = step.check([=](const Finding& found) {
        const std::string region = "region " + std::to_string(found.index);
        return found.reason == kBatch
                       ? invalidArgument(region + " lies in batch " + std::to_string(found.value) +
                                         " of " + std::to_string(batchCount))
                       : invalidArgument(region + " ends before it begins");
    });
    std::string defines;
    define(defines, "B", storageOf(type.type));
    if (batches.has_value()) {
        define(defines, "BATCHES");
    }
    HALYARD_ASSIGN_OR_RETURN(Launch* const launch, step.launch(kCheckBoxes, defines));
    launch->with(step.in(boxes));
    if (batches.has_value()) {
        launch->with(step.in(*batches));
    }
    launch->with(finding).with(type.shape[0]).with(batchCount);
    launch->with(type.quantization.scale).with(type.quantization.zeroPoint);
    launch->workItems = {kCheckWorkItems, 1, 1};
    launch->work = static_cast<uint64_t>(type.shape[0]) * 8;
    return {};
}

Status supportsBoxes(const Graph& graph, const Node& whole, const DeviceFacts& facts) {
    return facts.canDivide() || !isQuantized(graph.tensor(whole.inputs[0]).type.type)
                   ? Status()
                   : unsupported("can't divide exactly on " + facts.name);
}

}  // namespace

Status supports(const BoxTransform& /*node*/, const Graph& graph, const Node& whole,
                const DeviceFacts& facts) {
    return supportsBoxes(graph, whole, facts);
}

Status plan(const BoxTransform& /*node*/, StepPlan& step) {
    const TensorType& boxes = step.input(0);
    const TensorType& deltas = step.input(1);
    const TensorType& images = step.input(3);
    const TensorType& output = step.output();
    HALYARD_RETURN_IF_ERROR(checkBoxes(step, 0, 2, images.shape[0]));
    TransformNumbers n = {.count = static_cast<int32_t>(countOf(output.shape) / 4),
                          .classes = output.shape[1] / 4,
                          .images = images.shape[0]};
    if (n.count == 0 || n.images == 0) {
        return {};
    }
    std::string defines;
    define(defines, "B", storageOf(boxes.type));
    define(defines, "D", storageOf(deltas.type));
    Operand growths = step.in(0);  // not read
    if (isQuantized(deltas.type)) {
        define(defines, "QUANTIZED");
        std::array<float, 256> table;
        const QuantizedRange range = rangeOf(deltas.type);
        for (int32_t i = range.low; i <= range.high; ++i) {
            table[static_cast<size_t>(i & 255)] = std::exp(dequantize(i, deltas.quantization));
        }
        growths = step.table(std::span<const float>(table));
        n.boxScale = boxes.quantization.scale;
        n.boxZero = boxes.quantization.zeroPoint;
        n.deltaScale = deltas.quantization.scale;
        n.deltaZero = deltas.quantization.zeroPoint;
        n.imageScale = images.quantization.scale;
        n.imageZero = images.quantization.zeroPoint;
        n.outputScale = output.quantization.scale;
        n.outputZero = output.quantization.zeroPoint;
    }
    HALYARD_ASSIGN_OR_RETURN(Launch* const launch, step.launch(kTransform, defines));
    for (size_t i = 0; i < 4; ++i) {
        launch->with(step.in(i));
    }
    launch->with(growths).with(step.out()).with(n);
    launch->workItems = {static_cast<size_t>(n.count), 1, 1};
    launch->work = static_cast<uint64_t>(n.count) * 64;
    return {};
}

Status supports(const HeatmapMaxKeypoint& /*node*/, const Graph& graph, const Node& whole,
                const DeviceFacts& facts) {
    return supportsBoxes(graph, whole, facts);
}

Status plan(const HeatmapMaxKeypoint& /*node*/, StepPlan& step) {
    const TensorType& x = step.input(0);
    const TensorType& boxes = step.input(1);
    HALYARD_RETURN_IF_ERROR(checkBoxes(step, 1, std::nullopt, 0));
    KeypointNumbers n = {.count = static_cast<int32_t>(countOf(step.output(0).shape)),
                         .keypoints = x.shape[3],
                         .size = x.shape[1],
                         .tolerance = x.type == DataType::FLOAT16 ? 1e-3F : 1e-5F};
    if (n.count == 0) {
        return {};
    }
    std::string defines;
    define(defines, "X", storageOf(x.type));
    define(defines, "B", storageOf(boxes.type));
    if (isFloat(x.type)) {
        define(defines, "FLOATS");
    } else {
        const Quantization& score = step.output(0).quantization;
        const Quantization& position = step.output(1).quantization;
        n.scale = x.quantization.scale;
        n.zero = x.quantization.zeroPoint;
        n.boxScale = boxes.quantization.scale;
        n.boxZero = boxes.quantization.zeroPoint;
        n.scoreScale = score.scale;
        n.scoreZero = score.zeroPoint;
        n.positionScale = position.scale;
        n.positionZero = position.zeroPoint;
    }
    HALYARD_ASSIGN_OR_RETURN(Launch* const launch, step.launch(kKeypoint, defines));
    launch->with(step.in(0)).with(step.in(1)).with(step.out(0)).with(step.out(1)).with(n);
    launch->workItems = {static_cast<size_t>(n.count), 1, 1};
    launch->work = static_cast<uint64_t>(n.count) *
                   (static_cast<uint64_t>(n.size) * static_cast<uint64_t>(n.size) * 4 + 64);
    return {};
}

}  // namespace halyard::engine::gpu
