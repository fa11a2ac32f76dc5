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

// What is the same for all spatial positions of the line and one block of channels.
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

// Pixels whose window may lie partly beside the input.
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

// Pixels whose window lies on the input as a whole; all lanes count.
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

// The part of the feature map that the windows reach, one vector a spatial position, with zeros
// around it.
void copyBlock(const FloatDepthwisePatch& patch, const float* x, size_t count) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(kFloats));
    const int64_t width = patch.copyW();
    const int64_t begin = std::clamp<int64_t>(-patch.left, 0, width);
    const int64_t end = std::clamp(patch.inputW - patch.left, begin, width);
    float* to = patch.copy;
    for (int64_t line = patch.top; line < patch.top + patch.copyH(); ++line) {
        if (line < 0 || line >= patch.inputH) {
            to = std::fill_n(to, width * lanes, 0.0F);
            continue;
        }
        to = std::fill_n(to, begin * lanes, 0.0F);
        const float* from = x + (line * patch.inputW + patch.left + begin) * patch.channels;
        for (int64_t pixel = begin; pixel < end; ++pixel) {
            hn::Store(loadFirst(kFloats, from, count), kFloats, to);
            from += patch.channels;
            to += lanes;
        }
        to = std::fill_n(to, (width - end) * lanes, 0.0F);
    }
}

template <int kSide>
void computeBlock(const FloatDepthwisePatch& patch, const float* copy, ptrdiff_t pixelLength,
                  const float* panels, float* y, size_t count) {
#if HWY_TARGET == HWY_NEON
    if (count == hn::Lanes(kFloats) && patch.outputW >= 4 && patch.strideW <= 2) {
        NeonRun<kSide> run = {.column = pixelLength,
                              .panels = panels,
                              .yPixel = patch.yPixel,
                              .count = patch.outputW,
                              .low = patch.low,
                              .high = patch.high};
        for (int64_t line = 0; line < patch.lines; ++line) {
            HALYARD_UNROLL
            for (int i = 0; i < kSide; ++i) {
                run.rows[i] = copy + (line * patch.strideH + i) * patch.copyW() * pixelLength;
            }
            run.y = y + line * patch.outputW * patch.yPixel;
            computeRun(run, patch.strideW);
        }
        return;
    }
#endif
    const Filter<kSide> filter(panels);
    const FloatVector low = hn::Set(kFloats, patch.low);
    const FloatVector high = hn::Set(kFloats, patch.high);
    for (int64_t line = 0; line < patch.lines; ++line) {
        const float* rows[kSide];
        HALYARD_UNROLL
        for (int i = 0; i < kSide; ++i) {
            rows[i] = copy + (line * patch.strideH + i) * patch.copyW() * pixelLength;
        }
        for (int64_t pixel = 0; pixel < patch.outputW; ++pixel) {
            storeFirst(keepWithin(filter.sumOf(rows, pixelLength), low, high), kFloats, y, count);
            advance(rows, patch.strideW * pixelLength);
            y += patch.yPixel;
        }
    }
}

// kIsThere: the copy is.
template <bool kIsThere>
void computePatch(const FloatDepthwisePatch& patch) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(kFloats));
    const int64_t panelLength = (patch.side * patch.side + 1) * lanes;
    for (int64_t block = patch.firstBlock; block < patch.endBlock; ++block) {
        const int64_t channel = block * lanes;
        const auto count = static_cast<size_t>(std::min(lanes, patch.channels - channel));
        const float* const panels = patch.panels + block * panelLength;
        const float* copy = patch.copy;
        if constexpr (kIsThere) {
            copy += channel - patch.firstBlock * lanes;
        } else {
            copyBlock(patch, patch.x + channel, count);
        }
        const ptrdiff_t pixelLength = kIsThere ? patch.copyPixel : lanes;
        const auto compute = patch.side == 3 ? computeBlock<3> : computeBlock<5>;
        compute(patch, copy, pixelLength, panels, patch.y + channel, count);
    }
}

}  // namespace

const FloatDepthwise* floatDepthwiseForm() {
    static const FloatDepthwise kForm = {.lanes = static_cast<int64_t>(hn::Lanes(kFloats)),
                                         .compute = compute,
                                         .computePatch = computePatch<false>,
                                         .computeCopied = computePatch<true>};
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
