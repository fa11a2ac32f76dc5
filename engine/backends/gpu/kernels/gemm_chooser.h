// SPDX-License-Identifier: Apache-2.0
//
// The chooser of GEMM forms: every way that GpuAcc computes a GEMM, a convolution as GEMM, or one
// that is fused, with the reason why a device or a shape excludes it and a guess at its cycles. It
// knows devices by their facts alone (gemm_costs.h has what they cost), so that tests describe
// them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backends/gpu/device/device_facts.h"
#include "engine/backends/gpu/kernels/gemm_tiles.h"
#include "engine/backends/gpu/kernels/multiply_accumulate.h"
#include "engine/backends/gpu/kernels/vector_load.h"
#include "engine/graph/nodes.h"

namespace halyard::engine::gpu {

// Of a row along K, as kTileLoadText lays it out.
inline int64_t rowWords(const Geometry& geometry, const VectorLoad& vectors) {
    if (!vectors.gathers) {
        return partsOf(geometry.gemmDepth(), vectors.pack);
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

// By what kernel.
enum class GemmAlgorithm : uint8_t {
    TILED,   // tiles of the output, through local memory
    GEMV,    // few rows: each reads all weights
    DIRECT,  // each work-item its own elements, without local memory
};

struct GemmForm {
    GemmAlgorithm algorithm = GemmAlgorithm::TILED;
    // Of TILED.
    GemmTile tile = {};
    VectorLoad vectors = {};
    bool isMatrix = false;   // by the device's matrix unit
    bool asyncCopy = false;  // operands go to local memory asynchronously
    int32_t pipelineStages = 1;
    int64_t workGroups = 0;       // without split-K
    int32_t splitK = 1;           // work-groups that share a tile
    double cycles = 0;            // of the whole device; 0: not estimated
    DepthwiseWindow window = {};  // with a depthwise convolution behind them

    // "matrix 64 64 2 32 by 3": the same for the same form in every build.
    std::string name() const;
    int64_t words(const Geometry& geometry) const { return rowWords(geometry, vectors); }
    // Elements of K that each work-group of a tile has.
    int32_t splitKLength(const Geometry& geometry) const {
        const int64_t rounds = partsOf(words(geometry), tile.words);
        return static_cast<int32_t>(partsOf(rounds, splitK)) * tile.words * vectors.pack;
    }
};

// A form that the device or the shape excludes.
struct ExcludedGemmForm {
    std::string name;
    std::string reason;
};

struct GemmChoices {
    std::vector<GemmForm> legal;  // the cheapest first
    std::vector<ExcludedGemmForm> excluded;

    // For people: the forms that cost more than the cheapest, by the estimate that tuning may
    // correct, and those that are excluded. "a: why; b: why".
    std::string lostForms() const;
};

// Conditions of a choice besides the shape.
struct GemmNeeds {
    DataType x = DataType::FLOAT32;
    bool mayRound = false;  // float32 may be computed with float16's precision
    const DeviceFacts& facts;
    const MatrixFeatures& matrixFeatures;
};

// A convolution or fully connected layer. One form is legal at the least.
GemmChoices chooseGemm(const GemmNeeds& needs, const Geometry& geometry);
// The algorithm of the form that chooseGemm() takes on a device where tiles of any size are legal.
GemmAlgorithm gemmAlgorithmOf(const DeviceFacts& facts, const Geometry& geometry);
// With a depthwise convolution of the results, by `window`. None is legal where no tile covers what
// one position of the window reads.
GemmChoices choosePointwiseDepthwise(const GemmNeeds& needs, const Geometry& geometry,
                                     const Geometry& window);
// With the mean of each feature map of the results. None is legal where no tile holds a feature
// map.
GemmChoices choosePooledGemm(const GemmNeeds& needs, const Geometry& geometry);

// GEMM for each matrix of a batch, whose operands lie by strides.
struct BatchGemmShape {
    int32_t rows = 0;
    int32_t columns = 0;
    int32_t depth = 0;  // K
    int64_t batch = 1;
    int32_t vectorDivisor = 1;  // what vectors along K have to divide; 0: there are none
};
GemmChoices chooseBatchGemm(const GemmNeeds& needs, const BatchGemmShape& shape);

// Whether a depthwise convolution with this filter has tiles at all.
bool isLegalPointwiseDepthwise(const Shape& filter, const Window2d& window);
// Whether neighbouring tiles may each recompute elements of a K that short.
bool isCheapToRecompute(const DeviceFacts& facts, int64_t depth);
// Whether GEMM and means of its feature maps take less as one launch than as two: tiles that hold a
// feature map may be few, or be filled by half.
bool isProfitablePooledGemm(const GemmNeeds& needs, const Geometry& geometry);

}  // namespace halyard::engine::gpu
