// SPDX-License-Identifier: Apache-2.0
//
// 8-bit depthwise convolutions of 3x3 on NEON, for quantized_depthwise_neon-inl.h: a block of
// channels keeps its weights in registers along a line, and with them the columns of the input that
// neighbouring windows share.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_THREE_ROWS_NEON_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_THREE_ROWS_NEON_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_THREE_ROWS_NEON_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_THREE_ROWS_NEON_INL_H_
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

// The rows that a 3x3 filter reads. kWhole: all of them lie on the input; else rows beside it are
// the padding, wherever the column is. kFlips: bytes are not as they are multiplied.
template <typename Taps, bool kWhole, bool kFlips>
class ThreeRows {
  public:
    explicit HWY_INLINE ThreeRows(const QuantizedDepthwiseLine& line)
        : mPadding(line.padding),
          mRow0(rowOf(line, 0)),
          mRow1(rowOf(line, 1)),
          mRow2(rowOf(line, 2)),
          mMask0(maskOf(line.window, 0)),
          mMask1(maskOf(line.window, 1)),
          mMask2(maskOf(line.window, 2)),
          mFlip(flipOf(line.flip ^ Taps::kMoved, Bytes())) {}

    // From a channel on.
    HWY_INLINE ThreeRows from(int64_t channel) const {
        ThreeRows rows = *this;
        rows.mPadding += channel;
        rows.mRow0 += channel;
        rows.mRow1 += channel;
        rows.mRow2 += channel;
        return rows;
    }
    // A column of the input, whose bytes are `at` behind those of the first one.
    HWY_INLINE typename Taps::Column at(ptrdiff_t at) const {
        return typename Taps::Column(load(mRow0, at, mMask0), load(mRow1, at, mMask1),
                                     load(mRow2, at, mMask2));
    }
    HWY_INLINE typename Taps::Column padding() const {
        const Bytes bytes = load(mPadding, 0, 0);
        return typename Taps::Column(bytes, bytes, bytes);
    }

  private:
    using Bytes = typename Taps::Bytes;

    static HWY_INLINE ptrdiff_t maskOf(const DepthwiseWindow& window, int64_t i) {
        return i >= window.firstRow && i < window.endRow ? ~ptrdiff_t{0} : 0;
    }
    static HWY_INLINE const uint8_t* rowOf(const QuantizedDepthwiseLine& line, int64_t i) {
        return maskOf(line.window, i) != 0 ? line.x + i * line.window.row : line.padding;
    }
    HWY_INLINE Bytes load(const uint8_t* row, ptrdiff_t at, ptrdiff_t mask) const {
        const Bytes bytes = loadBytes(row + (kWhole ? at : at & mask), Bytes());
        return kFlips ? flipped(bytes, mFlip) : bytes;
    }

    const uint8_t* mPadding;
    const uint8_t* mRow0;
    const uint8_t* mRow1;
    const uint8_t* mRow2;
    ptrdiff_t mMask0, mMask1, mMask2;
    Bytes mFlip;
};

// The spatial positions of a line, whose windows lie kStride columns apart, for a block of
// channels that has all lanes.
template <typename Taps, int kStride, typename Rows>
class ThreeColumns {
  public:
    HWY_INLINE ThreeColumns(const QuantizedDepthwiseLine& line, const Rows& rows,
                            const Requantizer& requantize, const std::byte* panel, uint8_t* y)
        : mRows(rows),
          mRequantize(requantize),
          mPanel(panel),
          mFilter(mPanel.weights),
          mWidth(line.window.inputW),
          mXPixel(line.xPixel),
          mYPixel(line.yPixel),
          mColumn(line.window.firstPixel * kStride - line.window.left),
          mY(y + line.window.firstPixel * mYPixel) {}

    HWY_INLINE void compute(int64_t positions) {
        Column a = next();
        if constexpr (kStride == 2) {
            while (positions > 0) {
                const int64_t inner = innerOf(positions);
                ptrdiff_t at = mColumn * mXPixel;
                mColumn += 2 * inner;
                for (int64_t i = 0; i < inner; ++i) {
                    const Column b = mRows.at(at);
                    const Column c = mRows.at(at + mXPixel);
                    at += 2 * mXPixel;
                    give(a, b, c);
                    a = c;
                }
                positions -= inner;
                if (positions > 0) {
                    const Column b = next();
                    const Column c = next();
                    give(a, b, c);
                    a = c;
                    --positions;
                }
            }
        } else {
            Column b = next();
            while (positions > 0) {
                int64_t inner = innerOf(positions);
                positions -= inner;
                ptrdiff_t at = mColumn * mXPixel;
                mColumn += inner;
                const auto read = [&]() HWY_ATTR __attribute__((always_inline)) {
                    const Column column = mRows.at(at);
                    at += mXPixel;
                    return column;
                };
                if (inner > 0) {
                    // The next column is read between a spatial position's sums and its bytes: an
                    // in-order core has something to do while those go their long way.
                    Column c = read();
                    for (; inner > 3; inner -= 3) {
                        Sums sums = sumsOf(a, b, c);
                        a = read();
                        store(sums);
                        sums = sumsOf(b, c, a);
                        b = read();
                        store(sums);
                        sums = sumsOf(c, a, b);
                        c = read();
                        store(sums);
                    }
                    for (; inner > 1; --inner) {
                        const Sums sums = sumsOf(a, b, c);
                        a = b;
                        b = c;
                        c = read();
                        store(sums);
                    }
                    give(a, b, c);
                    a = b;
                    b = c;
                }
                if (positions > 0) {
                    const Column c = next();
                    give(a, b, c);
                    a = b;
                    b = c;
                    --positions;
                }
            }
        }
    }

  private:
    using Column = typename Taps::Column;
    using Sums = typename Taps::Sums;

    // The next spatial positions whose columns that are still to be read lie on the input.
    HWY_INLINE int64_t innerOf(int64_t positions) const {
        const int64_t columns = mColumn < 0 ? 0 : std::max<int64_t>(mWidth - mColumn, 0);
        return std::min(positions, columns / kStride);
    }
    HWY_INLINE Column next() {
        const int64_t column = mColumn++;
        return column >= 0 && column < mWidth ? mRows.at(column * mXPixel) : mRows.padding();
    }
    HWY_INLINE Sums sumsOf(const Column& a, const Column& b, const Column& c) const {
        Sums sums(mPanel.biases);
        mFilter.addTo(sums, a, b, c);
        return sums;
    }
    HWY_INLINE void store(const Sums& sums) {
        storeBytes(mY, mRequantize(sums, mPanel.multipliers));
        mY += mYPixel;
    }
    HWY_INLINE void give(const Column& a, const Column& b, const Column& c) {
        store(sumsOf(a, b, c));
    }

    const Rows mRows;
    const Requantizer mRequantize;
    const Panel<Taps::kLanes> mPanel;
    const typename Taps::Filter mFilter;
    const int64_t mWidth;
    const ptrdiff_t mXPixel, mYPixel;
    int64_t mColumn;
    uint8_t* mY;
};

// A line of a 3x3 filter, of at least as many channels as a block has lanes: the last block may
// have some of those of the one before.
template <typename Taps, int kStride, bool kWhole, bool kFlips>
void computeThree(const QuantizedDepthwiseLine& line, int64_t panelBytes) {
    using Rows = ThreeRows<Taps, kWhole, kFlips>;
    const Rows rows(line);
    const Requantizer requantize(line);
    const int64_t channels = line.window.channels;
    const int64_t positions = line.window.endPixel - line.window.firstPixel;
    const std::byte* panel = line.panels;
    for (int64_t first = 0; first < channels; first += Taps::kLanes) {
        const int64_t channel = std::min(first, channels - Taps::kLanes);
        ThreeColumns<Taps, kStride, Rows>(line, rows.from(channel), requantize, panel,
                                          line.y + channel)
                .compute(positions);
        panel += panelBytes;
    }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();
#endif

#endif
