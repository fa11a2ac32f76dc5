// SPDX-License-Identifier: Apache-2.0
//
// Tiles of rows by panels of kPanelColumns columns, as the 8-bit micro-kernels on NEON have them:
// how they follow each other, and how their sums become results. For sources that targets.h
// compiles once for each instruction set.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_NEON_ROW_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_NEON_ROW_TILES_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_NEON_ROW_TILES_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_NEON_ROW_TILES_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include <hwy/highway.h>

#include "engine/backends/cpu/gemm/rounded_bytes-inl.h"

#if HWY_TARGET == HWY_NEON
HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr int kPanelColumns = 8;
constexpr int kPanelVectors = kPanelColumns / 4;
constexpr ptrdiff_t kPanelHead = kPanelColumns * (sizeof(int32_t) + sizeof(float));

// Tiles of as many rows each, one below the other, and the panels that all of them multiply with.
struct RowTiles {
    const int8_t* a = nullptr;  // the first row
    ptrdiff_t aRow = 0;
    std::span<const ptrdiff_t> runs;
    int64_t runLength = 0;
    const std::byte* panels = nullptr;
    size_t panelBytes = 0;
    int64_t tiles = 0;
    std::byte* c = nullptr;  // of the first row: bytes, or sums
    ptrdiff_t cRow = 0;      // in bytes
    bool wantsSums = false;
    bool bytesOfType = false;  // signed bytes within the bounds of their type alone
    int32_t zeroPoint = 0, low = 0, high = 0;
    int32_t weightsZero = 0;
    const int32_t* rowSums = nullptr;     // of the first row on; null: none
    int64_t lastColumns = kPanelColumns;  // of the last panel
    // Next panels, of which each tile fetches a share.
    const std::byte* ahead = nullptr;
    ptrdiff_t share = 0;
};

// Hides from the compiler how a pointer moves from tile to tile: otherwise each address of a tile
// gets a variable of its own that moves along, and there are not that many registers.
template <typename T>
HWY_INLINE T* opaque(T* pointer) {
    asm("" : "+r"(pointer));
    return pointer;
}

// The tiles, one by one.
template <int kR>
class TileWalk {
  public:
    HWY_INLINE explicit TileWalk(const RowTiles& tiles)
        : a(tiles.a),
          c(tiles.c),
          rowSums(tiles.rowSums),
          mAhead(reinterpret_cast<uintptr_t>(tiles.ahead)),
          mLine((mAhead + kLine - 1) / kLine * kLine) {}

    // A tile is begun, and its share of the next panels fetched.
    HWY_INLINE void begin(const RowTiles& tiles) {
        mAhead += static_cast<uintptr_t>(tiles.share);
        for (; mLine < mAhead; mLine += kLine) {
            __builtin_prefetch(reinterpret_cast<const void*>(mLine), 0, 2);
        }
        a = opaque(a);
        c = opaque(c);
        rowSums = opaque(rowSums);
    }
    HWY_INLINE void end(const RowTiles& tiles) {
        a += kR * tiles.aRow;
        c += kR * tiles.cRow;
        rowSums += tiles.rowSums != nullptr ? kR : 0;
    }

    // Of the tile's first row.
    const int8_t* a;
    std::byte* c;
    const int32_t* rowSums;

  private:
    static constexpr uintptr_t kLine = 64;

    uintptr_t mAhead;
    uintptr_t mLine;  // the next one to be fetched
};

HWY_INLINE const int8_t* weightsOf(const RowTiles& tiles, int panel) {
    return reinterpret_cast<const int8_t*>(tiles.panels + panel * tiles.panelBytes + kPanelHead);
}
HWY_INLINE int32x4_t biasesOf(const RowTiles& tiles, int vector) {
    const std::byte* const panel = tiles.panels + vector / kPanelVectors * tiles.panelBytes;
    return vld1q_s32(reinterpret_cast<const int32_t*>(panel) + vector % kPanelVectors * 4);
}
HWY_INLINE float32x4_t multipliersOf(const RowTiles& tiles, int vector) {
    const std::byte* const panel = tiles.panels + vector / kPanelVectors * tiles.panelBytes;
    return vld1q_f32(reinterpret_cast<const float*>(panel) + kPanelColumns +
                     vector % kPanelVectors * 4);
}

// Adds to a row's sums the product of its own sum and the weights' zero point, negated.
HWY_INLINE int32_t correctionOf(const RowTiles& tiles, int32_t rowSum) {
    return static_cast<int32_t>(static_cast<uint32_t>(rowSum) *
                                static_cast<uint32_t>(-tiles.weightsZero));
}
template <int kR, int kPanels>
HWY_INLINE void addCorrections(const RowTiles& tiles, const int32_t* rowSums,
                               int32x4_t (&sums)[kR][2 * kPanels]) {
    HALYARD_UNROLL
    for (int r = 0; r < kR; ++r) {
        const int32x4_t correction = vdupq_n_s32(correctionOf(tiles, rowSums[r]));
        HALYARD_UNROLL
        for (int v = 0; v < 2 * kPanels; ++v) {
            sums[r][v] = vaddq_s32(sums[r][v], correction);
        }
    }
}

// The first `bytes` of each row of a tile, which lie `apart` bytes apart.
HWY_NOINLINE inline void storePartialRows(const std::byte* from, ptrdiff_t apart, int rows,
                                          int64_t bytes, std::byte* to, ptrdiff_t cRow) {
    for (int r = 0; r < rows; ++r) {
        std::memcpy(to + r * cRow, from + r * apart, static_cast<size_t>(bytes));
    }
}

// The bytes of a row: of a single panel, or two panels in each vector.
template <int kPanels>
using RowBytes = std::conditional_t<kPanels == 1, uint8x8_t, uint8x16_t>;
template <int kPanels>
constexpr int kRowVectors = kPanels == 1 ? 1 : kPanels / 2;

HWY_INLINE void storeVector(uint8x8_t bytes, uint8_t* to) {
    vst1_u8(to, bytes);
}
HWY_INLINE void storeVector(uint8x16_t bytes, uint8_t* to) {
    vst1q_u8(to, bytes);
}

template <int kR, int kPanels>
HWY_INLINE void storeByteRows(const RowTiles& tiles,
                              const RowBytes<kPanels> (&bytes)[kR][kRowVectors<kPanels>],
                              std::byte* to) {
    constexpr ptrdiff_t kWidth = kPanels * kPanelColumns;
    constexpr int kVectors = kRowVectors<kPanels>;
    const bool isPartial = tiles.lastColumns != kPanelColumns;
    uint8_t rows[kR * kWidth];
    auto* row = HWY_UNLIKELY(isPartial) ? rows : reinterpret_cast<uint8_t*>(to);
    const ptrdiff_t apart = isPartial ? kWidth : tiles.cRow;
    HALYARD_UNROLL
    for (int r = 0; r < kR; ++r, row += apart) {
        HALYARD_UNROLL
        for (int i = 0; i < kVectors; ++i) {
            storeVector(bytes[r][i], row + i * (kWidth / kVectors));
        }
    }
    if (HWY_UNLIKELY(isPartial)) {
        storePartialRows(reinterpret_cast<const std::byte*>(rows), kWidth, kR,
                         kWidth - kPanelColumns + tiles.lastColumns, to, tiles.cRow);
    }
}

// Rows of sums, four columns in each vector.
template <int kR, int kPanels>
HWY_INLINE void storeSums(const RowTiles& tiles, const int32x4_t (&sums)[kR][2 * kPanels],
                          std::byte* to) {
    constexpr ptrdiff_t kWidth = kPanels * kPanelColumns * sizeof(int32_t);
    const bool isPartial = tiles.lastColumns != kPanelColumns;
    alignas(16) std::byte rows[kR * kWidth];
    std::byte* row = HWY_UNLIKELY(isPartial) ? rows : to;
    const ptrdiff_t apart = isPartial ? kWidth : tiles.cRow;
    HALYARD_UNROLL
    for (int r = 0; r < kR; ++r, row += apart) {
        HALYARD_UNROLL
        for (int v = 0; v < 2 * kPanels; ++v) {
            vst1q_s32(reinterpret_cast<int32_t*>(row) + v * 4, sums[r][v]);
        }
    }
    if (HWY_UNLIKELY(isPartial)) {
        storePartialRows(rows, kWidth, kR,
                         kWidth - (kPanelColumns - tiles.lastColumns) * int64_t{sizeof(int32_t)},
                         to, tiles.cRow);
    }
}

// The type of the bytes of a tile, and their bounds.
template <bool kIsSigned, ByteBounds kBoundsOfBytes>
struct BytesType {
    static constexpr bool kSigned = kIsSigned;
    static constexpr ByteBounds kBounds = kBoundsOfBytes;
};

// The bytes of sums with four columns of a row in each vector.
template <typename Type, int kR, int kPanels>
HWY_INLINE void roundRows(const NarrowedBytes& round, const int32x4_t (&sums)[kR][2 * kPanels],
                          const float32x4_t (&by)[2 * kPanels],
                          RowBytes<kPanels> (&bytes)[kR][kRowVectors<kPanels>]) {
    HALYARD_UNROLL
    for (int r = 0; r < kR; ++r) {
        HALYARD_UNROLL
        for (int v = 0; v < kRowVectors<kPanels>; ++v) {
            const int i = 4 * v;
            const int16x8_t first = round.narrowed(sums[r][i], sums[r][i + 1], by[i], by[i + 1]);
            if constexpr (kPanels == 1) {
                bytes[r][v] = round.bytes<Type::kSigned, Type::kBounds>(first);
            } else {
                const int16x8_t second =
                        round.narrowed(sums[r][i + 2], sums[r][i + 3], by[i + 2], by[i + 3]);
                bytes[r][v] = round.bytes<Type::kSigned, Type::kBounds>(first, second);
            }
        }
    }
}

// Calls round.operator()<BytesType>() for the type of the results.
template <typename Round>
HWY_INLINE void withBytesType(const RowTiles& tiles, Round round) {
    if (HWY_LIKELY(tiles.bytesOfType)) {
        round.template operator()<BytesType<true, ByteBounds::TYPE>>();
    } else if (tiles.low < 0) {
        round.template operator()<BytesType<true, ByteBounds::ANY>>();
    } else {
        round.template operator()<BytesType<false, ByteBounds::ANY>>();
    }
}

// The results of such sums.
template <int kR, int kPanels>
HWY_INLINE void storeRows(const RowTiles& tiles, const int32x4_t (&sums)[kR][2 * kPanels],
                          std::byte* to) {
    if (HWY_UNLIKELY(tiles.wantsSums)) {
        storeSums<kR, kPanels>(tiles, sums, to);
        return;
    }
    float32x4_t multipliers[2 * kPanels];
    HALYARD_UNROLL
    for (int v = 0; v < 2 * kPanels; ++v) {
        multipliers[v] = multipliersOf(tiles, v);
    }
    const NarrowedBytes round(tiles.zeroPoint, tiles.low, tiles.high);
    RowBytes<kPanels> bytes[kR][kRowVectors<kPanels>];
    withBytesType(tiles, [&]<typename Type>() HWY_ATTR {
        roundRows<Type, kR, kPanels>(round, sums, multipliers, bytes);
    });
    storeByteRows<kR, kPanels>(tiles, bytes, to);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();
#endif

#endif
