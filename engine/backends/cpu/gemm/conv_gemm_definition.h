// SPDX-License-Identifier: Apache-2.0
//
// Definition of a node that is computed as a GEMM, next to its packed weights.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "engine/backends/cpu/gemm/conv_gemm_plan.h"
#include "engine/backends/cpu/gemm/filter_taps.h"
#include "engine/backends/cpu/gemm/float_gemm.h"
#include "engine/backends/cpu/gemm/stride_phase.h"
#include "engine/backends/cpu/hardware/cpu_tuning.h"
#include "engine/backends/cpu/kernels/epilogue.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/fields.h"
#include "engine/base/status.h"
#include "engine/graph/nodes.h"
#include "engine/graph/tensor.h"

namespace halyard::engine::cpu {

// What distinguishes the nodes. Inputs: x, weights [channels][depth], bias [channels].
struct ConvGemmNode {
    // Null: x is seen as [batch, K], and each batch has one window, which is all of it.
    const Window2d* window = nullptr;
    int64_t groups = 1;
    Activation activation = Activation::NONE;
};

// The weights as the graph has them: [channel][line of the filter][taps and depth], or those that a
// stride phase takes of them.
struct ConvGemmFilter {
    int64_t channels = 0;
    int64_t groups = 1;
    int64_t runs = 1;       // of one channel
    int64_t runLength = 0;  // not padded
    int64_t paddedRun = 0;
    FilterTaps taps = {};

    HALYARD_FIELDS(channels, groups, runs, runLength, paddedRun, taps)

    int64_t groupChannels() const { return channels / groups; }
    int64_t depth() const { return runs * runLength; }
    int64_t paddedDepth() const { return runs * paddedRun; }
};

// Inputs of a step that multiplies x, channel by channel, with scales before the product takes it:
// [batch, height, width, channels] and [batch, 1, 1, channels], floats.
struct InputScale {
    size_t x = 0;
    size_t scales = 1;
};

// The node, without what the graph may let go of.
struct ConvGemmDefinition {
    std::optional<Window2d> window;
    // Of width 1: height is seen as width, so that tiles have rows. Window and filter are swapped.
    bool swapsAxes = false;
    int64_t filterH = 1, filterW = 1;
    Activation activation = Activation::NONE;
    ConvGemmFilter filter;
    std::optional<InputScale> scale;   // none: x is input 0, as it is
    std::optional<StridePhase> phase;  // of a transposed convolution, which has no window
    Epilogue epilogue;
    size_t threads = 1;
    CpuTuning tuning = {};

    Result<GemmShape> shapeFor(const Shape& x, const Shape& output) const;
    // " of stride phases": which rows those of A are, behind a kernel's name.
    std::string_view rowsName() const {
        return scale.has_value() ? " of scaled rows" : phase.has_value() ? " of stride phases" : "";
    }
};

// A run of the filter is padded to a multiple of `multiple`.
ConvGemmFilter filterOf(const ConvGemmNode& node, const Shape& weights, int64_t multiple);

// Whether its filter is 1x1 with stride 1 and without padding.
bool isPointwise(const Conv2d& node, const Shape& weights);

// The weights of a channel as one run, padded to a multiple of `multiple`.
inline ConvGemmFilter withoutGaps(const ConvGemmFilter& filter, int64_t multiple) {
    ConvGemmFilter whole = filter;
    whole.runs = 1;
    whole.runLength = filter.depth();
    whole.paddedRun = (whole.runLength + multiple - 1) / multiple * multiple;
    return whole;
}

// Of a panel, which has those of one group.
struct PanelChannels {
    int64_t first = 0;
    int64_t count = 0;
};
inline PanelChannels panelChannels(const ConvGemmFilter& filter, int64_t lanes, int64_t panel) {
    const int64_t ofGroup = filter.groupChannels();
    const int64_t perGroup = (ofGroup + lanes - 1) / lanes;
    const int64_t inGroup = panel % perGroup * lanes;
    return {.first = panel / perGroup * ofGroup + inGroup,
            .count = std::min(lanes, ofGroup - inGroup)};
}

// For a node that is part of the step, with those of its nodes that follow it.
inline KernelArguments argumentsOf(const KernelArguments& step, const Node& node,
                                   std::span<const Node* const> others = {}) {
    return {.graph = step.graph,
            .node = node,
            .others = others,
            .constants = step.constants,
            .packed = step.packed,
            .threads = step.threads,
            .checkpoint = step.checkpoint,
            .options = step.options};
}

// Of arguments.node, without what follows it. A run of its filter is padded to a multiple of
// `multiple`.
ConvGemmDefinition convGemmDefinition(const ConvGemmNode& node, const KernelArguments& arguments,
                                      int64_t multiple, const CpuTuning& tuning);

}  // namespace halyard::engine::cpu
