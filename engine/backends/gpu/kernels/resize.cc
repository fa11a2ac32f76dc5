// SPDX-License-Identifier: Apache-2.0
//
// Images of another size. Where each row and column comes from is a table of the host's, which
// has all steps of it in common with the other backends (resized_axis.h).

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/backends/gpu/kernels/kernels.h"
#include "engine/backends/gpu/kernels/map.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/interpolation.h"
#include "engine/numerics/resized_axis.h"

namespace halyard::engine::gpu {
namespace {

// A row or column of the output. A copy of the kernel's struct.
struct Source {
    int32_t low = 0;
    int32_t high = 0;
    float share = 0.0F;
    int32_t fixedShare = 0;
};

constexpr KernelFamily kResize = {.kernel = "resize",
                                  .text = R"(
typedef struct {
    int low;
    int high;
    float share;
    int fixed_share;
} Source;

__kernel __attribute__((reqd_work_group_size(32, 4, 1))) void resize(
        IN(px), IN(rows), IN(columns), OUT(pr), const int height, const int width, const int depth,
        const int output_h, const int output_w, const int pixels) {
    const int channel = (int)get_global_id(0);
    const int pixel = (int)get_global_id(1);
    if (channel >= depth || pixel >= pixels) {
        return;
    }
    BIND_IN(X, px);
    BIND_OUT(X, pr);
    const __global Source* const all_rows = (const __global Source*)PLACE(rows);
    const __global Source* const all_columns = (const __global Source*)PLACE(columns);
    const Source row = all_rows[pixel / output_w % output_h];
    const Source column = all_columns[pixel % output_w];
    const int image = pixel / (output_w * output_h) * height;
    const int top = (image + row.low) * width;
    const int bottom = (image + row.high) * width;
    const VALUE(X) top_left = LOAD(X, px, (top + column.low) * depth + channel);
#ifdef NEAREST
    const VALUE(X) result = top_left;
#else
    const VALUE(X) top_right = LOAD(X, px, (top + column.high) * depth + channel);
    const VALUE(X) bottom_left = LOAD(X, px, (bottom + column.low) * depth + channel);
    const VALUE(X) bottom_right = LOAD(X, px, (bottom + column.high) * depth + channel);
#ifdef FLOATS
    const float down = row.share;
    const float right = column.share;
    const float result = top_left * (1.0f - down) * (1.0f - right) +
                         bottom_left * down * (1.0f - right) +
                         top_right * (1.0f - down) * right + bottom_right * down * right;
#else
    const int upper = top_left * 2048 + (top_right - top_left) * column.fixed_share;
    const int lower =
            bottom_left * 2048 + (bottom_right - bottom_left) * column.fixed_share - upper;
    const int result = (upper * 2048 + lower * row.fixed_share + (1 << 21)) >> 22;
#endif
#endif
    STORE(X, pr, pixel * depth + channel, result);
}
)",
                                  .local = {32, 4, 1}};
static_assert(kShareBits == 11);

// No image has more rows or columns. Shapes that have are refused before memory is taken for
// where each of them comes from: a client chooses them, and may hold no more than its budget.
constexpr int32_t kMostSources = 1 << 20;

Status checkSources(const Shape& output) {
    for (const size_t axis : {1, 2}) {
        if (output.hasKnownRank() && output[axis] > kMostSources) {
            return unsupported("resizes to at most " + std::to_string(kMostSources) +
                               " rows and columns");
        }
    }
    return {};
}

std::vector<Source> sourcesOf(const Resize& node, int32_t input, int32_t output) {
    const ResizedAxis axis(node, input, output);
    std::vector<Source> sources;
    for (int32_t i = 0; i < output; ++i) {
        if (node.function == Resize::Function::NEAREST) {
            const auto nearest = static_cast<int32_t>(axis.nearest(i));
            sources.push_back({.low = nearest, .high = nearest});
            continue;
        }
        const ResizedAxis::Neighbours neighbours = axis.neighbours(i);
        sources.push_back({.low = static_cast<int32_t>(neighbours.low),
                           .high = static_cast<int32_t>(neighbours.high),
                           .share = neighbours.share,
                           .fixedShare = fixedShare(neighbours.share)});
    }
    return sources;
}

}  // namespace

Status supports(const Resize& /*node*/, const Graph& graph, const Node& whole,
                const DeviceFacts& /*facts*/) {
    return checkSources(graph.tensor(whole.outputs[0]).type.shape);
}

Status plan(const Resize& node, StepPlan& step) {
    const TensorType& x = step.input(0);
    const Shape& output = step.output().shape;
    HALYARD_RETURN_IF_ERROR(checkSources(output));
    const bool nearest = node.function == Resize::Function::NEAREST;
    std::string defines = "#define X ";
    defines.append(nearest ? movedStorageOf(x.type) : storageOf(x.type)).append("\n");
    defines += nearest ? "#define NEAREST 1\n" : "";
    defines += isFloat(x.type) ? "#define FLOATS 1\n" : "";
    const std::vector<Source> rowSources = sourcesOf(node, x.shape[1], output[1]);
    const std::vector<Source> columnSources = sourcesOf(node, x.shape[2], output[2]);
    const Operand rows = step.table(std::span<const Source>(rowSources));
    const Operand columns = step.table(std::span<const Source>(columnSources));
    const auto pixels = static_cast<int32_t>(countOf(output) / output[3]);
    HALYARD_ASSIGN_OR_RETURN(Launch* const launch, step.launch(kResize, defines));
    launch->with(step.in(0)).with(rows).with(columns).with(step.out());
    launch->with(x.shape[1]).with(x.shape[2]).with(x.shape[3]);
    launch->with(output[1]).with(output[2]).with(pixels);
    launch->workItems = {static_cast<size_t>(output[3]), static_cast<size_t>(pixels), 1};
    launch->work = static_cast<uint64_t>(countOf(output)) * 16;
    return {};
}

}  // namespace halyard::engine::gpu
