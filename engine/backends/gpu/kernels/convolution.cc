// SPDX-License-Identifier: Apache-2.0
//
// Convolutions and fully connected layers: the choice of a GEMM, and the direct kernels, in which a
// work-item computes an element, or several channels of a position.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "engine/backends/gpu/kernels/convolution.h"
#include "engine/backends/gpu/kernels/epilogue.h"
#include "engine/backends/gpu/kernels/gemm_needs.h"
#include "engine/backends/gpu/kernels/gemv.h"
#include "engine/backends/gpu/kernels/kernels.h"
#include "engine/backends/gpu/kernels/map.h"
#include "engine/backends/gpu/kernels/multiply_accumulate.h"
#include "engine/backends/gpu/kernels/tiled_gemm.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine::gpu {

namespace {

// CHANNELS neighbours at once, so that an element of x is read once for all of them.
constexpr KernelFamily kConvolution = {
        .kernel = "convolve",
        .shared = {kMapNumbersText, kEpilogueText, kMultiplyAccumulateText},
        .text = R"(
__kernel __attribute__((reqd_work_group_size(16, 8, 1))) void convolve(
        PARAMETERS EPILOGUES_PARAMETERS) {
    const int first = (int)get_global_id(0) * CHANNELS;
    const int position = (int)get_global_id(1);
    if (first >= g.channels || position >= g.positions) {
        return;
    }
    BIND_ALL;
    const int taps = g.filter_h * g.filter_w;
    const int column = position % g.output_w * g.stride_w - g.left;
    const int row = position / g.output_w % g.output_h * g.stride_h - g.top;
    const int batch = position / (g.output_w * g.output_h);
    const int group = first / g.channels_per_group * g.group_depth;
    SUM sum[CHANNELS];
    int filter[CHANNELS];
    for (int c = 0; c < CHANNELS; ++c) {
        const int channel = min(first + c, g.channels - 1);
        sum[c] = START(channel);
        filter[c] = channel * taps * g.group_depth;
    }
    for (int i = 0; i < g.filter_h; ++i) {
        const int y = row + i * g.dilation_h;
        if (y < 0 || y >= g.height) {
            continue;
        }
        for (int j = 0; j < g.filter_w; ++j) {
            const int x = column + j * g.dilation_w;
            if (x < 0 || x >= g.width) {
                continue;
            }
            const int from = ((batch * g.height + y) * g.width + x) * g.depth + group;
            const int tap = (i * g.filter_w + j) * g.group_depth;
            for (int k = 0; k < g.group_depth; ++k) {
                const VALUE(X) value = LOAD(X, px, from + k);
                for (int c = 0; c < CHANNELS; ++c) {
                    sum[c] = ADD(sum[c], value, LOAD(W, pw, filter[c] + tap + k));
                }
            }
        }
    }
    for (int c = 0; c < CHANNELS; ++c) {
        const int channel = first + c;
        if (channel < g.channels) {
            VALUE(R) value = FINISH(sum[c], channel);
            EPILOGUE(value, position * g.channels + channel)
            STORE(R, output, position * g.channels + channel, value);
        }
    }
}
)",
        .local = {16, 8, 1}};

constexpr KernelFamily kDepthwise = {
        .kernel = "convolve_depthwise",
        .shared = {kMapNumbersText, kEpilogueText, kMultiplyAccumulateText},
        .text = R"(
__kernel __attribute__((reqd_work_group_size(32, 4, 1))) void convolve_depthwise(
        PARAMETERS EPILOGUES_PARAMETERS) {
    const int channel = (int)get_global_id(0);
    const int position = (int)get_global_id(1);
    if (channel >= g.channels || position >= g.positions) {
        return;
    }
    BIND_ALL;
    const int column = position % g.output_w * g.stride_w - g.left;
    const int row = position / g.output_w % g.output_h * g.stride_h - g.top;
    const int batch = position / (g.output_w * g.output_h);
    SUM sum = START(channel);
UNROLL
    for (int i = 0; i < FILTER_H; ++i) {
        const int y = row + i * g.dilation_h;
UNROLL
        for (int j = 0; j < FILTER_W; ++j) {
            const int x = column + j * g.dilation_w;
            if (y >= 0 && y < g.height && x >= 0 && x < g.width) {
                const int from = ((batch * g.height + y) * g.width + x) * g.depth +
                                 channel / g.channels_per_group;
                sum = ADD(sum, LOAD(X, px, from),
                          LOAD(W, pw, (i * FILTER_W + j) * g.channels + channel));
            }
        }
    }
    VALUE(R) value = FINISH(sum, channel);
    EPILOGUE(value, position * g.channels + channel)
    STORE(R, output, position * g.channels + channel, value);
}
)",
        .local = {32, 4, 1}};

// Taps of a filter whose loops are written out.
constexpr uint64_t kMostUnrolled = 49;

// Gathers what the positions of x would scatter.
constexpr KernelFamily kTransposed = {
        .kernel = "convolve_transposed",
        .shared = {kMapNumbersText, kEpilogueText, kMultiplyAccumulateText},
        .text = R"(
__kernel __attribute__((reqd_work_group_size(32, 4, 1))) void convolve_transposed(
        PARAMETERS EPILOGUES_PARAMETERS) {
    const int channel = (int)get_global_id(0);
    const int position = (int)get_global_id(1);
    if (channel >= g.channels || position >= g.positions) {
        return;
    }
    BIND_ALL;
    const int right = position % g.output_w + g.left;
    const int bottom = position / g.output_w % g.output_h + g.top;
    const int batch = position / (g.output_w * g.output_h);
    const int first_row = bottom < g.filter_h ? 0 : (bottom - g.filter_h) / g.stride_h + 1;
    const int first_column = right < g.filter_w ? 0 : (right - g.filter_w) / g.stride_w + 1;
    const int end_row = min(bottom / g.stride_h + 1, g.height);
    const int end_column = min(right / g.stride_w + 1, g.width);
    SUM sum = START(channel);
    for (int i = first_row; i < end_row; ++i) {
        for (int j = first_column; j < end_column; ++j) {
            const int from = ((batch * g.height + i) * g.width + j) * g.depth;
            const int filter_row = channel * g.filter_h + bottom - i * g.stride_h;
            const int tap = (filter_row * g.filter_w + right - j * g.stride_w) * g.depth;
            for (int k = 0; k < g.depth; ++k) {
                sum = ADD(sum, LOAD(X, px, from + k), LOAD(W, pw, tap + k));
            }
        }
    }
    VALUE(R) value = FINISH(sum, channel);
    EPILOGUE(value, position * g.channels + channel)
    STORE(R, output, position * g.channels + channel, value);
}
)",
        .local = {32, 4, 1}};

// Each work-item has so many channels of a position.
Status addLaunch(StepPlan& step, const KernelFamily& family, Activation activation,
                 const Geometry& geometry, int32_t channelsOfItem, const std::string& defines,
                 uint64_t productsPerElement) {
    const MultiplyAccumulate sum = multiplyAccumulateOf(step, activation);
    const Epilogue epilogue = epilogueOf(step);
    HALYARD_ASSIGN_OR_RETURN(
            Launch* const launch,
            step.launch(family, defines + storageDefines(step) + epilogue.defines));
    launch->with(step.in(0)).with(step.in(1)).with(step.in(2)).with(sum.multipliers);
    launch->with(step.out(0, step.nodeCount() - 1)).with(geometry).with(sum.numbers);
    launch->withAll(epilogue.arguments);
    launch->workItems = {
            static_cast<size_t>((geometry.channels + channelsOfItem - 1) / channelsOfItem),
            static_cast<size_t>(geometry.positions), 1};
    launch->work = static_cast<uint64_t>(geometry.positions) *
                   static_cast<uint64_t>(geometry.channels) * (productsPerElement + 4);
    return {};
}

Geometry geometryOf(const Shape& x, const Shape& filter, const Shape& output,
                    const Window2d& window, const ResolvedWindow& resolved) {
    return {.height = x[1],
            .width = x[2],
            .depth = x[3],
            .filterH = filter[1],
            .filterW = filter[2],
            .outputH = output[1],
            .outputW = output[2],
            .channels = output[3],
            .strideH = window.strideH,
            .strideW = window.strideW,
            .top = resolved.top,
            .left = resolved.left,
            .dilationH = window.dilationH,
            .dilationW = window.dilationW,
            .positions = static_cast<int32_t>(countOf(output) / output[3])};
}

uint64_t areaOf(const Geometry& geometry) {
    return static_cast<uint64_t>(geometry.filterH) * static_cast<uint64_t>(geometry.filterW);
}

// Of a fully connected layer: one convolution of 1x1 feature maps.
Geometry geometryOfLayer(const Shape& weights, const Shape& output) {
    return {.depth = weights[1],
            .channels = output[1],
            .positions = output[0],
            .groupDepth = weights[1],
            .channelsPerGroup = output[1]};
}

Status addConvolution(StepPlan& step, Activation activation, const Geometry& geometry) {
    switch (chooseGemm(gemmNeedsOf(step), geometry).legal.front().algorithm) {
        case GemmAlgorithm::TILED:
            return addTiledGemm(step, geometry, activation);
        case GemmAlgorithm::GEMV:
            return addGemv(step, geometry, activation);
        case GemmAlgorithm::DIRECT:
            break;
    }
    // Neighbours of one group read the same elements.
    const int32_t channels = geometry.channelsPerGroup % 4 == 0 || geometry.groups() == 1 ? 4 : 1;
    return addLaunch(step, kConvolution, activation, geometry, channels,
                     define("CHANNELS", channels), static_cast<uint64_t>(geometry.gemmDepth()));
}

// Each FullyConnected of the step, with what follows it.
std::vector<FusedBranch> fusedBranchesOf(const StepPlan& step) {
    std::vector<FusedBranch> fusedBranches;
    for (size_t which = 0; which < step.nodeCount(); ++which) {
        if (const auto* const product = std::get_if<FullyConnected>(&step.node(which).descriptor)) {
            fusedBranches.push_back({.first = which, .activation = product->activation});
        }
        fusedBranches.back().end = which + 1;
    }
    return fusedBranches;
}

Result<Geometry> geometryOf(const DepthwiseConv2d& node, const StepPlan& step, size_t which) {
    const Shape& x = step.input(0, which).shape;
    const Shape& filter = step.input(1, which).shape;
    HALYARD_ASSIGN_OR_RETURN(const ResolvedWindow resolved,
                             resolveWindow(node.window, x[1], x[2], filter[1], filter[2]));
    Geometry geometry = geometryOf(x, filter, step.output(0, which).shape, node.window, resolved);
    geometry.channelsPerGroup = node.multiplier;
    return geometry;
}

}  // namespace

Result<Geometry> geometryOf(const Conv2d& node, const Shape& x, const Shape& filter,
                            const Shape& output) {
    HALYARD_ASSIGN_OR_RETURN(const ResolvedWindow resolved,
                             resolveWindow(node.window, x[1], x[2], filter[1], filter[2]));
    Geometry geometry = geometryOf(x, filter, output, node.window, resolved);
    geometry.groupDepth = filter[3];
    geometry.channelsPerGroup = output[3] / node.groups;
    return geometry;
}

#define HALYARD_SUMS_ANYTHING(Descriptor)                                                      \
    Status supports(const Descriptor& /*node*/, const Graph& /*graph*/, const Node& /*whole*/, \
                    const DeviceFacts& /*facts*/) {                                            \
        return {};                                                                             \
    }
HALYARD_SUMS_ANYTHING(Conv2d)
HALYARD_SUMS_ANYTHING(DepthwiseConv2d)
HALYARD_SUMS_ANYTHING(TransposeConv2d)
HALYARD_SUMS_ANYTHING(FullyConnected)
#undef HALYARD_SUMS_ANYTHING

Status plan(const Conv2d& node, StepPlan& step) {
    HALYARD_ASSIGN_OR_RETURN(
            const Geometry geometry,
            geometryOf(node, step.input(0).shape, step.input(1).shape, step.output().shape));
    for (size_t which = 1; which < step.nodeCount(); ++which) {
        const NodeDescriptor& behind = step.node(which).descriptor;
        if (const auto* const depthwise = std::get_if<DepthwiseConv2d>(&behind)) {
            HALYARD_ASSIGN_OR_RETURN(const Geometry window, geometryOf(*depthwise, step, which));
            return addTiledPointwiseDepthwise(step, geometry, node.activation, which, window,
                                              depthwise->activation);
        }
        if (std::holds_alternative<Pool2d>(behind) || std::holds_alternative<Reduce>(behind)) {
            return addTiledPooledGemm(step, geometry, node.activation, which);
        }
    }
    return addConvolution(step, node.activation, geometry);
}

Status plan(const DepthwiseConv2d& node, StepPlan& step) {
    HALYARD_ASSIGN_OR_RETURN(const Geometry geometry, geometryOf(node, step, 0));
    // One kernel each for the sizes that nearly all have.
    const bool isUsual = areaOf(geometry) <= kMostUnrolled;
    return addLaunch(
            step, kDepthwise, node.activation, geometry, 1,
            define("FILTER_H", isUsual ? std::to_string(geometry.filterH) : "g.filter_h") +
                    define("FILTER_W", isUsual ? std::to_string(geometry.filterW) : "g.filter_w"),
            areaOf(geometry));
}

Status plan(const TransposeConv2d& node, StepPlan& step) {
    const Shape& x = step.input(0).shape;
    const Shape& filter = step.input(1).shape;
    const Shape& output = step.output().shape;
    HALYARD_ASSIGN_OR_RETURN(const ResolvedWindow resolved,
                             resolveTransposeWindow(node.window, x[1], x[2], filter[1], filter[2],
                                                    output[1], output[2]));
    const Geometry geometry = geometryOf(x, filter, output, node.window, resolved);
    return addLaunch(step, kTransposed, node.activation, geometry, 1, "",
                     areaOf(geometry) * static_cast<uint64_t>(geometry.depth));
}

std::string lostGemmForms(const Graph& graph, const Node& node, bool mayRound,
                          const DeviceFacts& facts, const MatrixFeatures& matrixFeatures) {
    const auto* const conv = std::get_if<Conv2d>(&node.descriptor);
    if (conv == nullptr && node.kind() != NodeKind::FullyConnected) {
        return {};
    }
    const TensorType& x = graph.tensor(node.inputs[0]).type;
    const Shape& weights = graph.tensor(node.inputs[1]).type.shape;
    const Shape& output = graph.tensor(node.outputs[0]).type.shape;
    for (const Shape* const shape : {&x.shape, &weights, &output}) {
        if (!shape->isFullyKnown() || countOf(*shape) == 0) {
            return {};
        }
    }
    const Result<Geometry> geometry = conv == nullptr
                                              ? Result<Geometry>(geometryOfLayer(weights, output))
                                              : geometryOf(*conv, x.shape, weights, output);
    return geometry.ok() ? chooseGemm({.x = x.type,
                                       .mayRound = mayRound,
                                       .facts = facts,
                                       .matrixFeatures = matrixFeatures},
                                      *geometry)
                                   .lostForms()
                         : std::string();
}

// One convolution of 1x1 feature maps, or several that are fused horizontally.
Status plan(const FullyConnected& node, StepPlan& step) {
    const Geometry geometry = geometryOfLayer(step.input(1).shape, step.output().shape);
    const std::vector<FusedBranch> fusedBranches = fusedBranchesOf(step);
    if (fusedBranches.size() == 1) {
        return addConvolution(step, node.activation, geometry);
    }
    if (chooseGemm(gemmNeedsOf(step), geometry).legal.front().algorithm == GemmAlgorithm::TILED) {
        return addTiledHorizontalFusion(step, geometry, fusedBranches);
    }
    for (const FusedBranch& fusedBranch : fusedBranches) {
        StepPlan part = step.part(fusedBranch.first, fusedBranch.end - fusedBranch.first);
        HALYARD_RETURN_IF_ERROR(addConvolution(part, fusedBranch.activation, geometry));
    }
    return {};
}

}  // namespace halyard::engine::gpu
