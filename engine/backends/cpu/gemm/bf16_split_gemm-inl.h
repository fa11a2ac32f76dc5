// SPDX-License-Identifier: Apache-2.0
//
// The product of bf16_split_block.h for any work item that multiplies tiles, the processor's or one
// that a test makes up: for sources that targets.h compiles once for each instruction set.
//
// Tiles: eight registers of 16 rows of 64 bytes each, which are those of the thread between
// configure() and release(). Sums are tiles 0 to 3, as [two of rows][two of columns]; left ones 4
// and 5; right ones 6 and 7.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_BF16_SPLIT_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_BF16_SPLIT_GEMM_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_BF16_SPLIT_GEMM_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_BF16_SPLIT_GEMM_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "engine/backends/cpu/gemm/bf16_split_block.h"
#include "engine/backends/cpu/gemm/hi_lo_rows-inl.h"
#include "engine/backends/cpu/vectors/bounds-inl.h"
#include "engine/backends/cpu/vectors/partial_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <typename Tiles, int kLeft, int kRight>
class Bf16SplitConvGemm {
  public:
    HWY_INLINE explicit Bf16SplitConvGemm(const SplitBlock& block)
        : mBlock(block),
          mMatrix(block.matrix),
          mSteps(block.depth / kSplitDepth),
          mPanelBytes(splitPanelBytes(block.depth, kRight)),
          mPanels(kTilePanels.panels(mMatrix.columns)),
          mPlaneBytes(block.depth * int64_t{sizeof(uint16_t)}),
          mRowBytes(splitRowBytes(block.depth, kLeft)),
          mRing(block.blocksAtOnce),
          mSums(reinterpret_cast<float*>(block.memory)),
          mPlainRows(mSums + kSides * 4 * kTileFloats),
          mParts(reinterpret_cast<std::byte*>(mPlainRows + kSplitPlainRows * block.depth)),
          mRows(mMatrix, block.depth, mPlainRows) {}

    void run() {
        Tiles::configure();
        const int64_t all = mMatrix.lines * mMatrix.rows;
        const int64_t atOnce = mRing == 1 ? all : mRing * kSplitBlockRows;
        for (mFirst = 0; mFirst < all; mFirst += atOnce) {
            mCount = std::min(atOnce, all - mFirst);
            multiply();
        }
        for (const WaitingSums& waiting : mWaiting) {
            storeRows(waiting, 0, waiting.rowCount);
        }
        Tiles::release();
    }

  private:
    using Rows = HiLoRows<kLeft>;
    using Floats = hn::CappedTag<float, kTileColumns>;
    using Words = hn::RebindToUnsigned<Floats>;
    static constexpr Floats kFloats = {};
    static constexpr Words kWords = {};
    static constexpr int64_t kLine = 64;  // bytes that are fetched at once
    static constexpr int64_t kTileFloats = kTileBytes / int64_t{sizeof(float)};
    static constexpr int64_t kStepBytes = kRight * kTileBytes;
    static constexpr int64_t kHalfStep = kSplitDepth / 2;
    // Of the block in work and of the two that wait.
    static constexpr int64_t kSides = 3;

    // Where the rows of a block of sums go.
    using RowPointers = std::array<float*, kSplitBlockRows>;

    // Sums that are not results yet.
    struct WaitingSums {
        const float* sums = nullptr;       // [tile of rows][tile of columns][row][column]
        const std::byte* panel = nullptr;  // the first column's, which begins with biases
        const RowPointers* rows = nullptr;
        int64_t column = 0;  // the first one's offset from the row pointers
        int64_t columns = 0;
        int64_t rowCount = 0;  // 0: nothing waits
    };

    std::byte* partsOf(int64_t block) const {
        return mParts + block % mRing * kSplitBlockRows * mRowBytes;
    }

    // ---- Multiplying ----------------------------------------------------------------------------

    void multiply() {
        const int64_t blocks = (mCount + kSplitBlockRows - 1) / kSplitBlockRows;
        const int64_t inChunk =
                mRing == 1 ? mPanels
                           : std::max<int64_t>(mBlock.chunkBytes / mPanelBytes / 2, 1) * 2;
        auto place = Rows::Place::of(mMatrix, mFirst);
        for (int64_t chunk = 0; chunk < mPanels; chunk += inChunk) {
            const int64_t end = std::min(chunk + inChunk, mPanels);
            const int64_t steps = (end - chunk + 1) / 2 * mSteps;
            // The chunk behind is fetched meanwhile, in equal parts.
            const int64_t behind = std::min(end + inChunk, mPanels) - end;
            mAhead = mBlock.panels + end * mPanelBytes;
            mAheadEnd = mAhead + behind * mPanelBytes;
            mAheadStep = (behind * mPanelBytes / kLine / (blocks * steps) + 1) * kLine;
            for (int64_t block = 0; block < blocks; ++block) {
                const int64_t first = block * kSplitBlockRows;
                if (chunk == 0) {
                    mIsInSafeRange[static_cast<size_t>(block % mRing)] = mRows.split(
                            place, std::min(kSplitBlockRows, mCount - first), partsOf(block));
                }
                if (!mIsInSafeRange[static_cast<size_t>(block % mRing)]) {
                    multiplyPlainRows(first, chunk, end);
                } else if (mCount - first > kTileRows) {
                    multiplyRows<2>(block, chunk, end);
                } else {
                    multiplyRows<1>(block, chunk, end);
                }
            }
        }
    }

    template <int kR>
    void multiplyRows(int64_t block, int64_t panel, int64_t end) {
        // Those of the two blocks before are still in use.
        mSide = (mSide + 1) % kSides;
        const int64_t first = block * kSplitBlockRows;
        pointRows(first, std::min(kR * kTileRows, mCount - first), mRowPointers[mSide].data());
        for (; panel + 1 < end; panel += 2) {
            computeBlock<kR, 2>(block, panel);
        }
        if (panel < end) {
            computeBlock<kR, 1>(block, panel);
        }
    }

    // Where rows go, counted from the first one of those that are multiplied together.
    void pointRows(int64_t first, int64_t count, float** to) const {
        int64_t line = (mFirst + first) / mMatrix.rows;
        int64_t row = (mFirst + first) % mMatrix.rows;
        for (int64_t i = 0; i < count; ++i) {
            to[i] = mMatrix.c + line * mMatrix.cLine + row * mMatrix.cRow;
            if (++row == mMatrix.rows) {
                row = 0;
                ++line;
            }
        }
    }

    // A part of the right tiles.
    template <int kV, int kPart>
    static HWY_INLINE void loadRight(const std::byte* w, const std::byte* w2) {
        Tiles::template load<6>(w + kPart * kTileBytes, kTileDepth);
        if constexpr (kV == 2) {
            Tiles::template load<7>(w2 + kPart * kTileBytes, kTileDepth);
        }
    }
    template <int kV>
    static HWY_INLINE void zeroRight() {
        Tiles::template zero<6>();
        if constexpr (kV == 2) {
            Tiles::template zero<7>();
        }
    }
    // The products of a tile of rows with the right ones. It is loaded before unless it is there,
    // and zeroed behind its last product: tile_sums-inl.h says why.
    template <int kV, bool kLoads, bool kIsLast, int kLeftTile>
    HWY_INLINE void multiplyTile(const std::byte* a) const {
        constexpr int kSum = (kLeftTile - 4) * 2;
        if constexpr (kLoads) {
            Tiles::template load<kLeftTile>(a, mRowBytes);
        }
        Tiles::template multiplyBfloats<kSum, kLeftTile, 6>();
        if constexpr (kV == 2) {
            Tiles::template multiplyBfloats<kSum + 1, kLeftTile, 7>();
        }
        if constexpr (kIsLast) {
            Tiles::template zero<kLeftTile>();
        }
    }
    template <int kR, int kV, bool kLoads, bool kIsLast>
    HWY_INLINE void multiplyPart(const std::byte* a) const {
        multiplyTile<kV, kLoads, kIsLast, 4>(a);
        if constexpr (kR == 2) {
            multiplyTile<kV, kLoads, kIsLast, 5>(a + kTileRows * mRowBytes);
        }
    }

    // From one product of parts to the next, one side stays. Of rows, small parts come first.
    template <int kR, int kV>
    HWY_INLINE void multiplyParts(const std::byte* a, const std::byte* w,
                                  const std::byte* w2) const {
        loadRight<kV, kRight - 1>(w, w2);
        if constexpr (kRight == 2) {
            multiplyPart<kR, kV, true, false>(a);
            zeroRight<kV>();
            loadRight<kV, 0>(w, w2);
            multiplyPart<kR, kV, false, true>(a);
            multiplyPart<kR, kV, true, true>(a + mPlaneBytes);
        } else {
            HALYARD_UNROLL
            for (int part = kLeft - 1; part >= 0; --part) {
                multiplyPart<kR, kV, true, true>(a + part * mPlaneBytes);
            }
        }
        zeroRight<kV>();
    }

    // The sums of kR tiles of rows with kV panels. Those of the block before the last become
    // results in the meantime: what multiplies tiles leaves the vector unit alone. The last block's
    // would have to be waited for: they are on their way to memory.
    template <int kR, int kV>
    HWY_INLINE void computeBlock(int64_t block, int64_t panel) {
        const std::byte* const first = mBlock.panels + panel * mPanelBytes;
        const std::byte* const second = first + mPanelBytes;
        Tiles::template zero<0>();
        Tiles::template zero<1>();
        Tiles::template zero<2>();
        Tiles::template zero<3>();
        const std::byte* w = first + kPanelHead;
        const std::byte* w2 = second + kPanelHead;
        const std::byte* a = partsOf(block);
        const WaitingSums waiting = mWaiting[0];
        const int64_t each = (waiting.rowCount + mSteps - 1) / mSteps;
        int64_t row = 0;
        const std::byte* ahead = mAhead;
        for (int64_t step = 0; step < mSteps; ++step) {
            multiplyParts<kR, kV>(a, w, w2);
            a += kTileDepth;
            w += kStepBytes;
            w2 += kStepBytes;
            for (int64_t i = 0; i < mAheadStep && ahead < mAheadEnd; i += kLine) {
                __builtin_prefetch(ahead, 0, 2);
                ahead += kLine;
            }
            const int64_t stop = std::min(row + each, waiting.rowCount);
            storeRows(waiting, row, stop);
            row = stop;
        }
        mAhead = ahead;
        float* const sums = mSums + mSumsSide * 4 * kTileFloats;
        mSumsSide = (mSumsSide + 1) % kSides;
        constexpr ptrdiff_t kStride = kTileColumns * sizeof(float);
        Tiles::template store<0>(sums, kStride);
        if constexpr (kV == 2) {
            Tiles::template store<1>(sums + kTileFloats, kStride);
        }
        if constexpr (kR == 2) {
            Tiles::template store<2>(sums + 2 * kTileFloats, kStride);
            if constexpr (kV == 2) {
                Tiles::template store<3>(sums + 3 * kTileFloats, kStride);
            }
        }
        const int64_t column = panel * kTileColumns;
        mWaiting[0] = mWaiting[1];
        mWaiting[1] = {.sums = sums,
                       .panel = first,
                       .rows = &mRowPointers[mSide],
                       .column = column,
                       .columns = std::min(kV * kTileColumns, mMatrix.columns - column),
                       .rowCount = std::min(kR * kTileRows, mCount - block * kSplitBlockRows)};
    }

    static constexpr int64_t kPanelHead = kTileColumns * int64_t{sizeof(float)};

    // Makes results of the waiting sums of rows [row, end).
    HWY_INLINE void storeRows(const WaitingSums& waiting, int64_t row, int64_t end) const {
        const auto low = hn::Set(kFloats, mMatrix.low);
        const auto high = hn::Set(kFloats, mMatrix.high);
        const auto lanes = static_cast<int64_t>(hn::Lanes(kFloats));
        for (; row < end; ++row) {
            const float* const sums = waiting.sums + row / kTileRows * 2 * kTileFloats +
                                      row % kTileRows * kTileColumns;
            float* const to = (*waiting.rows)[static_cast<size_t>(row)] + waiting.column;
            for (int64_t i = 0; i < waiting.columns; i += lanes) {
                const int64_t panel = i / kTileColumns;
                const int64_t column = i % kTileColumns;
                const auto* const biases =
                        reinterpret_cast<const float*>(waiting.panel + panel * mPanelBytes);
                const auto sum = hn::Add(hn::Load(kFloats, sums + panel * kTileFloats + column),
                                         hn::Load(kFloats, biases + column));
                storeFirst(keepWithin(sum, low, high), kFloats, to + i,
                           static_cast<size_t>(std::min(lanes, waiting.columns - i)));
            }
        }
    }

    // ---- Without the work item
    // -----------------------------------------------------------------------

    // A block of rows with panels [panel, end).
    HWY_NOINLINE void multiplyPlainRows(int64_t first, int64_t panel, int64_t end) const {
        const int64_t behind = std::min(first + kSplitBlockRows, mCount);
        std::array<float*, kSplitBlockRows> pointers = {};
        pointRows(first, behind - first, pointers.data());
        for (int64_t row = first; row < behind; row += kSplitPlainRows) {
            const int64_t rows = std::min(kSplitPlainRows, behind - row);
            for (int64_t r = 0; r < kSplitPlainRows; ++r) {
                mRows.gather(Rows::Place::of(mMatrix, mFirst + row + std::min(r, rows - 1)).row,
                             mPlainRows + r * mBlock.depth);
            }
            for (int64_t at = panel; at < end; ++at) {
                multiplyPlainPanel(&pointers[static_cast<size_t>(row - first)], rows, at);
            }
        }
    }

    // Sums in the order of float_gemm.h.
    HWY_INLINE void multiplyPlainPanel(float* const* to, int64_t rows, int64_t panel) const {
        const auto lanes = static_cast<int64_t>(hn::Lanes(kFloats));
        const auto depth = static_cast<int64_t>(mMatrix.runs.size()) * mMatrix.runLength;
        const std::byte* const head = mBlock.panels + panel * mPanelBytes;
        const int64_t columns = std::min(kTileColumns, mMatrix.columns - panel * kTileColumns);
        const auto low = hn::Set(kFloats, mMatrix.low);
        const auto high = hn::Set(kFloats, mMatrix.high);
        for (int64_t column = 0; column < columns; column += lanes) {
            const auto bias = hn::Load(kFloats, reinterpret_cast<const float*>(head) + column);
            auto sum = bias;
            auto sum2 = bias;
            auto sum3 = bias;
            auto sum4 = bias;
            const float* const x = mPlainRows;
            for (int64_t k = 0; k < depth; ++k) {
                const auto w = weightsAt(head + kPanelHead, k, column);
                sum = hn::MulAdd(hn::Set(kFloats, x[k]), w, sum);
                sum2 = hn::MulAdd(hn::Set(kFloats, x[k + mBlock.depth]), w, sum2);
                sum3 = hn::MulAdd(hn::Set(kFloats, x[k + 2 * mBlock.depth]), w, sum3);
                sum4 = hn::MulAdd(hn::Set(kFloats, x[k + 3 * mBlock.depth]), w, sum4);
            }
            const auto store = [&](int64_t row, auto value) {
                if (row < rows) {
                    storeFirst(keepWithin(value, low, high), kFloats,
                               to[row] + panel * kTileColumns + column,
                               static_cast<size_t>(std::min(lanes, columns - column)));
                }
            };
            store(0, sum);
            store(1, sum2);
            store(2, sum3);
            store(3, sum4);
        }
    }

    // The sums of the parts of row k's weights, the smallest first.
    static HWY_INLINE hn::Vec<Floats> weightsAt(const std::byte* weights, int64_t k,
                                                int64_t column) {
        const int64_t row = k % kHalfStep;
        const bool second = k % kSplitDepth >= kHalfStep;
        const std::byte* at = weights + k / kSplitDepth * kStepBytes + row * kTileDepth;
        auto sum = hn::Zero(kFloats);
        HALYARD_UNROLL
        for (int part = kRight - 1; part >= 0; --part) {
            const auto pairs = hn::Load(
                    kWords, reinterpret_cast<const uint32_t*>(at + part * kTileBytes) + column);
            const auto bits = second ? hn::And(pairs, hn::Set(kWords, 0xFFFF0000U))
                                     : hn::ShiftLeft<16>(pairs);
            sum = hn::Add(sum, hn::BitCast(kFloats, bits));
        }
        return sum;
    }

    const SplitBlock& mBlock;
    const FloatBlock& mMatrix;
    const int64_t mSteps;  // of kSplitDepth
    const int64_t mPanelBytes;
    const int64_t mPanels;
    const int64_t mPlaneBytes;  // of one part of a row
    const int64_t mRowBytes;    // of all of them, and a gap
    const int64_t mRing;        // blocks of rows that there is memory for
    float* const mSums;         // kSides blocks of four tiles
    float* const mPlainRows;    // kSplitPlainRows of them
    std::byte* const mParts;    // [row of a block in the ring][part][step][32]
    const Rows mRows;
    int64_t mFirst = 0;  // of the rows that are multiplied together
    int64_t mCount = 0;
    std::array<bool, kMostSplitBlocks> mIsInSafeRange = {};  // each block in the ring
    int64_t mSumsSide = 0;
    size_t mSide = 0;
    std::array<RowPointers, kSides> mRowPointers = {};
    WaitingSums mWaiting[2];  // the older one first
    const std::byte* mAhead = nullptr;
    const std::byte* mAheadEnd = nullptr;
    int64_t mAheadStep = 0;
};

template <typename Tiles>
void multiplySplit(const SplitBlock& block) {
    if (block.parts.right == 2) {
        Bf16SplitConvGemm<Tiles, 2, 2>(block).run();
    } else if (block.parts.left == 2) {
        Bf16SplitConvGemm<Tiles, 2, 1>(block).run();
    } else {
        Bf16SplitConvGemm<Tiles, 3, 1>(block).run();
    }
}

template <typename Tiles>
const Bf16SplitGemm* splitForm() {
    static const Bf16SplitGemm kForm = {.tile = "32x32", .compute = multiplySplit<Tiles>};
    return &kForm;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#endif
