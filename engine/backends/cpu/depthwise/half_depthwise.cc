// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/depthwise/half_depthwise.h"

#if defined(__aarch64__)
#include <algorithm>

#include "engine/backends/cpu/vectors/half_lanes.h"
#include "engine/backends/cpu/vectors/unroll.h"
#endif

namespace halyard::engine::cpu {

#if defined(__aarch64__)
namespace {

constexpr int64_t kLanes = kHalfLanes;

// Of one block of channels.
struct Block {
    const HalfDepthwiseLine& line;
    const Half* x;       // the block's first channel in the filter's row 0
    const Half* panels;  // the bias, then the taps
    Half* y;             // the block's first channel in the first spatial position
    int64_t count;       // channels
};

// Spatial positions whose window may lie partly beside the input, and blocks of fewer channels.
void computeSome(const Block& block, int64_t begin, int64_t end) {
    const DepthwiseWindow& window = block.line.window;
    const HalfVector low = broadcastHalf(block.line.low);
    const HalfVector high = broadcastHalf(block.line.high);
    for (int64_t position = begin; position < end; ++position) {
        const int64_t start = position * window.strideW - window.left;
        HalfVector sum = loadHalves(block.panels);
        for (int64_t i = window.firstRow; i < window.endRow; ++i) {
            const Half* const row = block.x + i * window.row;
            const Half* const weights = block.panels + (1 + i * window.filterW) * kLanes;
            for (int64_t j = 0; j < window.filterW; ++j) {
                const int64_t at = start + j * window.dilationW;
                if (at >= 0 && at < window.inputW) {
                    const Half* const from = row + at * window.channels;
                    sum = mulAdd(sum,
                                 block.count == kLanes ? loadHalves(from)
                                                       : loadFirstHalves(from, block.count),
                                 loadHalves(weights + j * kLanes));
                }
            }
        }
        const HalfVector result = clampHalves(sum, low, high);
        Half* const to = block.y + position * window.channels;
        block.count == kLanes ? storeHalves(result, to) : storeFirstHalves(result, to, block.count);
    }
}

// Spatial positions whose window lies on the input as a whole; all lanes count.
template <int kSide>
void computeInner(const Block& block, int64_t begin, int64_t end) {
    const DepthwiseWindow& window = block.line.window;
    const HalfVector low = broadcastHalf(block.line.low);
    const HalfVector high = broadcastHalf(block.line.high);
    const HalfVector bias = loadHalves(block.panels);
    HalfVector weights[kSide * kSide];
    HALYARD_UNROLL
    for (int i = 0; i < kSide * kSide; ++i) {
        weights[i] = loadHalves(block.panels + (1 + i) * kLanes);
    }
    const Half* rows[kSide];
    HALYARD_UNROLL
    for (int i = 0; i < kSide; ++i) {
        rows[i] =
                block.x + i * window.row + (begin * window.strideW - window.left) * window.channels;
    }
    Half* y = block.y + begin * window.channels;
    const ptrdiff_t step = window.strideW * window.channels;
    for (int64_t position = begin; position < end; ++position) {
        HalfVector sum = bias;
        HALYARD_UNROLL
        for (int i = 0; i < kSide; ++i) {
            HALYARD_UNROLL
            for (int j = 0; j < kSide; ++j) {
                sum = mulAdd(sum, loadHalves(rows[i] + j * window.column), weights[i * kSide + j]);
            }
            rows[i] += step;
        }
        storeHalves(clampHalves(sum, low, high), y);
        y += window.channels;
    }
}

void compute(const HalfDepthwiseLine& line) {
    const DepthwiseWindow& window = line.window;
    const int64_t panelLength = (window.filterH * window.filterW + 1) * kLanes;
    const auto [first, end] = innerPixels(window);
    const bool isWhole = window.firstRow == 0 && window.endRow == window.filterH &&
                         window.filterH == window.filterW;
    for (int64_t channel = 0; channel < window.channels; channel += kLanes) {
        const Block block = {.line = line,
                             .x = line.x + channel,
                             .panels = line.panels + channel / kLanes * panelLength,
                             .y = line.y + channel,
                             .count = std::min(kLanes, window.channels - channel)};
        const bool isInner =
                isWhole && block.count == kLanes && (window.filterH == 3 || window.filterH == 5);
        if (!isInner) {
            computeSome(block, window.firstPixel, window.endPixel);
            continue;
        }
        computeSome(block, window.firstPixel, first);
        window.filterH == 3 ? computeInner<3>(block, first, end)
                            : computeInner<5>(block, first, end);
        computeSome(block, end, window.endPixel);
    }
}

constexpr HalfDepthwise kForm = {.lanes = kLanes, .compute = compute};

}  // namespace
#endif

const HalfDepthwise* halfDepthwise(InstructionSet set) {
#if defined(__aarch64__)
    return hasHalfArithmetic(set) ? &kForm : nullptr;
#else
    static_cast<void>(set);
    return nullptr;
#endif
}

}  // namespace halyard::engine::cpu
