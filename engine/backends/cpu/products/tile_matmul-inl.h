// SPDX-License-Identifier: Apache-2.0
//
// The product of tile_matmul.h for any unit that multiplies tiles, the processor's or one that a
// test makes up: for sources that targets.h compiles once for each instruction set.
//
// Tiles: eight registers of 16 rows of 64 bytes each, which are those of the thread between
// configure() and release(). Sums are tiles 0 to 3, as [two of rows][two of columns]; left ones 4
// and 5; right ones 6 and 7.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_TILE_MATMUL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_TILE_MATMUL_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_TILE_MATMUL_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_TILE_MATMUL_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "engine/backends/cpu/products/rounded_bytes-inl.h"
#include "engine/backends/cpu/products/tile_matmul.h"
#include "engine/backends/cpu/vectors/partial_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Panels that stay in the second cache while rows go by.
constexpr int64_t kChunkBytes = int64_t{96} << 10;
constexpr int64_t kLine = 64;  // bytes that are fetched at once

constexpr int64_t kBlockRows = 2 * kTileRows;
// Rows whose sums become bytes at one go.
constexpr int64_t kRowsAtOnce = 2;

// Where the rows of a block of sums go: null for those that nobody wants.
using RowPointers = std::array<uint8_t*, kBlockRows>;

// Sums that are not bytes yet.
struct WaitingSums {
    const int32_t* sums = nullptr;  // [tile of rows][tile of columns][row][column]
    const RowPointers* rows = nullptr;
    const int32_t* corrections = nullptr;  // added to the sums of each row; null: nothing is
    const float* multipliers[2] = {};
    int64_t column = 0;  // the first one's offset from the row pointers
    int64_t columns = 0;
    int64_t rowCount = 0;  // 0: nothing waits
};

template <typename Tiles, bool kSigned>
class TileProduct {
  public:
    HWY_INLINE explicit TileProduct(const TileBlock& block)
        : mBlock(block),
          mMatrix(block.matrix),
          mPanelBytes(kTilePanels.panelBytes(block.depth)),
          mRound(mMatrix.zeroPoint, mMatrix.low, mMatrix.high),
          mSums(reinterpret_cast<int32_t*>(block.memory)),
          mRowSums(mSums + 4 * kSides * kTileInts) {}

    void run() {
        Tiles::configure();
        if (mBlock.rowsAtOnce == 0) {
            const int64_t pitch = mMatrix.lines == 1 ? mMatrix.rows : mMatrix.aLine / mMatrix.aRow;
            multiply(
                    {.a = static_cast<const uint8_t*>(mMatrix.a),
                     .stride = mMatrix.aRow,
                     .runs = mMatrix.runs,
                     .runLength = mMatrix.runLength,
                     .count = rowsInPlace(mMatrix.lines, mMatrix.rows, mMatrix.aLine, mMatrix.aRow),
                     .readable = 0,
                     .first = 0,
                     .pitch = pitch});
        } else {
            static constexpr ptrdiff_t kRun[] = {0};
            auto* const copies = reinterpret_cast<uint8_t*>(mBlock.memory + kTileSumsBytes);
            planCopies(copies + mBlock.rowsAtOnce * mBlock.depth + kTileDepth);
            const int64_t all = mMatrix.lines * mMatrix.rows;
            for (int64_t first = 0; first < all; first += mBlock.rowsAtOnce) {
                const int64_t count = std::min(mBlock.rowsAtOnce, all - first);
                copyRows(first, count, copies);
                multiply({.a = copies,
                          .stride = mBlock.depth,
                          .runs = kRun,
                          .runLength = mBlock.depth,
                          .count = count,
                          .readable = mBlock.rowsAtOnce,
                          .first = first,
                          .pitch = mMatrix.rows});
            }
        }
        for (const WaitingSums& waiting : mWaiting) {
            storeRows(waiting, mRound, 0, waiting.rowCount);
        }
        Tiles::release();
    }

  private:
    static constexpr int64_t kTileInts = kTileBytes / int64_t{sizeof(int32_t)};
    // Of the block in work and of the two that wait.
    static constexpr int64_t kSides = 3;

    struct Rows {
        const uint8_t* a = nullptr;
        ptrdiff_t stride = 0;
        std::span<const ptrdiff_t> runs;
        int64_t runLength = 0;
        int64_t count = 0;
        int64_t readable = 0;  // rows of memory, where those are more
        int64_t first = 0;     // number of the first in the block
        int64_t pitch = 0;     // rows from a line to the next
    };

#if HWY_TARGET == HWY_AVX3
    // Each vector of a row's copy is made of the parts of runs that fall into it, and written once.
    struct CopyPart {
        ptrdiff_t from = 0;  // of the vector's first byte, were it there, from the row's start
        __mmask64 there = 0;
        bool isLast = false;  // of its vector
    };
    static_assert(sizeof(CopyPart) == kCopyPartBytes);

    void planCopies(void* memory) {
        mParts = static_cast<CopyPart*>(memory);
        mPartCount = 0;
        int64_t at = 0;
        for (const ptrdiff_t run : mMatrix.runs) {
            for (int64_t done = 0; done < mMatrix.runLength;) {
                const int64_t first = at % kTileDepth;
                const int64_t count = std::min(kTileDepth - first, mMatrix.runLength - done);
                const uint64_t bits = ~uint64_t{0} >> static_cast<unsigned>(kTileDepth - count);
                mParts[mPartCount++] = {.from = run + done - first,
                                        .there = bits << static_cast<unsigned>(first),
                                        .isLast = first + count == kTileDepth};
                at += count;
                done += count;
            }
        }
        mParts[mPartCount - 1].isLast = true;
    }

    HWY_INLINE void copyRow(const uint8_t* from, uint8_t* to) const {
        __m512i vector = _mm512_setzero_si512();
        for (const CopyPart* part = mParts; part != mParts + mPartCount; ++part) {
            vector = _mm512_mask_loadu_epi8(vector, part->there, from + part->from);
            if (part->isLast) {
                _mm512_store_si512(to, vector);
                to += kTileDepth;
                vector = _mm512_setzero_si512();
            }
        }
    }
#else
    void planCopies(void* /*memory*/) {}

    // What lies behind a row's end is padding or will be the next row.
    HWY_INLINE void copyRow(const uint8_t* from, uint8_t* to) const {
        constexpr hn::CappedTag<uint8_t, 64> kVector;
        const auto lanes = static_cast<int64_t>(hn::Lanes(kVector));
        for (const ptrdiff_t run : mMatrix.runs) {
            int64_t i = 0;
            for (; i + lanes <= mMatrix.runLength; i += lanes) {
                hn::StoreU(hn::LoadU(kVector, from + run + i), kVector, to + i);
            }
            if (i < mMatrix.runLength) {
                const auto rest = static_cast<size_t>(mMatrix.runLength - i);
                hn::StoreU(loadFirst(kVector, from + run + i, rest), kVector, to + i);
            }
            to += mMatrix.runLength;
        }
    }
#endif

    // Rows of the block, one behind the other.
    void copyRows(int64_t first, int64_t count, uint8_t* to) const {
        const auto* const a = static_cast<const uint8_t*>(mMatrix.a);
        int64_t line = first / mMatrix.rows;
        int64_t row = first % mMatrix.rows;
        for (int64_t i = 0; i < count; ++i, to += mBlock.depth) {
            copyRow(a + line * mMatrix.aLine + row * mMatrix.aRow, to);
            if (++row == mMatrix.rows) {
                row = 0;
                ++line;
            }
        }
    }

    // Where a tile of rows begins. In place, the last one overlaps the one before: nothing behind
    // the last row may be read.
    static int64_t firstRow(const Rows& rows, int64_t tile) {
        return rows.readable > 0 ? tile * kTileRows
                                 : std::min(tile * kTileRows, rows.count - kTileRows);
    }

    void multiply(const Rows& rows) {
        const int64_t tiles = (rows.count + kTileRows - 1) / kTileRows;
        const int64_t panels = kTilePanels.panels(mMatrix.columns);
        const int64_t inChunk = std::max<int64_t>(kChunkBytes / mPanelBytes / 2, 1) * 2;
        for (int64_t chunk = 0; chunk < panels; chunk += inChunk) {
            const int64_t end = std::min(chunk + inChunk, panels);
            // The chunk behind is fetched meanwhile, in equal parts.
            const int64_t steps =
                    (tiles + 1) / 2 * ((end - chunk + 1) / 2) * (mBlock.depth / kTileDepth);
            mAhead = mMatrix.panels + end * mPanelBytes;
            mAheadEnd = mAhead + (end - chunk) * mPanelBytes;
            mAheadStep = std::max<int64_t>((end - chunk) * mPanelBytes / kLine / steps, 1) * kLine;
            for (int64_t tile = 0; tile < tiles; tile += 2) {
                if (tile + 1 < tiles) {
                    multiplyRows<2>(rows, tile, chunk, end);
                } else {
                    multiplyRows<1>(rows, tile, chunk, end);
                }
            }
        }
    }

    template <int kR>
    void multiplyRows(const Rows& rows, int64_t tile, int64_t panel, int64_t end) {
        // Those of the two blocks before are still in use.
        mSide = (mSide + 1) % kSides;
        const uint8_t* a[2] = {};
        for (int r = 0; r < kR; ++r) {
            const int64_t first = firstRow(rows, tile + r);
            a[r] = rows.a + first * rows.stride;
            pointRows(rows, first, &mRowPointers[mSide][static_cast<size_t>(r * kTileRows)]);
        }
        if (mMatrix.weightsZero != 0) {
            sumRows<kR>(rows, a);
        }
        for (; panel + 1 < end; panel += 2) {
            computeBlock<kR, 2>(rows, a, panel);
        }
        if (panel < end) {
            computeBlock<kR, 1>(rows, a, panel);
        }
    }

    // Where a tile's rows go.
    void pointRows(const Rows& rows, int64_t first, uint8_t** to) const {
        int64_t line = (rows.first + first) / rows.pitch;
        int64_t row = (rows.first + first) % rows.pitch;
        for (int64_t i = 0; i < kTileRows; ++i) {
            const bool wanted = row < mMatrix.rows && first + i < rows.count;
            to[i] = wanted ? mMatrix.c + line * mMatrix.cLine + row * mMatrix.cRow : nullptr;
            if (++row == rows.pitch) {
                row = 0;
                ++line;
            }
        }
    }

    // What the weights' zero point makes of each row.
    template <int kR>
    void sumRows(const Rows& rows, const uint8_t* const (&a)[2]) {
        alignas(64) static constexpr auto kOnes = [] {
            std::array<int8_t, kTileDepth> ones = {};
            ones.fill(1);
            return ones;
        }();
        Tiles::template zero<0>();
        Tiles::template zero<1>();
        Tiles::template load<6>(kOnes.data(), 0);
        for (const ptrdiff_t run : rows.runs) {
            for (int64_t k = 0; k < rows.runLength; k += kTileDepth) {
                Tiles::template load<4>(a[0] + run + k, rows.stride);
                Tiles::template multiply<kSigned, 0, 4, 6>();
                if constexpr (kR == 2) {
                    Tiles::template load<5>(a[1] + run + k, rows.stride);
                    Tiles::template multiply<kSigned, 1, 5, 6>();
                }
            }
        }
        Tiles::template store<0>(mRowSums, kTileColumns * sizeof(int32_t));
        if constexpr (kR == 2) {
            Tiles::template store<1>(mRowSums + kTileInts, kTileColumns * sizeof(int32_t));
        }
        const auto factor = static_cast<uint32_t>(-mMatrix.weightsZero);
        for (int64_t row = 0; row < kR * kTileRows; ++row) {
            mCorrections[mSide][static_cast<size_t>(row)] = static_cast<int32_t>(
                    static_cast<uint32_t>(mRowSums[row * kTileColumns]) * factor);
        }
    }

    // The sums of kR tiles of rows with kV panels. Those of the block before the last become bytes
    // in the meantime: what multiplies tiles leaves the vector unit alone. The last block's would
    // have to be waited for: they are on their way to memory.
    template <int kR, int kV>
    HWY_INLINE void computeBlock(const Rows& rows, const uint8_t* const (&a)[2], int64_t panel) {
        const std::byte* const first = mMatrix.panels + panel * mPanelBytes;
        const std::byte* const second = first + mPanelBytes;
        Tiles::template load<0>(first, 0);
        if constexpr (kV == 2) {
            Tiles::template load<1>(second, 0);
        }
        if constexpr (kR == 2) {
            Tiles::template load<2>(first, 0);
            if constexpr (kV == 2) {
                Tiles::template load<3>(second, 0);
            }
        }
        const std::byte* w = first + kPanelHead;
        const std::byte* w2 = second + kPanelHead;
        // Copies, which no asm can change.
        const WaitingSums waiting = mWaiting[0];
        const RoundedBytes round = mRound;
        const int64_t units = waiting.rowCount / kRowsAtOnce;
        const int64_t steps = mBlock.depth / kTileDepth;
        const int64_t each = (units + steps - 1) / steps;
        int64_t unit = 0;
        const std::byte* ahead = mAhead;
        for (const ptrdiff_t run : rows.runs) {
            const uint8_t* x = a[0] + run;
            const uint8_t* x2 = kR == 2 ? a[1] + run : nullptr;
            for (int64_t k = 0; k < rows.runLength; k += kTileDepth) {
                Tiles::template load<4>(x + k, rows.stride);
                Tiles::template load<6>(w, kTileDepth);
                Tiles::template multiply<kSigned, 0, 4, 6>();
                if constexpr (kV == 2) {
                    Tiles::template load<7>(w2, kTileDepth);
                    Tiles::template multiply<kSigned, 1, 4, 7>();
                }
                if constexpr (kR == 2) {
                    Tiles::template load<5>(x2 + k, rows.stride);
                    Tiles::template multiply<kSigned, 2, 5, 6>();
                    if constexpr (kV == 2) {
                        Tiles::template multiply<kSigned, 3, 5, 7>();
                    }
                }
                w += kTileBytes;
                w2 += kTileBytes;
                for (int64_t i = 0; i < mAheadStep && ahead < mAheadEnd; i += kLine) {
                    __builtin_prefetch(ahead, 0, 2);
                    ahead += kLine;
                }
                const int64_t stop = std::min(unit + each, units);
                storeRows(waiting, round, unit * kRowsAtOnce, stop * kRowsAtOnce);
                unit = stop;
            }
        }
        mAhead = ahead;
        int32_t* const sums = mSums + mSumsSide * 4 * kTileInts;
        mSumsSide = (mSumsSide + 1) % kSides;
        constexpr ptrdiff_t kStride = kTileColumns * sizeof(int32_t);
        Tiles::template store<0>(sums, kStride);
        if constexpr (kV == 2) {
            Tiles::template store<1>(sums + kTileInts, kStride);
        }
        if constexpr (kR == 2) {
            Tiles::template store<2>(sums + 2 * kTileInts, kStride);
            if constexpr (kV == 2) {
                Tiles::template store<3>(sums + 3 * kTileInts, kStride);
            }
        }
        const int64_t column = panel * kTileColumns;
        mWaiting[0] = mWaiting[1];
        mWaiting[1] = {
                .sums = sums,
                .rows = &mRowPointers[mSide],
                .corrections = mMatrix.weightsZero != 0 ? mCorrections[mSide].data() : nullptr,
                .multipliers = {multipliersOf(first), multipliersOf(kV == 2 ? second : first)},
                .column = column,
                .columns = std::min(kV * kTileColumns, mMatrix.columns - column),
                .rowCount = kR * kTileRows};
    }

    static constexpr int64_t kPanelHead = kTileColumns * int64_t{sizeof(int32_t) + sizeof(float)};
    static const float* multipliersOf(const std::byte* panel) {
        return reinterpret_cast<const float*>(panel + kTileColumns * sizeof(int32_t));
    }

    // Makes bytes of the waiting sums of rows [row, end), an even number of them.
#if HWY_TARGET == HWY_AVX3
    static HWY_INLINE void storeRows(const WaitingSums& waiting, const RoundedBytes& round,
                                     int64_t row, int64_t end) {
        if (row >= end) {
            return;
        }
        const auto multipliers = hn::Load(kFloats, waiting.multipliers[0]);
        const auto multipliers2 = hn::Load(kFloats, waiting.multipliers[1]);
        const auto there =
                static_cast<__mmask32>((uint64_t{1} << static_cast<unsigned>(waiting.columns)) - 1);
        for (; row < end; row += kRowsAtOnce) {
            // Columns that are not there have sums of old, which go nowhere.
            const int32_t* const sums = sumsOf(waiting, row);
            auto a = hn::Load(kSums, sums);
            auto b = hn::Load(kSums, sums + kTileInts);
            auto c = hn::Load(kSums, sums + kTileColumns);
            auto d = hn::Load(kSums, sums + kTileInts + kTileColumns);
            if (waiting.corrections != nullptr) {
                const auto correction = hn::Set(kSums, waiting.corrections[row]);
                const auto correction2 = hn::Set(kSums, waiting.corrections[row + 1]);
                a = hn::Add(a, correction);
                b = hn::Add(b, correction);
                c = hn::Add(c, correction2);
                d = hn::Add(d, correction2);
            }
            const __m512i ordered = round.bytes(round(a, multipliers), round(b, multipliers2),
                                                round(c, multipliers), round(d, multipliers2));
            const __m256i bytes = _mm512_castsi512_si256(ordered);
            const __m256i nextBytes = _mm512_extracti64x4_epi64(ordered, 1);
            uint8_t* const to = (*waiting.rows)[static_cast<size_t>(row)];
            uint8_t* const next = (*waiting.rows)[static_cast<size_t>(row + 1)];
            if (waiting.columns == 2 * kTileColumns && to != nullptr && next != nullptr) {
                _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + waiting.column), bytes);
                _mm256_storeu_si256(reinterpret_cast<__m256i*>(next + waiting.column), nextBytes);
                continue;
            }
            if (to != nullptr) {
                _mm256_mask_storeu_epi8(to + waiting.column, there, bytes);
            }
            if (next != nullptr) {
                _mm256_mask_storeu_epi8(next + waiting.column, there, nextBytes);
            }
        }
    }
#else
    static HWY_INLINE void storeRows(const WaitingSums& waiting, const RoundedBytes& round,
                                     int64_t row, int64_t end) {
        for (; row < end; ++row) {
            uint8_t* const to = (*waiting.rows)[static_cast<size_t>(row)];
            if (to != nullptr) {
                storeRow(waiting, round, row, to + waiting.column);
            }
        }
    }

    static HWY_INLINE void storeRow(const WaitingSums& waiting, const RoundedBytes& round,
                                    int64_t row, uint8_t* to) {
        const int32_t* const sums = sumsOf(waiting, row);
        const auto correction =
                hn::Set(kSums, waiting.corrections == nullptr ? 0 : waiting.corrections[row]);
        const auto lanes = static_cast<int64_t>(hn::Lanes(kSums));
        for (int64_t i = 0; i < waiting.columns; i += lanes) {
            const int64_t panel = i / kTileColumns;
            const int64_t lane = i % kTileColumns;
            const auto sum = hn::Add(hn::Load(kSums, sums + panel * kTileInts + lane), correction);
            const auto multipliers = hn::Load(kFloats, waiting.multipliers[panel] + lane);
            storeFirst(round(sum, multipliers), kBytes, to + i,
                       static_cast<size_t>(std::min(lanes, waiting.columns - i)));
        }
    }
#endif

    static const int32_t* sumsOf(const WaitingSums& waiting, int64_t row) {
        return waiting.sums + row / kTileRows * 2 * kTileInts + row % kTileRows * kTileColumns;
    }

    static constexpr hn::Rebind<int32_t, Floats> kSums = {};

    const TileBlock& mBlock;
    const QuantizedBlock& mMatrix;
    const int64_t mPanelBytes;
    const RoundedBytes mRound;
    int32_t* const mSums;  // kSides blocks of four tiles
    int32_t* const mRowSums;
    int64_t mSumsSide = 0;
    size_t mSide = 0;
    std::array<RowPointers, kSides> mRowPointers = {};
    std::array<std::array<int32_t, kBlockRows>, kSides> mCorrections = {};
    WaitingSums mWaiting[2];  // the older one first
#if HWY_TARGET == HWY_AVX3
    CopyPart* mParts = nullptr;
    size_t mPartCount = 0;
#endif
    const std::byte* mAhead = nullptr;
    const std::byte* mAheadEnd = nullptr;
    int64_t mAheadStep = 0;
};

template <typename Tiles>
void multiplyTiles(const TileBlock& block) {
    if (block.signedLeft) {
        TileProduct<Tiles, true>(block).run();
    } else {
        TileProduct<Tiles, false>(block).run();
    }
}

template <typename Tiles>
const TileMatmul* tileForm() {
    static const TileMatmul kForm = {.tile = "32x32", .compute = multiplyTiles<Tiles>};
    return &kForm;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#endif
