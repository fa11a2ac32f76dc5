// SPDX-License-Identifier: Apache-2.0
//
// The forms of 8-bit depthwise convolutions on NEON: for quantized_depthwise.cc. Filters without a
// loop of their own (three_rows_neon-inl.h, five_rows_neon-inl.h) read inputs and weights per tap,
// for two spatial positions at a time.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_QUANTIZED_DEPTHWISE_NEON_INL_H_) == \
        defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_QUANTIZED_DEPTHWISE_NEON_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_QUANTIZED_DEPTHWISE_NEON_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_QUANTIZED_DEPTHWISE_NEON_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <hwy/highway.h>

#include "engine/backends/cpu/depthwise/byte_taps_neon-inl.h"
#include "engine/backends/cpu/depthwise/depthwise_line.h"
#include "engine/backends/cpu/depthwise/five_rows_neon-inl.h"
#include "engine/backends/cpu/depthwise/three_rows_neon-inl.h"

#if HWY_TARGET == HWY_NEON
HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

// Whether all blocks have all lanes.
template <typename Taps>
bool hasWholeBlocks(const QuantizedDepthwiseLine& line) {
    const int64_t channels = line.window.channels;
    return line.blocksOverlap ? channels >= Taps::kLanes : channels % Taps::kLanes == 0;
}

// Computes a line whose windows and blocks of channels lie as those of lineKernelOf(): a panel for
// each block, so many bytes apart.
using LineKernel = void (*)(const QuantizedDepthwiseLine& line, int64_t panelBytes);

template <typename Taps, int kStride>
LineKernel threeOf(const QuantizedDepthwiseLine& line) {
    const bool isWhole = line.window.firstRow == 0 && line.window.endRow == 3;
    if (line.flip == Taps::kMoved) {
        return isWhole ? computeThree<Taps, kStride, true, false>
                       : computeThree<Taps, kStride, false, false>;
    }
    return isWhole ? computeThree<Taps, kStride, true, true>
                   : computeThree<Taps, kStride, false, true>;
}

// Null where the filter is none whose columns are kept.
template <typename Taps>
LineKernel lineKernelOf(const QuantizedDepthwiseLine& line) {
    const DepthwiseWindow& window = line.window;
    if (window.filterH != window.filterW || window.dilationW != 1 || window.strideW > 2 ||
        !hasWholeBlocks<Taps>(line)) {
        return nullptr;
    }
    if (window.filterH == 3) {
        return window.strideW == 1 ? threeOf<Taps, 1>(line) : threeOf<Taps, 2>(line);
    }
    if (window.filterH == 5 && std::is_same_v<Taps, DotTaps>) {
        return window.strideW == 1 ? FiveByDots<1>::compute : FiveByDots<2>::compute;
    }
    return nullptr;
}

// kPositions spatial positions, of the first of which line.taps are, `shift` bytes further; each
// next one lies a window's stride further. kWhole: the block has all lanes.
template <typename Taps, int kPositions, bool kWhole>
class Positions {
  public:
    HWY_INLINE Positions(const QuantizedDepthwiseLine& line, const std::byte* panel,
                         const DepthwiseBlock& block)
        : mLine(line),
          mPanel(panel),
          mRequantize(line),
          mFlip(flipOf(line.flip ^ Taps::kMoved, Bytes())),
          mStep(line.window.strideW * line.xPixel),
          mTaps(line.window.filterH * line.window.filterW),
          mChannel(block.channel),
          mCount(static_cast<size_t>(block.channels)) {}

    HWY_INLINE void compute(ptrdiff_t shift, int64_t pixel) const {
        const ptrdiff_t at = shift + mChannel;
        const uint8_t* const* const taps = mLine.taps;
        const std::byte* weights = mPanel.weights;
        Sums sums[kPositions];
        HALYARD_UNROLL
        for (Sums& each : sums) {
            each = Sums(mPanel.biases);
        }
        int64_t tap = 0;
        for (; tap + Taps::kGroup <= mTaps; tap += Taps::kGroup) {
            add<Taps::kGroup>(sums, taps + tap, at, weights);
        }
        if (Taps::kGroup > 1 && tap < mTaps) {
            add<1>(sums, taps + tap, at, weights);
        }
        uint8_t* y = mLine.y + pixel * mLine.yPixel + mChannel;
        HALYARD_UNROLL
        for (const Sums& each : sums) {
            store(mRequantize(each, mPanel.multipliers), y);
            y += mLine.yPixel;
        }
    }

  private:
    using Bytes = typename Taps::Bytes;
    using Sums = typename Taps::Sums;

    template <int kTaps>
    HWY_INLINE void add(Sums (&sums)[kPositions], const uint8_t* const* taps, ptrdiff_t at,
                        const std::byte*& weights) const {
        const typename Taps::template Group<kTaps> group(weights);
        weights += kTaps * Taps::kLanes * (Taps::kBytes ? 1 : 2);
        HALYARD_UNROLL
        for (int position = 0; position < kPositions; ++position) {
            Bytes x[kTaps];
            HALYARD_UNROLL
            for (int i = 0; i < kTaps; ++i) {
                x[i] = flipped(load(taps[i] + at + position * mStep), mFlip);
            }
            group.addTo(sums[position], x);
        }
    }
    HWY_INLINE Bytes load(const uint8_t* from) const {
        if constexpr (kWhole) {
            return loadBytes(from, Bytes());
        } else {
            uint8_t bytes[Taps::kLanes] = {};
            std::memcpy(bytes, from, mCount);
            return loadBytes(bytes, Bytes());
        }
    }
    HWY_INLINE void store(Bytes bytes, uint8_t* to) const {
        if constexpr (kWhole) {
            storeBytes(to, bytes);
        } else {
            uint8_t all[Taps::kLanes];
            storeBytes(all, bytes);
            std::memcpy(to, all, mCount);
        }
    }

    const QuantizedDepthwiseLine& mLine;
    const Panel<Taps::kLanes> mPanel;
    const Requantizer mRequantize;
    const Bytes mFlip;
    const ptrdiff_t mStep;
    const int64_t mTaps;
    const int64_t mChannel;
    const size_t mCount;
};

// A line whose filter has no loop of its own.
template <typename Taps, bool kWhole>
void computeByTaps(const QuantizedDepthwiseLine& line, const QuantizedDepthwise& form) {
    const DepthwiseWindow& window = line.window;
    const int64_t panelBytes = form.panelBytes(window.filterH, window.filterW);
    const int64_t blocks = form.blocks(window.channels);
    const auto block = [&](int64_t index) {
        return form.block(index, window.channels, line.blocksOverlap);
    };
    const auto computeEach = [&](int64_t begin, int64_t end) {
        for (int64_t pixel = begin; pixel < end; ++pixel) {
            findTaps(line, pixel);
            for (int64_t index = 0; index < blocks; ++index) {
                Positions<Taps, 1, kWhole>(line, line.panels + index * panelBytes, block(index))
                        .compute(0, pixel);
            }
        }
    };
    const bool hasAllRows = window.firstRow == 0 && window.endRow == window.filterH;
    const InnerPixels inner =
            hasAllRows ? innerPixels(window) : InnerPixels{window.endPixel, window.endPixel};
    computeEach(window.firstPixel, inner.first);
    if (inner.first < inner.end) {
        findTaps(line, inner.first);
        const ptrdiff_t step = window.strideW * line.xPixel;
        for (int64_t index = 0; index < blocks; ++index) {
            const std::byte* const panel = line.panels + index * panelBytes;
            const Positions<Taps, 2, kWhole> two(line, panel, block(index));
            int64_t pixel = inner.first;
            for (; pixel + 2 <= inner.end; pixel += 2) {
                two.compute((pixel - inner.first) * step, pixel);
            }
            if (pixel < inner.end) {
                Positions<Taps, 1, kWhole>(line, panel, block(index))
                        .compute((pixel - inner.first) * step, pixel);
            }
        }
    }
    computeEach(inner.end, window.endPixel);
}

template <typename Taps>
const QuantizedDepthwise* formOf();

template <typename Taps>
void compute(const QuantizedDepthwiseLine& line) {
    const QuantizedDepthwise& form = *formOf<Taps>();
    const DepthwiseWindow& window = line.window;
    if (const LineKernel kernel = lineKernelOf<Taps>(line); kernel != nullptr) {
        kernel(line, form.panelBytes(window.filterH, window.filterW));
        return;
    }
    if constexpr (!std::is_same_v<Taps, DotTaps>) {
        const auto byTaps =
                hasWholeBlocks<Taps>(line) ? computeByTaps<Taps, true> : computeByTaps<Taps, false>;
        byTaps(line, form);
    }
}

template <typename Taps>
const QuantizedDepthwise* formOf() {
    static const QuantizedDepthwise kForm = {.lanes = Taps::kLanes,
                                             .part = Taps::kLanes,
                                             .group = Taps::kPackedGroup,
                                             .order = Taps::kOrder,
                                             .bytes = Taps::kBytes,
                                             .overlaps = true,
                                             .moved = Taps::kMoved,
                                             .compute = compute<Taps>};
    return &kForm;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();
#endif

#endif
