// SPDX-License-Identifier: Apache-2.0

#include <bitset>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backends/gpu/kernels/kernels.h"
#include "engine/backends/gpu/kernels/map.h"
#include "engine/backends/gpu/kernels/mean.h"
#include "engine/backends/gpu/kernels/reduction.h"
#include "engine/backends/gpu/kernels/rows.h"
#include "engine/graph/control_input.h"
#include "engine/graph/shape_inference.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/index_walk.h"
#include "engine/numerics/requantize.h"

namespace halyard::engine::gpu {
namespace {

// A copy of the kernel's struct.
struct Numbers {
    float scale = 1.0F;
    int32_t zero = 0;
    float outputScale = 1.0F;
    int32_t outputZero = 0;
    MeanNumbers mean = {};  // of as many elements as become one, whatever that is
};

constexpr std::string_view kNumbersText = R"(
typedef struct {
    float scale;
    int zero;
    float output_scale;
    int output_zero;
    MeanNumbers mean;
} Numbers;
)";

// Walks: KEPT axes of x that tell where an output's elements begin, FOLDED ones that run over them.
constexpr RowFamilies kReduce =
        forRows({.kernel = "reduce", .shared = {kRowsText, kMeanText, kNumbersText}, .text = R"(
typedef struct {
    int kept_extent[KEPT];
    int kept_stride[KEPT];
    int folded_extent[FOLDED];
    int folded_stride[FOLDED];
} Walk;

FOLD(SUM, fold_of, COMBINE)

__kernel __attribute__((reqd_work_group_size(WORK_ITEMS, 1, 1))) void reduce(
        IN(px), OUT(pr), const Walk walk, const Numbers n) {
    BIND_IN(X, px);
    BIND_OUT(R, pr);
    LOCAL_MEMORY(SUM, local_memory);
    int rest = ROW;
    int first = 0;
    for (int axis = KEPT - 1; axis >= 0; --axis) {
        first += rest % walk.kept_extent[axis] * walk.kept_stride[axis];
        rest /= walk.kept_extent[axis];
    }
    SUM a = NOTHING;
    for (int i = LANE; i < n.mean.count; i += WORK_ITEMS) {
        int left = i;
        int at = first;
        for (int axis = FOLDED - 1; axis >= 0; --axis) {
            at += left % walk.folded_extent[axis] * walk.folded_stride[axis];
            left /= walk.folded_extent[axis];
        }
        const VALUE(X) x = LOAD(X, px, at);
        const SUM b = ELEMENT_OF(x);
        a = COMBINE;
    }
    a = fold_of(a, local_memory);
    if (LANE == 0) {
        STORE(R, pr, ROW, FINISH(a));
    }
}
)"});

// Of x as [feature maps, n.count, channels]: neighbouring work-items take neighbouring channels,
// and those of a work-group that share a channel take its elements in turn.
constexpr size_t kColumnChannels = 32;
constexpr size_t kColumnWorkItems = 8;
constexpr KernelFamily kColumns = {.kernel = "reduce_columns",
                                   .shared = {kMeanText, kNumbersText},
                                   .text = R"(
#define CHANNELS 32
#define SHARES 8

__kernel __attribute__((reqd_work_group_size(CHANNELS, SHARES, 1))) void reduce_columns(
        IN(px), OUT(pr), const int channels, const Numbers n) {
    BIND_IN(X, px);
    BIND_OUT(R, pr);
    __local SUM local_memory[SHARES][CHANNELS];
    const int channel = (int)get_global_id(0);
    const int image = (int)get_global_id(2);
    const int column = (int)get_local_id(0);
    const int share = (int)get_local_id(1);
    SUM a = NOTHING;
    if (channel < channels) {
        for (int i = share; i < n.mean.count; i += SHARES) {
            const VALUE(X) x = LOAD(X, px, (image * n.mean.count + i) * channels + channel);
            const SUM b = ELEMENT_OF(x);
            a = COMBINE;
        }
    }
    local_memory[share][column] = a;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (share == 0 && channel < channels) {
        for (int i = 1; i < SHARES; ++i) {
            const SUM b = local_memory[i][column];
            a = COMBINE;
        }
        STORE(R, pr, image * channels + channel, FINISH(a));
    }
}
)",
                                   .local = {kColumnChannels, kColumnWorkItems, 1}};

// Sequential: the first of equals counts.
constexpr KernelFamily kArgument = {.kernel = "find_extreme",
                                    .text = R"(
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void find_extreme(
        IN(px), OUT(pr), const int count, const int along, const int stride) {
    const int at = (int)get_global_id(0);
    if (at >= count) {
        return;
    }
    BIND_IN(X, px);
    BIND_OUT(I32, pr);
    const int first = at / stride * along * stride + at % stride;
    VALUE(X) best = LOAD(X, px, first);
    int best_index = 0;
    for (int i = 1; i < along; ++i) {
        const VALUE(X) x = LOAD(X, px, first + i * stride);
#ifdef FLOATS
        if (!isnan(best) && (isnan(x) || x BEATS best)) {
#else
        if (x BEATS best) {
#endif
            best = x;
            best_index = i;
        }
    }
    pr[at] = best_index;
}
)",
                                    .local = {64, 1, 1}};

struct Axis {
    int32_t extent = 1;
    int32_t stride = 0;
};

// Of those axes of x, as few as there can be; one at least.
std::vector<Axis> axesOf(const Shape& x, const std::bitset<kMaxRank>& reduced, bool folded) {
    const Strides strides = stridesOf(x);
    std::vector<Axis> axes;
    for (size_t i = 0; i < x.rank(); ++i) {
        if (reduced[i] != folded || x[i] == 1) {
            continue;
        }
        const auto stride = static_cast<int32_t>(strides[i]);
        if (!axes.empty() && axes.back().stride == stride * x[i]) {
            axes.back() = {.extent = axes.back().extent * x[i], .stride = stride};
        } else {
            axes.push_back({.extent = x[i], .stride = stride});
        }
    }
    if (axes.empty()) {
        axes.emplace_back();
    }
    return axes;
}

void append(std::vector<int32_t>& walk, const std::vector<Axis>& axes) {
    for (const Axis& axis : axes) {
        walk.push_back(axis.extent);
    }
    for (const Axis& axis : axes) {
        walk.push_back(axis.stride);
    }
}

struct Fold {
    std::string_view sum = "float";
    std::string_view combine;
    std::string_view nothing;
    std::string_view element = "REAL(X, x, n.scale, n.zero)";
    std::string_view finish = "FROM_REAL(R, a, n.output_scale, n.output_zero)";
};

Fold foldOf(Reduce::Function function, bool isQuantizedMean) {
    switch (function) {
        case Reduce::Function::MEAN:
            return isQuantizedMean ? Fold{.sum = "long",
                                          .combine = "a + b",
                                          .nothing = "0",
                                          .element = "(long)x",
                                          .finish = "MEAN(a, n.mean)"}
                                   : Fold{.combine = "a + b",
                                          .nothing = "0.0f",
                                          .finish = "MEAN(a, n.mean)"};
        case Reduce::Function::SUM:
            return {.combine = "a + b", .nothing = "0.0f"};
        case Reduce::Function::PROD:
            return {.combine = "a * b", .nothing = "1.0f"};
        case Reduce::Function::MAX:
            return {.combine = "isnan(a) || a >= b ? a : b", .nothing = "-INFINITY"};
        case Reduce::Function::MIN:
            return {.combine = "isnan(a) || a <= b ? a : b", .nothing = "INFINITY"};
        case Reduce::Function::ALL:
            return {.combine = "a < b ? a : b", .nothing = "1.0f"};
        case Reduce::Function::ANY:
            return {.combine = "a > b ? a : b", .nothing = "0.0f"};
    }
    return {};
}

std::string definesOf(const Fold& fold, const StepPlan& step) {
    std::string defines;
    const auto define = [&defines](std::string_view name, std::string_view value) {
        defines.append("#define ").append(name).append(" ").append(value).append("\n");
    };
    define("X", storageOf(step.input(0).type));
    define("R", storageOf(step.output().type));
    define("SUM", fold.sum);
    define("COMBINE", fold.combine);
    define("NOTHING", fold.nothing);
    define("ELEMENT_OF(x)", fold.element);
    define("FINISH(a)", fold.finish);
    return defines;
}

Status addColumns(StepPlan& step, const std::string& defines, int32_t channels, const Numbers& n) {
    HALYARD_ASSIGN_OR_RETURN(Launch* const launch, step.launch(kColumns, defines));
    const auto results = static_cast<size_t>(countOf(step.output().shape));
    launch->with(step.in(0)).with(step.out()).with(channels).with(n);
    launch->workItems = {static_cast<size_t>(channels), kColumnWorkItems,
                         results / static_cast<size_t>(channels)};
    launch->work = results * (static_cast<uint64_t>(n.mean.count) * 4 + 64);
    return {};
}

// The channels of columns that are many enough to share the work, and not so long that more
// work-items had better share each; 0 where the axes are no columns.
int32_t channelsOf(const std::vector<Axis>& kept, const std::vector<Axis>& folded) {
    constexpr int32_t kLongest = 2048;
    const int32_t channels = kept.back().extent;
    const bool areColumns = kept.size() <= 2 && folded.size() == 1 && kept.back().stride == 1 &&
                            folded[0].stride == channels &&
                            (kept.size() == 1 || kept[0].stride == channels * folded[0].extent);
    return areColumns && channels >= int32_t{kColumnChannels} && folded[0].extent <= kLongest
                   ? channels
                   : 0;
}

}  // namespace

bool hasColumns(const DeviceFacts& facts) {
    return facts.maxWorkGroupSize >= kColumnChannels * kColumnWorkItems;
}

Status addMeanOfFeatureMaps(StepPlan& step, const Mean& mean) {
    const std::string defines =
            definesOf(foldOf(Reduce::Function::MEAN, false), step) + mean.defines;
    return addColumns(step, defines, step.input(0).shape[3], {.mean = mean.numbers});
}

Status supports(const Reduce& node, const Graph& graph, const Node& whole,
                const DeviceFacts& facts) {
    const TensorType& x = graph.tensor(whole.inputs[0]).type;
    if (!isQuantized(x.type)) {
        return {};
    }
    const TensorType& output = graph.tensor(whole.outputs[0]).type;
    if (node.function != Reduce::Function::MEAN) {
        return facts.canDivide() ? Status()
                                 : unsupported("can't quantise exactly on " + facts.name);
    }
    return isBeyondOutput(x.quantization.scale, output.quantization.scale)
                   ? unsupported("takes no mean of bytes whose scales are so far apart")
                   : Status();
}

Status plan(const Reduce& node, StepPlan& step) {
    const TensorType& x = step.input(0);
    const TensorType& output = step.output();
    HALYARD_ASSIGN_OR_RETURN(const std::bitset<kMaxRank> reduced,
                             readAxes(step.known(1), x.shape.rank()));
    const std::vector<Axis> kept = axesOf(x.shape, reduced, false);
    const std::vector<Axis> folded = axesOf(x.shape, reduced, true);
    int64_t count = 1;
    for (size_t axis = 0; axis < x.shape.rank(); ++axis) {
        count *= reduced[axis] ? x.shape[axis] : 1;
    }
    const Mean mean = meanOf(node, x, output, count);
    Numbers n = {.mean = mean.numbers};
    const bool isBytes = isQuantized(x.type);
    if (isBytes) {
        n.scale = x.quantization.scale;
        n.zero = x.quantization.zeroPoint;
        n.outputScale = output.quantization.scale;
        n.outputZero = output.quantization.zeroPoint;
    }
    std::string defines = definesOf(foldOf(node.function, isBytes), step) + mean.defines;
    const int32_t channels = channelsOf(kept, folded);
    if (channels != 0 && hasColumns(step.facts())) {
        return addColumns(step, defines, channels, n);
    }
    defines += "#define KEPT " + std::to_string(kept.size()) + "\n";
    defines += "#define FOLDED " + std::to_string(folded.size()) + "\n";
    std::vector<int32_t> walk;
    append(walk, kept);
    append(walk, folded);
    std::string shape = "walk";
    for (const int32_t number : walk) {
        shape.append(" ").append(std::to_string(number));
    }
    const auto results = static_cast<uint64_t>(countOf(output.shape));
    return addRows(step, {.families = kReduce,
                          .defines = defines,
                          .shape = shape,
                          .rows = results,
                          .length = count,
                          .work = results * (static_cast<uint64_t>(count) * 4 + 64),
                          .hand = [&](Launch& launch) {
                              launch.with(step.in(0)).with(step.out()).withAll(walk).with(n);
                          }});
}

Status supports(const ArgMinMax& /*node*/, const Graph& /*graph*/, const Node& /*whole*/,
                const DeviceFacts& /*facts*/) {
    return {};
}

Status plan(const ArgMinMax& node, StepPlan& step) {
    const TensorType& x = step.input(0);
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(node.axis, x.shape.rank()));
    std::string defines = "#define X " + std::string(storageOf(x.type)) + "\n";
    defines +=
            node.function == ArgMinMax::Function::MAX ? "#define BEATS >\n" : "#define BEATS <\n";
    if (isFloat(x.type)) {
        defines += "#define FLOATS 1\n";
    }
    const auto count = static_cast<int32_t>(countOf(step.output().shape));
    HALYARD_ASSIGN_OR_RETURN(Launch* const launch, step.launch(kArgument, defines));
    launch->with(step.in(0)).with(step.out()).with(count).with(x.shape[axis]);
    launch->with(static_cast<int32_t>(countOf(Shape(x.shape.extents().subspan(axis + 1)))));
    launch->workItems = {static_cast<size_t>(count), 1, 1};
    launch->work = static_cast<uint64_t>(countOf(x.shape)) * 4;
    return {};
}

}  // namespace halyard::engine::gpu
