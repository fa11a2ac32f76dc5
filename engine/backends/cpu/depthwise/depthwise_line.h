// SPDX-License-Identifier: Apache-2.0
//
// One line of a depthwise convolution's output, or some spatial positions of it.
//
// Weights are packed as [channel block][bias, then each tap][lane], taps line by line, with zeros
// behind the last channel.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "engine/backends/cpu/choice/form_choice.h"
#include "engine/backends/cpu/vectors/instruction_set.h"

namespace halyard::engine::cpu {

// Where the windows of the line lie. A window's row i and column j are there if they lie on the
// input; what lies beside it takes no part.
struct DepthwiseWindow {
    int64_t filterH = 1, filterW = 1;
    int64_t firstRow = 0, endRow = 1;  // rows of the filter that lie on the input
    ptrdiff_t row = 0;                 // elements of the input from a row of the filter to the next
    ptrdiff_t column = 0;              // and from a column to the next
    int64_t dilationW = 1, strideW = 1, left = 0;
    int64_t inputW = 1, outputW = 1;
    int64_t firstPixel = 0, endPixel = 1;  // of the output's line, those to compute
    int64_t channels = 1;
};

// The spatial positions to compute whose windows lie on the input from their first column to their
// last.
struct InnerPixels {
    int64_t first = 0, end = 0;
};

inline InnerPixels innerPixels(const DepthwiseWindow& window) {
    const int64_t reach = (window.filterW - 1) * window.dilationW;
    const int64_t room = window.inputW - 1 - reach + window.left;
    InnerPixels inner;
    inner.first = std::clamp((window.left + window.strideW - 1) / window.strideW, window.firstPixel,
                             window.endPixel);
    inner.end = std::clamp(room < 0 ? 0 : room / window.strideW + 1, inner.first, window.endPixel);
    return inner;
}

struct FloatDepthwiseLine {
    DepthwiseWindow window;
    const float* x = nullptr;  // the line that the filter's row 0 reads, or would read
    // Of a ring of lines: the first row of the filter that is found at the ring's beginning, and
    // how long the ring is.
    int64_t wrapRow = std::numeric_limits<int64_t>::max();
    ptrdiff_t wrapLength = 0;
    ptrdiff_t xPixel = 0;  // elements from a spatial position to the next
    const float* panels = nullptr;
    float* y = nullptr;
    ptrdiff_t yPixel = 0;
    float low = 0.0F;
    float high = 0.0F;
};

// Some lines of the output, of neighbouring channels, whose windows are read from a padded input
// tile: it has zeros where they reach beside the input, so that weights have to be finite.
struct FloatDepthwiseTile {
    int64_t side = 3;  // of the filter: 3 or 5
    int64_t strideH = 1, strideW = 1;
    int64_t lines = 1, outputW = 1;
    int64_t channels = 1;
    const float* panels = nullptr;
    // [line][spatial position][channel], each spatial position whole vectors.
    const float* x = nullptr;
    ptrdiff_t xPixel = 0;  // elements from a spatial position to the next
    float* y = nullptr;    // the first of the lines, which follow without a gap
    ptrdiff_t yPixel = 0;
    float low = 0.0F;
    float high = 0.0F;

    int64_t width() const { return (outputW - 1) * strideW + side; }  // of the tile
};

struct FloatDepthwise {
    int64_t lanes = 1;  // channels of a block
    void (*compute)(const FloatDepthwiseLine& line) = nullptr;
    void (*computeTile)(const FloatDepthwiseTile& tile) = nullptr;

    int64_t panelLength(int64_t taps) const { return (taps + 1) * lanes; }
};

const FloatDepthwise& floatDepthwise(InstructionSet set);

struct QuantizedDepthwiseLine {
    DepthwiseWindow window;
    const uint8_t* x = nullptr;  // the line that the filter's row 0 reads, or would read
    // For what lies beside the input: as many bytes as there are channels, all of the zero point.
    const uint8_t* padding = nullptr;
    const uint8_t** taps = nullptr;  // room for one address per tap
    ptrdiff_t xPixel = 0;            // bytes from a spatial position to the next
    uint8_t flip = 0;                // 0x80: x is signed
    const std::byte* panels = nullptr;
    bool blocksOverlap = true;  // as when they were packed
    uint8_t* y = nullptr;  // signed or unsigned bytes, as the zero point and the bounds have it
    ptrdiff_t yPixel = 0;
    int32_t zeroPoint = 0;  // of the output
    int32_t low = 0;
    int32_t high = 0;
};

// Where the taps of a spatial position's window lie, beside the input those of the padding.
inline void findTaps(const QuantizedDepthwiseLine& line, int64_t pixel) {
    const DepthwiseWindow& window = line.window;
    const int64_t start = pixel * window.strideW - window.left;
    const uint8_t** tap = line.taps;
    for (int64_t i = 0; i < window.filterH; ++i) {
        const bool rowIsThere = i >= window.firstRow && i < window.endRow;
        for (int64_t j = 0; j < window.filterW; ++j) {
            const int64_t at = start + j * window.dilationW;
            *tap++ = rowIsThere && at >= 0 && at < window.inputW
                             ? line.x + i * window.row + at * line.xPixel
                             : line.padding;
        }
    }
}

// Some channels, as many as a vector has lanes, or fewer. Then each spatial position takes a part
// of the vector, whose lanes are those of neighbouring spatial positions beside it.
struct DepthwiseBlock {
    int64_t channel = 0;   // the first one
    int64_t channels = 1;  // no more than the part's lanes
    int64_t part = 1;      // lanes
};

// In which the taps of a filter are packed.
enum class TapOrder : uint8_t {
    ROWS,
    COLUMNS,               // groups are of one column of the filter
    COLUMNS_AND_LAST_ROW,  // of 3x3 the same; of 5x5 four rows of each column, then the last row's
                           // first four columns, and the last column at a group's end
};

// A panel: [each lane's bias, int32][each lane's multiplier, float], then the weights as [group of
// taps][lane][tap of the group], with zeros for taps that are not there. Biases are such that x may
// be multiplied as unsigned bytes less `moved`, without its zero point.
struct QuantizedDepthwise {
    int64_t lanes = 1;  // channels of a block
    int64_t part = 1;  // fewest lanes of a spatial position: as many as the block has, or a half, a
                       // quarter
    int64_t group = 1;  // taps that are multiplied together
    TapOrder order = TapOrder::ROWS;
    bool bytes = false;     // weights are signed bytes, otherwise 16 bits
    bool overlaps = false;  // blocks may
    int32_t moved = 0;      // taken from unsigned bytes before they are multiplied
    void (*compute)(const QuantizedDepthwiseLine& line) = nullptr;

    int64_t groups(int64_t filterH, int64_t filterW) const {
        if (hasLastRowApart(filterH)) {
            return filterW + 2;
        }
        return order == TapOrder::ROWS ? (filterH * filterW + group - 1) / group
                                       : filterW * ((filterH + group - 1) / group);
    }
    int64_t panelBytes(int64_t filterH, int64_t filterW) const {
        return lanes * (int64_t{sizeof(int32_t) + sizeof(float)} +
                        groups(filterH, filterW) * group * (bytes ? 1 : 2));
    }
    // A tap's place in all groups.
    int64_t placeOf(int64_t line, int64_t column, int64_t filterH, int64_t filterW) const {
        if (order == TapOrder::ROWS) {
            return line * filterW + column;
        }
        if (!hasLastRowApart(filterH)) {
            return column * groups(filterH, 1) * group + line;
        }
        if (line < group) {
            return column * group + line;
        }
        return filterW * group + (column < group ? column : 2 * group - 1);
    }
    int64_t blocks(int64_t channels) const { return (channels + lanes - 1) / lanes; }
    // Where blocks overlap, the last one may have channels of the one before as well, so that a
    // spatial position has all of its part's lanes.
    DepthwiseBlock block(int64_t index, int64_t channels, bool overlap) const {
        const int64_t first = index * lanes;
        const int64_t left = channels - first;
        DepthwiseBlock block = {.channel = first, .channels = std::min(left, lanes), .part = lanes};
        while (block.part > part && block.part / 2 >= left) {
            block.part /= 2;
        }
        if (overlap && overlaps && block.channels < block.part && channels >= block.part) {
            block.channel = channels - block.part;
            block.channels = block.part;
        }
        return block;
    }
    // Where a block's lane lies in a panel: bytes of neighbouring taps are brought together by
    // unpacking, four lanes of each 16 at a time.
    int64_t laneOf(int64_t lane) const {
        return bytes ? lane % 16 / 4 * (lanes / 4) + lane / 16 * 4 + lane % 4 : lane;
    }

  private:
    bool hasLastRowApart(int64_t filterH) const {
        return order == TapOrder::COLUMNS_AND_LAST_ROW && filterH == 5;
    }
};

// The set's kernels of a form of int8 that it has (depthwise_choice.h).
const QuantizedDepthwise& quantizedDepthwise(InstructionSet set, Form form);

}  // namespace halyard::engine::cpu
