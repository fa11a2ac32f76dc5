// SPDX-License-Identifier: Apache-2.0
//
// How a convolution by Winograd's transforms is cut into work items that threads share.
//
// Where the filters are few, a thread transforms the windows of a few tiles to memory of its own
// and multiplies them by all filters: no thread waits, and nothing leaves its cache. Where they are
// many, or there are not enough tiles for all threads, as many windows as the caches take are
// transformed first, and then multiplied by the threads, each by some of the filters.

#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/backends/cpu/hardware/cpu_tuning.h"
#include "engine/base/status.h"

namespace halyard::engine::cpu {

// Extents that a cut is made for.
struct WinogradShape {
    int64_t tiles = 1;      // of all feature maps
    int64_t positions = 1;  // of a transformed window
    int64_t channels = 1;   // of the input
    int64_t chunks = 1;     // of columns of the output, which are multiplied together
    int64_t chunkColumns = 1;
    int64_t filterBytes = 0;  // transformed
    int64_t tileRows = 1;     // tiles that are fastest to multiply
    int64_t threads = 1;
    WinogradTuning tuning = {};
};

struct WinogradCut {
    bool isAlone = false;        // each thread has windows of its own
    bool sharesFilters = false;  // neighbouring work items do, rather than windows
    int64_t atOnce = 0;          // tiles that are transformed before any are multiplied
    int64_t rows = 0;            // and that are multiplied before they are transformed back
    ptrdiff_t position = 0;      // elements of one position of the transformed windows
    ptrdiff_t row = 0;           // and of one tile's products
    size_t windowBytes = 0;      // for each thread where they are alone, for all otherwise
    size_t productBytes = 0;     // for each thread

    // RESOURCE_EXHAUSTED where the transformed input could not be addressed.
    static Result<WinogradCut> create(const WinogradShape& shape);
};

}  // namespace halyard::engine::cpu
