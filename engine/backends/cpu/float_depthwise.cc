// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/float_depthwise.cc"
#include "engine/backends/cpu/targets.h"

#include <algorithm>

#include "engine/backends/cpu/bounds-inl.h"
#include "engine/backends/cpu/depthwise_line.h"
#include "engine/backends/cpu/partial_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;
constexpr Floats kFloats;
using FloatVector = hn::Vec<Floats>;

// What is the same for all pixels of the line and one block of channels.
struct Block {
    const FloatDepthwiseLine& line;
    const float* x;       // the block's first channel in the filter's row 0
    const float* panels;  // the bias, then the taps
    float* y;             // the block's first channel in the first pixel
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
                    sum = hn::MulAdd(loadFirst(kFloats, row + at * window.channels, block.count),
                                     hn::Load(kFloats, weights + static_cast<size_t>(j) * lanes),
                                     sum);
                }
            }
        }
        storeFirst(clamp(block.line, sum), kFloats, block.y + pixel * window.channels, block.count);
    }
}

// Pixels whose window lies on the input as a whole; all lanes count. The weights stay in registers.
template <int kH, int kW>
void computeInner(const Block& block, int64_t begin, int64_t end) {
    const DepthwiseWindow& window = block.line.window;
    const size_t lanes = hn::Lanes(kFloats);
    const FloatVector bias = hn::Load(kFloats, block.panels);
    FloatVector weights[kH][kW];
    const float* rows[kH];
    HALYARD_UNROLL
    for (int i = 0; i < kH; ++i) {
        rows[i] = rowOf(block, i) + (begin * window.strideW - window.left) * window.channels;
        HALYARD_UNROLL
        for (int j = 0; j < kW; ++j) {
            weights[i][j] =
                    hn::Load(kFloats, block.panels + static_cast<size_t>(1 + i * kW + j) * lanes);
        }
    }
    float* y = block.y + begin * window.channels;
    const ptrdiff_t step = window.strideW * window.channels;
    for (int64_t pixel = begin; pixel < end; ++pixel) {
        FloatVector sum = bias;
        HALYARD_UNROLL
        for (int i = 0; i < kH; ++i) {
            HALYARD_UNROLL
            for (int j = 0; j < kW; ++j) {
                sum = hn::MulAdd(hn::LoadU(kFloats, rows[i] + j * window.column), weights[i][j],
                                 sum);
            }
            rows[i] += step;
        }
        hn::StoreU(clamp(block.line, sum), kFloats, y);
        y += window.channels;
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
    for (int64_t channel = 0; channel < window.channels; channel += lanes) {
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
        three ? computeInner<3, 3>(block, first, end) : computeInner<5, 5>(block, first, end);
        computeSome(block, end, window.endPixel);
    }
}

}  // namespace

const FloatDepthwise* floatDepthwiseForm() {
    static const FloatDepthwise kForm = {.lanes = static_cast<int64_t>(hn::Lanes(kFloats)),
                                         .compute = compute};
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
