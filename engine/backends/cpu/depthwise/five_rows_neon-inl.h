// SPDX-License-Identifier: Apache-2.0
//
// 8-bit depthwise convolutions of 5x5 by dot products on NEON, for quantized_depthwise_neon-inl.h.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_FIVE_ROWS_NEON_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_FIVE_ROWS_NEON_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_FIVE_ROWS_NEON_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_FIVE_ROWS_NEON_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "engine/backends/cpu/depthwise/byte_taps_neon-inl.h"
#include "engine/backends/cpu/depthwise/depthwise_line.h"

#if HWY_TARGET == HWY_NEON
HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

// A 5x5 filter by dot products, for a block of 16 channels: of each column four rows, and of the
// last row four columns from each one on, the last of which is the fifth tap of the window that
// begins a column earlier. They are brought together once, for some spatial positions at a time.
template <int kStride>
class FiveByDots {
  public:
    // Of at least 16 channels.
    static void compute(const QuantizedDepthwiseLine& line, int64_t panelBytes) {
        const int64_t channels = line.window.channels;
        const std::byte* panel = line.panels;
        for (int64_t first = 0; first < channels; first += DotTaps::kLanes) {
            FiveByDots(line, panel, std::min<int64_t>(first, channels - DotTaps::kLanes))
                    .computeBlock();
            panel += panelBytes;
        }
    }

  private:
    using Column = DotTaps::Column;

    static constexpr int64_t kAtOnce = 16;
    static constexpr int64_t kColumns = (kAtOnce - 1) * kStride + 5;
    // Of a column's four rows, and of the last row's four columns.
    static constexpr int64_t kColumnLength = 64;
    static constexpr int64_t kLastRow = 32;

    FiveByDots(const QuantizedDepthwiseLine& line, const std::byte* panel, int64_t channel)
        : mLine(line),
          mPanel(panel),
          mRequantize(line),
          mChannel(channel),
          mFlip(vdupq_n_u8(static_cast<uint8_t>(line.flip ^ DotTaps::kMoved))) {}

    void computeBlock() const {
        alignas(16) uint16_t columns[kColumns * kColumnLength];
        const DepthwiseWindow& window = mLine.window;
        for (int64_t pixel = window.firstPixel; pixel < window.endPixel; pixel += kAtOnce) {
            const int64_t count = std::min(window.endPixel - pixel, kAtOnce);
            bringTogether(pixel * kStride - window.left, (count - 1) * kStride + 5, columns);
            uint8_t* const y = mLine.y + pixel * mLine.yPixel + mChannel;
            int64_t done = 0;
            for (; done + 4 <= count; done += 4) {
                computePositions<4>(columns, done, y);
            }
            if (done < count && count >= 4) {  // some of them once more
                computePositions<4>(columns, count - 4, y);
                continue;
            }
            for (; done < count; ++done) {
                computePositions<1>(columns, done, y);
            }
        }
    }

    void bringTogether(int64_t first, int64_t count, uint16_t* to) const {
        const DepthwiseWindow& window = mLine.window;
        const uint8_t* const padding = mLine.padding + mChannel;
        const uint8_t* rows[5];
        ptrdiff_t steps[5];
        HALYARD_UNROLL
        for (int i = 0; i < 5; ++i) {
            const bool isThere = i >= window.firstRow && i < window.endRow;
            rows[i] =
                    isThere ? mLine.x + i * window.row + first * mLine.xPixel + mChannel : padding;
            steps[i] = isThere ? mLine.xPixel : 0;
        }
        // Of the last row, the three columns before.
        uint8x16_t last0 = mFlip;
        uint8x16_t last1 = mFlip;
        uint8x16_t last2 = mFlip;
        for (int64_t k = 0; k < count; ++k) {
            const bool isThere = first + k >= 0 && first + k < window.inputW;
            const auto load = [&](int i) HWY_ATTR __attribute__((always_inline)) {
                const uint8x16_t bytes = vld1q_u8(isThere ? rows[i] : padding);
                rows[i] += steps[i];
                return veorq_u8(bytes, mFlip);
            };
            const uint8x16_t row0 = load(0);
            const uint8x16_t row1 = load(1);
            const uint8x16_t row2 = load(2);
            const uint8x16_t row3 = load(3);
            Column(row0, row1, row2, row3).store(to);
            const uint8x16_t last3 = load(4);
            if (k >= 3) {
                Column(last0, last1, last2, last3).store(to - 3 * kColumnLength + kLastRow);
            }
            last0 = last1;
            last1 = last2;
            last2 = last3;
            to += kColumnLength;
        }
    }

    template <int kPositions>
    HWY_INLINE void computePositions(const uint16_t* columns, int64_t index, uint8_t* y) const {
        columns += index * kStride * kColumnLength;
        y += index * mLine.yPixel;
        BlockSums sums[kPositions];
        addVector<kPositions, 0>(columns, sums, [](BlockSums& of) -> int32x4_t& { return of.a; });
        addVector<kPositions, 1>(columns, sums, [](BlockSums& of) -> int32x4_t& { return of.b; });
        addVector<kPositions, 2>(columns, sums, [](BlockSums& of) -> int32x4_t& { return of.c; });
        addVector<kPositions, 3>(columns, sums, [](BlockSums& of) -> int32x4_t& { return of.d; });
        HALYARD_UNROLL
        for (const BlockSums& each : sums) {
            vst1q_u8(y, mRequantize(each, mPanel.multipliers));
            y += mLine.yPixel;
        }
    }
    // Of four channels.
    template <int kPositions, int kVector, typename Of>
    HWY_INLINE void addVector(const uint16_t* columns, BlockSums (&sums)[kPositions], Of of) const {
        const auto* weights = reinterpret_cast<const int8_t*>(mPanel.weights) + 16 * kVector;
        const int32x4_t bias = vld1q_s32(mPanel.biases + 4 * kVector);
        HALYARD_UNROLL
        for (BlockSums& each : sums) {
            of(each) = bias;
        }
        constexpr int kReached = (kPositions - 1) * kStride + 5;
        uint16x8_t x[kReached];
        HALYARD_UNROLL
        for (int k = 0; k < kReached; ++k) {
            x[k] = vld1q_u16(columns + k * kColumnLength + 8 * kVector);
        }
        HALYARD_UNROLL
        for (int j = 0; j < 5; ++j) {
            const int8x16_t w = vld1q_s8(weights + 64 * j);
            HALYARD_UNROLL
            for (int i = 0; i < kPositions; ++i) {
                DotTaps::add(of(sums[i]), x[i * kStride + j], w);
            }
        }
        HALYARD_UNROLL
        for (int j = 0; j < 2; ++j) {
            const int8x16_t w = vld1q_s8(weights + 64 * (5 + j));
            HALYARD_UNROLL
            for (int i = 0; i < kPositions; ++i) {
                DotTaps::add(of(sums[i]),
                             vld1q_u16(columns + (i * kStride + j) * kColumnLength + kLastRow +
                                       8 * kVector),
                             w);
            }
        }
        // The next channels' columns are read behind these: GCC 12 would have those of all
        // channels at once, in more registers than there are.
        asm volatile("" : : : "memory");
    }

    const QuantizedDepthwiseLine& mLine;
    const Panel<DotTaps::kLanes> mPanel;
    const Requantizer mRequantize;
    const int64_t mChannel;
    const uint8x16_t mFlip;
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();
#endif

#endif
