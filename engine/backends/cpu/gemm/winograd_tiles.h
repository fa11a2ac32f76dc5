// SPDX-License-Identifier: Apache-2.0
//
// Winograd's way to convolve with filters of 3x3 and stride 1: the feature map is cut into squares
// of output spatial positions, F(2x2) or F(4x4) of them; the window of input that a square needs
// and the filter are transformed, so that in place of the sums over the filter's taps there is one
// product for each position of the transformed window; and the products are transformed back. Here
// are the transforms of one tile; winograd.h has the products between them, which are of matrices.
//
// The points of the transforms are 0, 1, -1 and infinity, and for F(4x4) 2 and -2.

#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/backends/cpu/vectors/instruction_set.h"

namespace halyard::engine::cpu {

// The part of a tile's window that lies on the input; the rest counts as zeros.
struct TileWindow {
    const void* x = nullptr;  // floats, or halves where the tiles are of those
    int64_t origin =
            0;  // of the window's first spatial position, in elements from x; may lie outside
    ptrdiff_t line = 0, pixel = 0;
    int32_t firstLine = 0, endLine = 0;  // of the window
    int32_t firstPixel = 0, endPixel = 0;
    int64_t channels = 0;
};

// The part of a tile that lies on the output.
struct TileOutput {
    void* y = nullptr;   // as x
    int64_t origin = 0;  // the tile's first spatial position, and the first of the channels
    ptrdiff_t line = 0, pixel = 0;
    int32_t lines = 0, pixels = 0;
    int64_t channels = 0;
    const float* bias = nullptr;
    float low = 0.0F, high = 0.0F;
};

// Transformed filters of neighbouring output channels, packed for FloatGemm.
struct TileFilters {
    const float* panels = nullptr;
    ptrdiff_t panel = 0;     // elements from a panel to the next
    ptrdiff_t position = 0;  // and from a position of the transform to the next
};

struct WinogradTiles {
    int32_t side = 0;    // of the output spatial positions
    int32_t window = 0;  // side of the input spatial positions: side + 2
    // Writes the transformed window: at each of window * window positions all channels.
    void (*transformInput)(const TileWindow& from, float* to, ptrdiff_t position) = nullptr;
    // Adds the bias to the products transformed back and stores what the activation makes of them.
    // False where one of them, a spatial position past the edge included, is not finite.
    bool (*transformOutput)(const float* products, ptrdiff_t position,
                            const TileOutput& output) = nullptr;
    // The same tile without the transforms. What is no number, or beyond the range of floats, does
    // so to the spatial positions only whose windows have it. Filters are those that the transform
    // was made of, but for the rounding of their largest weight: a weight below that may count as
    // one of either sign or as zero, where it meets an infinity.
    void (*computeDirectly)(const TileWindow& from, const TileFilters& filters,
                            const TileOutput& output) = nullptr;

    int64_t positions() const { return int64_t{window} * window; }
};

// For output squares of 2x2 or 4x4, of feature maps of floats or of halves. What lies between the
// transforms is floats.
const WinogradTiles& winogradTiles(int32_t side, bool halves, InstructionSet set);

// A filter of 3x3, transformed: [window][window].
void transformFilter(int32_t side, const double (&filter)[3][3], double* to);

}  // namespace halyard::engine::cpu
