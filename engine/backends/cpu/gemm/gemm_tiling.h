// SPDX-License-Identifier: Apache-2.0
//
// How the work of a convolution or a fully connected layer is cut into work items that threads
// share.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/backends/cpu/hardware/cpu_tuning.h"

namespace halyard::engine::cpu {

// Where the results of a shape lie in the output, in elements.
struct GemmOutput {
    int64_t begin = 0;
    int64_t batch = 0;  // from a batch to the next
    int64_t line = 0;
    int64_t row = 0;
};

// Extents of a convolution or a fully connected layer.
struct GemmShape {
    int64_t batches = 1;
    int64_t inputH = 1, inputW = 1, inputC = 1;
    int64_t outputH = 1, outputW = 1, outputC = 1;
    int64_t filterH = 1, filterW = 1;
    int64_t strideH = 1, strideW = 1;
    int64_t dilationH = 1, dilationW = 1;
    int64_t top = 0, left = 0;
    int64_t groups = 1;
    std::optional<GemmOutput> output = std::nullopt;  // none: they follow one another

    int64_t groupDepth() const { return inputC / groups; }
    int64_t groupColumns() const { return outputC / groups; }
};

// The form of the GEMM, and where it runs.
struct GemmTraits {
    int64_t tileRows = 1;
    int64_t tileColumns = 1;
    // Smaller tiles, where threads would have too little to share else; 0: there are none. Of such
    // products a work item takes less time to compute than to read its rows, where other cores have
    // those in their caches: so rows are cut rather than columns, each of which reads all rows.
    int64_t smallTileRows = 0;
    int64_t smallTileColumns = 0;
    int64_t runMultiple =
            1;  // a run's length is a multiple of this, padded by the padded input tile
    // Where a spatial position has a multiple of so many channels, a padded input tile has spatial
    // positions and lines of strides by phases, so that rows lie next to each other; 0: never.
    int64_t phaseMultiple = 0;
    size_t elementBytes = 4;        // of the left matrix
    bool alwaysPaddedTile = false;  // the input is not what the product reads
    bool readsResults = false;      // once more, when a work item is done
    size_t threads = 1;
    TilingTuning tuning = {};
};

// Of a work item at most.
struct GemmTiling {
    int64_t lines = 1;      // of the output; more than one only if they are whole
    int64_t rows = 1;       // of each line
    int64_t columns = 1;    // of one group of channels
    bool rowsFirst = true;  // neighbouring work items differ in their rows
};

// `depth`: elements of a row of the left matrix, padded as it is read.
GemmTiling tileGemm(const GemmShape& shape, const GemmTraits& traits, int64_t depth);

}  // namespace halyard::engine::cpu
