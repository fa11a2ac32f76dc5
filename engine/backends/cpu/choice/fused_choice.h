// SPDX-License-Identifier: Apache-2.0
//
// Whether a convolution, the depthwise convolution that reads it and the pointwise one behind that
// are computed as one.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/backends/cpu/choice/form_choice.h"
#include "engine/backends/cpu/choice/fused_tiling.h"
#include "engine/backends/cpu/choice/gemm_choice.h"
#include "engine/backends/cpu/hardware/cpu_tuning.h"
#include "engine/base/status.h"

namespace halyard::engine::cpu {

// The nodes: a convolution that expands a feature map, maybe an activation, a depthwise
// convolution, and maybe a convolution that projects its result. Extents are known.
struct FusedLayers {
    bool isInt8 = false;
    bool isFloat = true;   // otherwise of another type than FLOAT32 and int8
    bool isStrict = true;  // results may not be as rough as those of float16
    bool activatesBetween = false;
    // The expansion.
    bool expandsPointwise = true;  // 1x1, stride 1, one group, without padding
    int64_t expansionGroups = 1;
    int64_t expansionDepth = 1;  // elements that one of the expanded feature map is made of
    GemmLayer expansion;
    // The expanded feature map and its depthwise convolution, whose filter is square where `map`
    // is of any use.
    FusedFeatureMap map;
    int64_t filterH = 3, filterW = 3;
    int64_t multiplier = 1;
    int64_t dilationH = 1, dilationW = 1;
    bool keepsType = true;  // both nodes' results are of the expansion's type
    // The projection.
    bool hasProjection = false;
    bool projectsPointwise = true;
    int64_t projectionColumns = 1;
    // Of the micro-kernels: floats of a vector, and of a GEMM's tile.
    int64_t lanes = 4, tileLanes = 8;
    int64_t depthwiseLanes = 4;
    size_t threads = 1;
};

// The extents of an inverted residual block, and how it is cut into passes.
struct ResidualExtents {
    int64_t batches = 1;
    int64_t height = 1, width = 1;  // of the expanded feature map
    int64_t outputHeight = 1, outputWidth = 1;
    int64_t depth = 1;     // elements of the input that one of the expanded feature map is made of
    int64_t expanded = 1;  // channels between
    int64_t channels = 1;  // of the output
    int64_t filter = 1;    // rows that a window has
    int64_t stride = 1;    // and from one to the next
    int64_t block = 1;     // channelBlock(expanded)
    int64_t threads = 1;
    InvertedResidualTuning tuning = {};

    // How many neighbouring channels lie together in the ring: whole tiles of the GEMM if the
    // channels can be cut into such, otherwise whole vectors. 0: not even that.
    static int64_t channelBlock(int64_t lanes, int64_t tileLanes, int64_t channels);

    // No more than leave a pass for each thread.
    int64_t passLines() const {
        const int64_t forThread = (batches * outputHeight + threads - 1) / threads;
        const int64_t fewest = rowStaysNear() ? 1 : tuning.fewestPassLines;
        return std::min(std::max(fewest, (tuning.passPixels + outputWidth - 1) / outputWidth),
                        std::min(outputHeight, forThread));
    }
    // Whether L1d keeps what is expanded for one row of a block until it is filtered.
    bool rowStaysNear() const {
        return filter * width * block * int64_t{sizeof(float)} <= tuning.nearBytes;
    }
    int64_t passes() const { return (outputHeight + passLines() - 1) / passLines(); }
    int64_t ringLines() const { return (passLines() - 1) * stride + filter; }
    int64_t ringLine() const { return width * expanded; }  // elements of one
    int64_t ringLength() const { return ringLines() * ringLine(); }
    int64_t passLength() const { return passLines() * outputWidth * expanded; }
    // Multiply-adds of a pass.
    int64_t passOperations() const {
        return passLines() * (stride * width * depth * expanded +
                              outputWidth * expanded * (filter * filter + channels));
    }
};

// Of a fused pointwise and depthwise convolution, of floats or of int8.
FusedCosts fusedFloatCosts(int64_t lanes, int64_t tileLanes, const FusedTuning& tuning);
FusedCosts fusedInt8Costs(const FusedTuning& tuning);

struct FusedChoice {
    Form form = Form::NODE_BY_NODE;
    LostForms lost;
};

FusedChoice chooseFused(const FusedLayers& layers, const CpuTarget& target);

// OK where the form is legal and takes less time than the nodes one by one.
Status takesInvertedResidual(const FusedLayers& layers, const CpuTarget& target);
Status takesFusedPointwiseDepthwise(const FusedLayers& layers, const CpuTarget& target);

}  // namespace halyard::engine::cpu
