// SPDX-License-Identifier: Apache-2.0
//
// How products are made tile by tile: forms of a group's tile, and a guess at what each takes.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/backends/gpu/kernels/vector_load.h"
#include "engine/backends/gpu/kernels/weighted_sum.h"
#include "engine/backends/gpu/planning/step_plan.h"
#include "engine/graph/nodes.h"

namespace halyard::engine::gpu {

// Of a group, whatever its tile.
inline constexpr int32_t kTileWorkItems = 256;

// So many of `each` hold all.
inline int64_t partsOf(int64_t all, int64_t each) {
    return (all + each - 1) / each;
}

// Of a row of products, as kTileRowsText has them.
inline int64_t rowWords(const Geometry& geometry, const VectorLoad& vectors) {
    if (!vectors.gathers) {
        return partsOf(geometry.products(), vectors.pack);
    }
    // Each part begins with a word of its own.
    const bool isWhole = geometry.groupDepth == geometry.depth && geometry.dilationW == 1;
    const int64_t parts = int64_t{geometry.filterH} * (isWhole ? 1 : geometry.filterW);
    const int64_t part = int64_t{geometry.groupDepth} * (isWhole ? geometry.filterW : 1);
    return parts * partsOf(part, vectors.pack);
}

// A copy of the kernel's struct.
struct DepthwiseWindow {
    int32_t strideH = 1;
    int32_t strideW = 1;
    int32_t top = 0;
    int32_t left = 0;
    int32_t dilationH = 1;
    int32_t dilationW = 1;
    int32_t outputH = 1;
    int32_t outputW = 1;
    int32_t tileH = 1;
    int32_t tileW = 1;
    int32_t tilesH = 1;
    int32_t tilesW = 1;
    int32_t haloH = 1;
    int32_t haloW = 1;
};

// How a group's work lies on its items.
struct GemmTile {
    int32_t positions = 0;
    int32_t channels = 0;
    int32_t groupSplitK = 1;
    int32_t words = 32;       // of a row, at a time
    int32_t itemRows = 0;     // of an item; with the device's matrices tiles of 16, of a warp
    int32_t itemColumns = 0;  // the same, of 8

    size_t localBytes(int32_t buffers) const {
        const int32_t tile = (positions + channels) * (words + 4) * buffers;
        const int32_t sums = groupSplitK * positions * (channels + 8);
        // And what else a kernel may have there: pixels, sums of both factors' rows, a flag.
        return static_cast<size_t>(std::max(tile, sums) + 2 * positions + channels + 1) *
               sizeof(uint32_t);
    }
    // One is at work while the others are on their way.
    int32_t pipelineStages(size_t localBytesOfDevice, bool asyncCopy) const {
        int32_t count = 1;
        while (count < (asyncCopy ? 4 : 2) && localBytes(count + 1) <= localBytesOfDevice) {
            ++count;
        }
        return count;
    }
};

// How a step's products are made: by which form, of what rows.
struct GemmForm {
    GemmTile form;
    VectorLoad vectors;
    bool isMatrix = false;
    bool asyncCopy = false;  // rows go to local memory as they are, by themselves
    int64_t workGroups = 0;  // without what they share
    int32_t splitK = 1;      // groups that share a tile
    double cycles = 0;
    DepthwiseWindow window = {};  // with a depthwise convolution behind them

    std::string defines(const StepPlan& step, const Geometry& geometry) const;
    std::string name() const;
    int64_t words(const Geometry& geometry) const { return rowWords(geometry, vectors); }
    // Elements of its rows that one of those has who share a tile.
    int32_t splitKLength(const Geometry& geometry) const {
        const int64_t rounds = partsOf(words(geometry), form.words);
        return static_cast<int32_t>(partsOf(rounds, splitK)) * form.words * vectors.pack;
    }
};

// What choices depend on besides the geometry.
struct GemmNeeds {
    DataType x = DataType::FLOAT32;
    bool mayRound = false;  // float32 may be computed with float16's precision
    const DeviceFacts& facts;
    const MatrixFeatures& matrixFeatures;
};
// Of the products of a step's first node.
GemmNeeds gemmNeedsOf(const StepPlan& step);

// The best first.
std::vector<GemmForm> gemmForms(const GemmNeeds& needs, const Geometry& geometry);
// The same where a depthwise convolution follows, whose `window` slides over the results. None
// where no tile reaches all that one of its pixels is made of.
std::vector<GemmForm> pointwiseDepthwiseForms(const GemmNeeds& needs, const Geometry& geometry,
                                              const Geometry& window);
// The same where means over pictures of the results follow. None where no tile holds a picture.
std::vector<GemmForm> pooledGemmForms(const GemmNeeds& needs, const Geometry& geometry);

// Whether addTiledPointwiseDepthwise() has tiles for a depthwise convolution with this filter.
bool isLegalPointwiseDepthwise(const Shape& filter, const Window2d& window);

// Whether products and means over pictures of their results take less as one launch than as two:
// tiles that hold a picture may be few, or be filled by half.
bool isProfitablePooledGemm(const GemmNeeds& needs, const Geometry& geometry);

}  // namespace halyard::engine::gpu
