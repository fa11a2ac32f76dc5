// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/depthwise/float_depthwise.cc"
#include "engine/backends/cpu/vectors/targets.h"

#include <algorithm>

#include "engine/backends/cpu/depthwise/depthwise_line.h"
#include "engine/backends/cpu/depthwise/float_depthwise_neon-inl.h"
#include "engine/backends/cpu/vectors/bounds-inl.h"
#include "engine/backends/cpu/vectors/partial_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;
constexpr Floats kFloats;
using FloatVector = hn::Vec<Floats>;

// The same for all spatial positions of the line and one block of channels.
struct Block {
    const FloatDepthwiseLine& line;
    const float* x;       // the block's first channel in the filter's row 0
    const float* panels;  // the bias, then the taps
    float* y;             // the block's first channel in the first spatial position
    size_t count;         // channels
};

// Where the block's first channel lies in a row of the filter.
HWY_INLINE const float* rowOf(const Block& block, int64_t i) {
    const float* row = block.x + i * block.line.window.row;
    return i < block.line.wrapRow ? row : row - block.line.wrapLength;
}

HWY_INLINE FloatVector clamp(const FloatDepthwiseLine& line, FloatVector value) {
    return keepWithin(value, hn::Set(kFloats, line.low), hn::Set(kFloats, line.high));
}

// Spatial positions whose window may lie partly beside the input.
void computeSome(const Block& block, int64_t begin, int64_t end) {
    const DepthwiseWindow& window = block.line.window;
    const size_t lanes = hn::Lanes(kFloats);
    for (int64_t pixel = begin; pixel < end; ++pixel) {
        const int64_t start = pixel * window.strideW - window.left;
        FloatVector sum = hn::Load(kFloats, block.panels);
        for (int64_t i = window.firstRow; i < window.endRow; ++i) {
            const float* row = rowOf(block, i);
            const float* weights =
                    block.panels + static_cast<size_t>(1 + i * window.filterW) * lanes;
            for (int64_t j = 0; j < window.filterW; ++j) {
                const int64_t at = start + j * window.dilationW;
                if (at >= 0 && at < window.inputW) {
                    sum = hn::MulAdd(loadFirst(kFloats, row + at * block.line.xPixel, block.count),
                                     hn::Load(kFloats, weights + static_cast<size_t>(j) * lanes),
                                     sum);
                }
            }
        }
        storeFirst(clamp(block.line, sum), kFloats, block.y + pixel * block.line.yPixel,
                   block.count);
    }
}

// Weights that stay in registers while spatial positions go by.
template <int kSide>
struct Filter {
    FloatVector bias;
    FloatVector weights[kSide][kSide];

    explicit HWY_INLINE Filter(const float* panels) : bias(hn::Load(kFloats, panels)) {
        HALYARD_UNROLL
        for (int i = 0; i < kSide; ++i) {
            HALYARD_UNROLL
            for (int j = 0; j < kSide; ++j) {
                panels += hn::Lanes(kFloats);
                weights[i][j] = hn::Load(kFloats, panels);
            }
        }
    }

    // Of the window whose rows begin at `rows`, with so many elements from a column to the next.
    HWY_INLINE FloatVector sumOf(const float* const (&rows)[kSide], ptrdiff_t column) const {
        FloatVector sum = bias;
        HALYARD_UNROLL
        for (int i = 0; i < kSide; ++i) {
            HALYARD_UNROLL
            for (int j = 0; j < kSide; ++j) {
                sum = hn::MulAdd(hn::LoadU(kFloats, rows[i] + j * column), weights[i][j], sum);
            }
        }
        return sum;
    }
};

template <int kSide>
HWY_INLINE void advance(const float* (&rows)[kSide], ptrdiff_t step) {
    HALYARD_UNROLL
    for (int i = 0; i < kSide; ++i) {
        rows[i] += step;
    }
}

// Spatial positions whose window lies on the input as a whole; all lanes count.
template <int kSide>
void computeInner(const Block& block, int64_t begin, int64_t end) {
    const DepthwiseWindow& window = block.line.window;
    const Filter<kSide> filter(block.panels);
    const float* rows[kSide];
    HALYARD_UNROLL
    for (int i = 0; i < kSide; ++i) {
        rows[i] = rowOf(block, i) + (begin * window.strideW - window.left) * block.line.xPixel;
    }
    float* y = block.y + begin * block.line.yPixel;
    const ptrdiff_t step = window.strideW * block.line.xPixel;
    for (int64_t pixel = begin; pixel < end; ++pixel) {
        hn::StoreU(clamp(block.line, filter.sumOf(rows, window.column)), kFloats, y);
        advance(rows, step);
        y += block.line.yPixel;
    }
}

void compute(const FloatDepthwiseLine& line) {
    const DepthwiseWindow& window = line.window;
    const auto lanes = static_cast<int64_t>(hn::Lanes(kFloats));
    const int64_t panelLength = (window.filterH * window.filterW + 1) * lanes;
    const auto [first, end] = innerPixels(window);
    const bool allRows = window.firstRow == 0 && window.endRow == window.filterH;
    const bool three = allRows && window.filterH == 3 && window.filterW == 3;
    const bool five = allRows && window.filterH == 5 && window.filterW == 5;
    int64_t channel = 0;
#if HWY_TARGET == HWY_NEON
    NeonLine(line, window.channels / lanes).compute();
    channel = window.channels / lanes * lanes;
#endif
    for (; channel < window.channels; channel += lanes) {
        const Block block = {
                .line = line,
                .x = line.x + channel,
                .panels = line.panels + channel / lanes * panelLength,
                .y = line.y + channel,
                .count = static_cast<size_t>(std::min(lanes, window.channels - channel))};
        if (!(three || five) || block.count < hn::Lanes(kFloats)) {
            computeSome(block, window.firstPixel, window.endPixel);
            continue;
        }
        computeSome(block, window.firstPixel, first);
        three ? computeInner<3>(block, first, end) : computeInner<5>(block, first, end);
        computeSome(block, end, window.endPixel);
    }
}

// A block of channels, from the tile's x on.
template <int kSide>
void computeBlock(const FloatDepthwiseTile& tile, const float* x, const float* panels, float* y,
                  size_t count) {
    const ptrdiff_t lineLength = tile.width() * tile.xPixel;
#if HWY_TARGET == HWY_NEON
    if (count == hn::Lanes(kFloats) && tile.outputW >= 4 && tile.strideW <= 2) {
        NeonRun<kSide> run = {.column = tile.xPixel,
                              .panels = panels,
                              .yPixel = tile.yPixel,
                              .count = tile.outputW,
                              .low = tile.low,
                              .high = tile.high};
        for (int64_t line = 0; line < tile.lines; ++line) {
            HALYARD_UNROLL
            for (int i = 0; i < kSide; ++i) {
                run.rows[i] = x + (line * tile.strideH + i) * lineLength;
            }
            run.y = y + line * tile.outputW * tile.yPixel;
            computeRun(run, tile.strideW);
        }
        return;
    }
#endif
    const Filter<kSide> filter(panels);
    const FloatVector low = hn::Set(kFloats, tile.low);
    const FloatVector high = hn::Set(kFloats, tile.high);
    for (int64_t line = 0; line < tile.lines; ++line) {
        const float* rows[kSide];
        HALYARD_UNROLL
        for (int i = 0; i < kSide; ++i) {
            rows[i] = x + (line * tile.strideH + i) * lineLength;
        }
        for (int64_t pixel = 0; pixel < tile.outputW; ++pixel) {
            storeFirst(keepWithin(filter.sumOf(rows, tile.xPixel), low, high), kFloats, y, count);
            advance(rows, tile.strideW * tile.xPixel);
            y += tile.yPixel;
        }
    }
}

void computeTile(const FloatDepthwiseTile& tile) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(kFloats));
    const int64_t panelLength = (tile.side * tile.side + 1) * lanes;
    const float* panels = tile.panels;
    const auto compute = tile.side == 3 ? computeBlock<3> : computeBlock<5>;
    for (int64_t channel = 0; channel < tile.channels; channel += lanes) {
        const auto count = static_cast<size_t>(std::min(lanes, tile.channels - channel));
        compute(tile, tile.x + channel, panels, tile.y + channel, count);
        panels += panelLength;
    }
}

}  // namespace

const FloatDepthwise* floatDepthwiseForm() {
    static const FloatDepthwise kForm = {.lanes = static_cast<int64_t>(hn::Lanes(kFloats)),
                                         .compute = compute,
                                         .computeTile = computeTile};
    return &kForm;
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {

const FloatDepthwise& floatDepthwise(InstructionSet set) {
    return *HALYARD_CPU_CHOOSE(set, floatDepthwiseForm)();
}

}  // namespace halyard::engine::cpu
#endif
