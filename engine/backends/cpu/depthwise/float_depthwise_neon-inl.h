// SPDX-License-Identifier: Apache-2.0
//
// Depthwise convolutions of floats on NEON, for a block of four channels: for float_depthwise.cc.
//
// Four neighbouring spatial positions go together: their windows share columns, and their sums are
// four chains of multiply-adds, which an in-order core needs. Each sum adds up its taps line by
// line, as those of a spatial position alone do.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_FLOAT_DEPTHWISE_NEON_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_FLOAT_DEPTHWISE_NEON_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_FLOAT_DEPTHWISE_NEON_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_FLOAT_DEPTHWISE_NEON_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "engine/backends/cpu/depthwise/depthwise_line.h"

#if HWY_TARGET == HWY_NEON
HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr int64_t kNeonLanes = 4;

// Neighbouring spatial positions, four and more, of some blocks of channels.
template <int kSide>
struct NeonRun {
    const float* rows[kSide] = {};         // of the filter, at the first window's first column
    int64_t firstRow = 0, endRow = kSide;  // those that lie on the input
    // Columns beside the input, before the first four windows and behind the last four: no more
    // than half of the filter's. All others lie on it.
    int64_t missingLeft = 0, missingRight = 0;
    ptrdiff_t column = 0;  // elements from a column to the next
    int64_t blocks = 1;
    const float* panels = nullptr;
    float* y = nullptr;
    ptrdiff_t yPixel = 0;
    int64_t count = 0;
    float low = 0.0F, high = 0.0F;
};

HWY_INLINE float32x4_t keptWithin(float32x4_t value, float32x4_t low, float32x4_t high) {
    return vminq_f32(vmaxq_f32(value, low), high);
}

template <int kColumns>
HWY_INLINE void loadWeights(const float* from, float32x4_t (&weights)[kColumns]) {
    HALYARD_UNROLL
    for (int j = 0; j < kColumns; ++j) {
        weights[j] = vld1q_f32(from + j * kNeonLanes);
    }
}

// Adds taps of a row of the filter, side by side, to the sums of neighbouring spatial positions. Of
// the columns that their windows reach the first kFirst and the last kLast ones are left out.
template <int kTaps, int kStride, int kFirst, int kLast, int kPositions>
HWY_INLINE void addRow(float32x4_t (&sums)[kPositions], const float* row, ptrdiff_t column,
                       const float32x4_t (&weights)[kTaps]) {
    constexpr int kEnd = (kPositions - 1) * kStride + kTaps - kLast;
    float32x4_t x[kEnd];
    HALYARD_UNROLL
    for (int i = kFirst; i < kEnd; ++i) {
        x[i] = vld1q_f32(row + i * column);
    }
    HALYARD_UNROLL
    for (int j = 0; j < kTaps; ++j) {
        HALYARD_UNROLL
        for (int i = 0; i < kPositions; ++i) {
            if (const int at = i * kStride + j; at >= kFirst && at < kEnd) {
                sums[i] = vfmaq_f32(sums[i], x[at], weights[j]);
            }
        }
    }
}

// kAllRows: all rows of the filter lie on the input.
template <int kSide, int kStride, bool kAllRows>
void computeRun(const NeonRun<kSide>& run) {
    const float32x4_t low = vdupq_n_f32(run.low);
    const float32x4_t high = vdupq_n_f32(run.high);
    const ptrdiff_t column = run.column;
    const ptrdiff_t yPixel = run.yPixel;
    const int64_t count = run.count;
    const int64_t missingLeft = run.missingLeft;
    const int64_t missingRight = run.missingRight;
    [[maybe_unused]] const int64_t firstRow = kAllRows ? 0 : run.firstRow;
    [[maybe_unused]] const int64_t endRow = kAllRows ? kSide : run.endRow;
    // Registers have room for the weights of three rows.
    constexpr bool kKeeps = kAllRows && kSide == 3;
    float32x4_t kept[kKeeps ? kSide : 1][kSide];
    const float* rows[kSide];
    HALYARD_UNROLL
    for (int i = 0; i < kSide; ++i) {
        rows[i] = run.rows[i];
    }
    const float* panel = run.panels;
    float* to = run.y;
    for (int64_t block = 0; block < run.blocks; ++block) {
        const float32x4_t bias = vld1q_f32(panel);
        const float* const weights = panel + kNeonLanes;
        if constexpr (kKeeps) {
            HALYARD_UNROLL
            for (int i = 0; i < kSide; ++i) {
                loadWeights(weights + i * kSide * kNeonLanes, kept[i]);
            }
        }
        ptrdiff_t offset = 0;  // in a row
        float* y = to;
        const auto computeFour = [&]<int kFirst, int kLast>() HWY_ATTR
                __attribute__((always_inline)) {
            float32x4_t sums[4] = {bias, bias, bias, bias};
            if constexpr (kKeeps) {
                HALYARD_UNROLL
                for (int i = 0; i < kSide; ++i) {
                    addRow<kSide, kStride, kFirst, kLast>(sums, rows[i] + offset, column, kept[i]);
                }
            } else {
                for (int64_t i = firstRow; i < endRow; ++i) {
                    float32x4_t each[kSide];
                    loadWeights(weights + i * kSide * kNeonLanes, each);
                    addRow<kSide, kStride, kFirst, kLast>(sums, rows[i] + offset, column, each);
                }
            }
            HALYARD_UNROLL
            for (int i = 0; i < 4; ++i) {
                vst1q_f32(y + i * yPixel, keptWithin(sums[i], low, high));
            }
            offset += 4 * kStride * column;
            y += 4 * yPixel;
        };
        const auto moveTo = [&](int64_t position) HWY_ATTR __attribute__((always_inline)) {
            offset = position * kStride * column;
            y = to + position * yPixel;
        };
        int64_t done = 0;
        if (count > 4 || missingLeft > 0) {
            if (missingLeft == 0) {
                computeFour.template operator()<0, 0>();
            } else if (kSide == 3 || missingLeft == 1) {
                computeFour.template operator()<1, 0>();
            } else {
                computeFour.template operator()<kSide / 2, 0>();
            }
            done = 4;
        }
        for (; done + 8 <= count; done += 4) {
            computeFour.template operator()<0, 0>();
        }
        // Some of them once more, none whose windows reach beside the input.
        if (done > 0 && done + 4 < count) {
            moveTo(std::max<int64_t>(count - 8, kSide / 2));
            computeFour.template operator()<0, 0>();
        }
        if (count > 4 || missingLeft == 0) {
            moveTo(count - 4);
            if (missingRight == 0) {
                computeFour.template operator()<0, 0>();
            } else if (kSide == 3 || missingRight == 1) {
                computeFour.template operator()<0, 1>();
            } else {
                computeFour.template operator()<0, kSide / 2>();
            }
        }
        HALYARD_UNROLL
        for (int i = 0; i < kSide; ++i) {
            rows[i] += kNeonLanes;
        }
        panel += (kSide * kSide + 1) * kNeonLanes;
        to += kNeonLanes;
    }
}

template <int kSide>
void computeRun(const NeonRun<kSide>& run, int64_t stride) {
    const bool hasAllRows = run.firstRow == 0 && run.endRow == kSide;
    if (stride == 1) {
        hasAllRows ? computeRun<kSide, 1, true>(run) : computeRun<kSide, 1, false>(run);
    } else {
        hasAllRows ? computeRun<kSide, 2, true>(run) : computeRun<kSide, 2, false>(run);
    }
}

// Of a line, the first channels, so many blocks of them.
class NeonLine {
  public:
    NeonLine(const FloatDepthwiseLine& line, int64_t blocks)
        : mLine(line), mWindow(line.window), mBlocks(blocks) {}

    void compute() const {
        const bool isSquare = mWindow.filterH == mWindow.filterW;
        const bool isDone = isSquare && ((mWindow.filterH == 3 && computesRun<3>()) ||
                                         (mWindow.filterH == 5 && computesRun<5>()));
        if (isDone) {
            return;
        }
        const int64_t panelLength = (mWindow.filterH * mWindow.filterW + 1) * kNeonLanes;
        for (int64_t block = 0; block < mBlocks; ++block) {
            computeEach(block * kNeonLanes, mLine.panels + block * panelLength);
        }
    }

  private:
    const float* rowOf(int64_t i) const {
        const float* const row = mLine.x + i * mWindow.row;
        return i < mLine.wrapRow ? row : row - mLine.wrapLength;
    }

    // False where the windows do not lie as those of a run.
    template <int kSide>
    bool computesRun() const {
        const int64_t stride = mWindow.strideW;
        const int64_t count = mWindow.endPixel - mWindow.firstPixel;
        if (count < 4 || stride > 2 || mWindow.dilationW != 1) {
            return false;
        }
        const int64_t start = mWindow.firstPixel * stride - mWindow.left;
        const auto behind = [&](int64_t position) {  // of the input, the columns of its window
            return start + position * stride + kSide - mWindow.inputW;
        };
        NeonRun<kSide> run = {.firstRow = mWindow.firstRow,
                              .endRow = mWindow.endRow,
                              .missingLeft = std::max<int64_t>(-start, 0),
                              .missingRight = std::max<int64_t>(behind(count - 1), 0),
                              .column = mWindow.column,
                              .blocks = mBlocks,
                              .panels = mLine.panels,
                              .y = mLine.y + mWindow.firstPixel * mLine.yPixel,
                              .yPixel = mLine.yPixel,
                              .count = count,
                              .low = mLine.low,
                              .high = mLine.high};
        const bool fits = run.missingLeft <= kSide / 2 && run.missingRight <= kSide / 2;
        // The first four and the last four may be the same, or share some.
        const bool firstEndsInside =
                count == 4 ? run.missingLeft == 0 || run.missingRight == 0 : behind(3) <= 0;
        const bool lastBeginsInside = count == 4 || start + (count - 4) * stride >= 0;
        if (!fits || !firstEndsInside || !lastBeginsInside) {
            return false;
        }
        for (int64_t i = run.firstRow; i < run.endRow; ++i) {
            run.rows[i] = rowOf(i) + start * mLine.xPixel;
        }
        computeRun(run, stride);
        return true;
    }

    // One by one, the taps that lie on the input.
    void computeEach(int64_t channel, const float* panel) const {
        const int64_t dilation = mWindow.dilationW;
        const ptrdiff_t column = mWindow.column;
        const float32x4_t low = vdupq_n_f32(mLine.low);
        const float32x4_t high = vdupq_n_f32(mLine.high);
        for (int64_t pixel = mWindow.firstPixel; pixel < mWindow.endPixel; ++pixel) {
            const int64_t start = pixel * mWindow.strideW - mWindow.left;
            const int64_t first =
                    std::min(start < 0 ? (-start + dilation - 1) / dilation : 0, mWindow.filterW);
            const int64_t room = mWindow.inputW - 1 - start;
            const int64_t last =
                    std::clamp(room < 0 ? 0 : room / dilation + 1, first, mWindow.filterW);
            float32x4_t sums[1] = {vld1q_f32(panel)};
            for (int64_t i = mWindow.firstRow; i < mWindow.endRow; ++i) {
                const float* x = rowOf(i) + channel + (start + first * dilation) * mLine.xPixel;
                const float* weights = panel + (1 + i * mWindow.filterW + first) * kNeonLanes;
                int64_t left = last - first;
                for (; left >= 4; left -= 4) {
                    addTaps<4>(sums, x, column, weights);
                }
                if (left >= 2) {
                    addTaps<2>(sums, x, column, weights);
                    left -= 2;
                }
                if (left > 0) {
                    addTaps<1>(sums, x, column, weights);
                }
            }
            vst1q_f32(mLine.y + channel + pixel * mLine.yPixel, keptWithin(sums[0], low, high));
        }
    }
    template <int kTaps>
    static HWY_INLINE void addTaps(float32x4_t (&sums)[1], const float*& x, ptrdiff_t column,
                                   const float*& weights) {
        float32x4_t each[kTaps];
        loadWeights(weights, each);
        addRow<kTaps, 1, 0, 0>(sums, x, column, each);
        x += kTaps * column;
        weights += kTaps * kNeonLanes;
    }

    const FloatDepthwiseLine& mLine;
    const DepthwiseWindow& mWindow;
    const int64_t mBlocks;
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();
#endif

#endif
