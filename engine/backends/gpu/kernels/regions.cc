// SPDX-License-Identifier: Apache-2.0
//
// Regions of a feature map brought to one size. Regions that there can't be make the run fail; the
// kernel that would compute them leaves them out.

#include <cstdint>
#include <string>

#include "engine/backends/gpu/kernels/finding.h"
#include "engine/backends/gpu/kernels/kernels.h"
#include "engine/backends/gpu/kernels/map.h"
#include "engine/numerics/elements.h"

namespace halyard::engine::gpu {
namespace {

// The samples of a bin along one axis, where the node says their number: a work-item adds up all.
constexpr int32_t kMostSamples = 128;

// A kernel's finding about a region.
enum Reason : int32_t { kBatch = 1, kMalformed, kBeyond };

// A copy of the kernels' struct.
struct Numbers {
    int32_t regions = 0;
    int32_t batches = 0;
    int32_t height = 0;  // of the feature map
    int32_t width = 0;
    int32_t depth = 0;
    int32_t rows = 0;  // of bins
    int32_t columns = 0;
    int32_t samplesH = 0;
    int32_t samplesW = 0;
    float heightRatio = 1.0F;
    float widthRatio = 1.0F;
    float scale = 1.0F;
    int32_t zero = 0;
    float boxScale = 1.0F;
    int32_t boxZero = 0;
    float outputScale = 1.0F;
    int32_t outputZero = 0;
};

constexpr std::string_view kRegionText = R"(
typedef struct {
    int regions;
    int batches;
    int height;
    int width;
    int depth;
    int rows;
    int columns;
    int samples_h;
    int samples_w;
    float height_ratio;
    float width_ratio;
    float scale;
    int zero;
    float box_scale;
    int box_zero;
    float output_scale;
    int output_zero;
} Numbers;

// Exact where bytes ask for it.
#if defined(DIVIDES_EXACTLY) || defined(HAS_DOUBLES)
#define QUOTIENT(a, b) divide(a, b)
#else
#define QUOTIENT(a, b) ((a) / (b))
#endif

typedef struct {
    int batch;
    float x1;
    float y1;
    float x2;
    float y2;
} Region;

Region region_at(const __global ELEMENT(B)* boxes, const __global int* batches, const int index,
                 const Numbers n) {
#define CORNER(i) REAL(B, LOAD(B, boxes, index * 4 + i), n.box_scale, n.box_zero)
    Region region;
    region.batch = batches[index];
    region.x1 = QUOTIENT(CORNER(0), n.width_ratio);
    region.y1 = QUOTIENT(CORNER(1), n.height_ratio);
    region.x2 = QUOTIENT(CORNER(2), n.width_ratio);
    region.y2 = QUOTIENT(CORNER(3), n.height_ratio);
    return region;
}

// 0: there is nothing wrong with it.
int reason_against(const Region region, const Numbers n) {
    if (region.batch < 0 || region.batch >= n.batches) {
        return 1;
    }
    const float width = region.x2 - region.x1;
    const float height = region.y2 - region.y1;
    if (!(width >= 0.0f && height >= 0.0f && isfinite(width) && isfinite(height))) {
        return 2;
    }
#ifdef INSIDE
    if (!(region.x1 >= 0.0f && region.y1 >= 0.0f && region.x2 <= (float)n.width &&
          region.y2 <= (float)n.height)) {
        return 3;
    }
#endif
    return 0;
}
)";

constexpr KernelFamily kCheckRegions = {.kernel = "check_regions",
                                        .shared = {kFindingText, kRegionText},
                                        .text = R"(
__kernel __attribute__((reqd_work_group_size(CHECK_WORK_ITEMS, 1, 1))) void check_regions(
        IN(boxes), IN(batches), OUT(finding), const Numbers n) {
    BIND_IN(B, boxes);
    BIND_IN(I32, batches);
    int wrong = NOTHING;
    int reason = 0;
    int value = 0;
    EACH_VALUE(i, n.regions) {
        const Region region = region_at(boxes, batches, i, n);
        const int against = reason_against(region, n);
        if (wrong == NOTHING && against != 0) {
            wrong = i;
            reason = against;
            value = region.batch;
        }
    }
    REPORT(wrong, reason, value)
}
)",
                                        .local = {kCheckWorkItems, 1, 1}};

// A channel of a bin for each work-item, whose samples are added in the reference's order. Of a
// region that is far larger than the feature map most samples are beyond it: those that may not be
// are found by division, with room at either end for what float32 rounds.
constexpr KernelFamily kAlign = {.kernel = "align_regions",
                                 .shared = {kRegionText},
                                 .text = R"(
typedef struct {
    float begin;
    float bin;
    float step;
    int count;
    int first;
    int end;
} Samples;

float sample_at(const Samples s, const int bin, const int sample) {
    return s.begin + (float)bin * s.bin + ((float)sample + 0.5f) * s.step;
}

Samples samples_of(const float begin, const float end, const int bins, const int bin,
                   const int ratio, const int extent) {
    Samples s;
    const float length = end - begin;
    s.begin = begin;
    s.bin = QUOTIENT(length < 1.0f ? 1.0f : length, (float)bins);
    s.count = ratio > 0 ? ratio : (int)min(ceil(s.bin), 1073741824.0f);
    s.step = QUOTIENT(s.bin, (float)s.count);
    const float start = sample_at(s, bin, 0);
    const float most = (float)s.count;
    const float margin = 4.0f + 1e-6f * ((fabs(begin) + (float)bin * s.bin) / s.step);
    s.first = (int)between((-1.0f - start) / s.step - margin, 0.0f, most);
    s.end = (int)between(((float)extent - start) / s.step + margin, 0.0f, most);
    return s;
}

bool counts(const float position, const int extent) {
    return position >= -1.0f && position <= (float)extent && extent > 0;
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void align_regions(
        IN(px), IN(boxes), IN(batches), OUT(pr), const Numbers n) {
    const int at = (int)get_global_id(0);
    const int bins = n.rows * n.columns;
    if (at / n.depth / bins >= n.regions) {
        return;
    }
    const int channel = at % n.depth;
    const int bin = at / n.depth % bins;
    BIND_IN(X, px);
    BIND_IN(B, boxes);
    BIND_IN(I32, batches);
    BIND_OUT(X, pr);
    const Region region = region_at(boxes, batches, at / n.depth / bins, n);
    if (reason_against(region, n) != 0) {
        return;
    }
    const int bin_row = bin / n.columns;
    const int bin_column = bin % n.columns;
    const Samples rows =
        samples_of(region.y1, region.y2, n.rows, bin_row, n.samples_h, n.height);
    const Samples columns =
        samples_of(region.x1, region.x2, n.columns, bin_column, n.samples_w, n.width);
    float sum = 0.0f;
    for (int i = rows.first; i < rows.end; ++i) {
        const float y = sample_at(rows, bin_row, i);
        if (!counts(y, n.height)) {
            continue;
        }
        const float inside_y = y < 0.0f ? 0.0f : y;
        const bool last_row = (int)inside_y >= n.height - 1;
        const int top = last_row ? n.height - 1 : (int)inside_y;
        const int bottom = last_row ? top : top + 1;
        const float below = last_row ? 0.0f : inside_y - (float)top;
        for (int j = columns.first; j < columns.end; ++j) {
            const float x = sample_at(columns, bin_column, j);
            if (!counts(x, n.width)) {
                continue;
            }
            const float inside_x = x < 0.0f ? 0.0f : x;
            const bool last_column = (int)inside_x >= n.width - 1;
            const int left = last_column ? n.width - 1 : (int)inside_x;
            const int right = last_column ? left : left + 1;
            const float beside = last_column ? 0.0f : inside_x - (float)left;
#define PIXEL(row, column) REAL(X, LOAD(X, px, \
        ((region.batch * n.height + (row)) * n.width + (column)) * n.depth + channel), \
        n.scale, n.zero)
            sum += (1.0f - below) * (1.0f - beside) * PIXEL(top, left);
            sum += (1.0f - below) * beside * PIXEL(top, right);
            sum += below * (1.0f - beside) * PIXEL(bottom, left);
            sum += below * beside * PIXEL(bottom, right);
        }
    }
    const float mean = QUOTIENT(sum, (float)rows.count * (float)columns.count);
    STORE(X, pr, at, FROM_REAL(X, mean, n.output_scale, n.output_zero));
}
)",
                                 .local = {64, 1, 1}};

// The same of whole pixels. Neighbouring bins may share one; a bin without any has the real 0.
constexpr KernelFamily kPool = {.kernel = "pool_regions",
                                .shared = {kRegionText},
                                .text = R"(
#ifdef FLOATS
#define IS_LARGER(a, b) ((a) > (b) || (isnan(a) && !isnan(b)))
#else
#define IS_LARGER(a, b) ((a) > (b))
#endif

int edge_of(const float begin, const float end, const int bins, const int bin, const int extent,
            const bool is_end) {
    const float first = round(begin);
    const float length = QUOTIENT(round(end) - first + 1.0f, (float)bins);
    const float pixel =
        is_end ? ceil(length * (float)(bin + 1) + first) : floor(length * (float)bin + first);
    return min((int)pixel, extent);
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void pool_regions(
        IN(px), IN(boxes), IN(batches), OUT(pr), const Numbers n) {
    const int at = (int)get_global_id(0);
    const int bins = n.rows * n.columns;
    if (at / n.depth / bins >= n.regions) {
        return;
    }
    const int channel = at % n.depth;
    const int bin = at / n.depth % bins;
    BIND_IN(X, px);
    BIND_IN(B, boxes);
    BIND_IN(I32, batches);
    BIND_OUT(X, pr);
    const Region region = region_at(boxes, batches, at / n.depth / bins, n);
    if (reason_against(region, n) != 0) {
        return;
    }
    const int row = bin / n.columns;
    const int column = bin % n.columns;
    const int top = edge_of(region.y1, region.y2, n.rows, row, n.height, false);
    const int bottom = edge_of(region.y1, region.y2, n.rows, row, n.height, true);
    const int left = edge_of(region.x1, region.x2, n.columns, column, n.width, false);
    const int right = edge_of(region.x1, region.x2, n.columns, column, n.width, true);
    bool is_first = true;
    VALUE(X) largest = n.zero;
    for (int i = top; i < bottom; ++i) {
        for (int j = left; j < right; ++j) {
            const VALUE(X) x = LOAD(
                X, px, ((region.batch * n.height + i) * n.width + j) * n.depth + channel);
            if (is_first || IS_LARGER(x, largest)) {
                largest = x;
            }
            is_first = false;
        }
    }
    STORE(X, pr, at, largest);
}
)",
                                .local = {64, 1, 1}};

Numbers numbersOf(const StepPlan& step, float heightRatio, float widthRatio) {
    const TensorType& x = step.input(0);
    const TensorType& boxes = step.input(1);
    const TensorType& output = step.output();
    Numbers n = {.regions = output.shape[0],
                 .batches = x.shape[0],
                 .height = x.shape[1],
                 .width = x.shape[2],
                 .depth = x.shape[3],
                 .rows = output.shape[1],
                 .columns = output.shape[2],
                 .heightRatio = heightRatio,
                 .widthRatio = widthRatio};
    if (isQuantized(x.type)) {
        n.scale = x.quantization.scale;
        n.zero = x.quantization.zeroPoint;
        n.boxScale = boxes.quantization.scale;
        n.boxZero = boxes.quantization.zeroPoint;
        n.outputScale = output.quantization.scale;
        n.outputZero = output.quantization.zeroPoint;
    }
    return n;
}

std::string definesOf(const StepPlan& step, bool staysInside) {
    std::string defines;
    defines.append("#define X ").append(storageOf(step.input(0).type)).append("\n");
    defines.append("#define B ").append(storageOf(step.input(1).type)).append("\n");
    if (isFloat(step.input(0).type)) {
        defines += "#define FLOATS 1\n";
    }
    if (staysInside) {
        defines += "#define INSIDE 1\n";
    }
    return defines;
}

Status failureOf(const Finding& found, int32_t batches) {
    const std::string region = "region " + std::to_string(found.index);
    switch (found.reason) {
        case kBatch:
            return invalidArgument(region + " lies in batch " + std::to_string(found.value) +
                                   " of " + std::to_string(batches));
        case kMalformed:
            return invalidArgument(region + " ends before it begins, or is infinite");
        default:
            return invalidArgument(region + " reaches beyond the feature map");
    }
}

// The check, and the kernel for each element of the output, which does about so much for all bins
// of a region's channel.
Status addRegions(StepPlan& step, const KernelFamily& family, const Numbers& n, bool staysInside,
                  int64_t workPerChannel) {
    if (n.regions == 0) {
        return {};
    }
    const std::string defines = definesOf(step, staysInside);
    const Operand finding = step.check(
            [batches = n.batches](const Finding& found) { return failureOf(found, batches); });
    HALYARD_ASSIGN_OR_RETURN(Launch* const check, step.launch(kCheckRegions, defines));
    check->with(step.in(1)).with(step.in(2)).with(finding).with(n);
    check->workItems = {kCheckWorkItems, 1, 1};
    check->work = static_cast<uint64_t>(n.regions) * 16;
    const int64_t count = countOf(step.output().shape);
    if (count == 0) {
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(Launch* const launch, step.launch(family, defines));
    launch->with(step.in(0)).with(step.in(1)).with(step.in(2)).with(step.out()).with(n);
    launch->workItems = {static_cast<size_t>(count), 1, 1};
    launch->work = static_cast<uint64_t>(n.regions) * static_cast<uint64_t>(n.depth) *
                   static_cast<uint64_t>(workPerChannel);
    return {};
}

Status supportsRegions(const Graph& graph, const Node& whole, const DeviceFacts& facts) {
    return facts.canDivide() || !isQuantized(graph.tensor(whole.inputs[0]).type.type)
                   ? Status()
                   : unsupported("can't divide exactly on " + facts.name);
}

}  // namespace

Status supports(const RoiAlign& node, const Graph& graph, const Node& whole,
                const DeviceFacts& facts) {
    if (node.samplesH > kMostSamples || node.samplesW > kMostSamples) {
        return unsupported("takes no more than " + std::to_string(kMostSamples) +
                           " samples of a bin");
    }
    return supportsRegions(graph, whole, facts);
}

Status plan(const RoiAlign& node, StepPlan& step) {
    Numbers n = numbersOf(step, node.heightRatio, node.widthRatio);
    n.samplesH = node.samplesH;
    n.samplesW = node.samplesW;
    // Two samples for a pixel at most, or as many as there are.
    const auto samplesOf = [](int64_t bins, int64_t samples, int64_t extent) {
        return bins * 16 + (samples > 0 ? bins * samples : 2 * extent);
    };
    return addRegions(step, kAlign, n, false,
                      samplesOf(n.rows, n.samplesH, n.height) *
                              samplesOf(n.columns, n.samplesW, n.width) * 4);
}

Status supports(const RoiPool& /*node*/, const Graph& graph, const Node& whole,
                const DeviceFacts& facts) {
    return supportsRegions(graph, whole, facts);
}

Status plan(const RoiPool& node, StepPlan& step) {
    const Numbers n = numbersOf(step, node.heightRatio, node.widthRatio);
    return addRegions(step, kPool, n, true, int64_t{n.rows + n.height} * (n.columns + n.width) * 2);
}

}  // namespace halyard::engine::gpu
