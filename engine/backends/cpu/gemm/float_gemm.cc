// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/gemm/float_gemm.cc"
#include "engine/backends/cpu/vectors/targets.h"

#include "engine/backends/cpu/gemm/few_columns-inl.h"
#include "engine/backends/cpu/gemm/float_gemm.h"
#include "engine/backends/cpu/gemm/float_tile_neon-inl.h"
#include "engine/backends/cpu/gemm/weight_prefetch.h"
#include "engine/backends/cpu/vectors/bounds-inl.h"
#include "engine/backends/cpu/vectors/partial_vectors-inl.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {

const FloatGemm* floatForm();

namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Wider vectors than these are not looked for.
using Floats = hn::CappedTag<float, 16>;
constexpr Floats kFloats;
using FloatVector = hn::Vec<Floats>;

// As many accumulators as there are registers for, next to the columns of the step and a row.
#if HWY_TARGET == HWY_AVX3
constexpr int kRows = 14;
constexpr std::string_view kTile = "14x2";
#elif HWY_TARGET == HWY_NEON
constexpr int kRows = 8;
constexpr std::string_view kTile = "8x2";
#else
constexpr int kRows = 6;
constexpr std::string_view kTile = "6x2";
#endif
constexpr int kHalf = kRows / 2;
constexpr int kVectors = 2;
// A few rows leave registers, and sums to wait for: they take more columns at once.
constexpr int kFewRows = 3;
constexpr int kVectorsOfFew = 4;

// Of a vector of columns of which no more than half count, these: processors with work items of 256
// bits take half as long for them, and others as long.
#if HWY_TARGET == HWY_AVX3
using NarrowFloats = hn::Half<Floats>;
constexpr bool kHasNarrow = true;
#else
using NarrowFloats = Floats;
constexpr bool kHasNarrow = false;
#endif
constexpr NarrowFloats kNarrowFloats;
using NarrowVector = hn::Vec<NarrowFloats>;

// NEON has a tile of its own, in float_tile_neon-inl.h.
#if HWY_TARGET != HWY_NEON
// A vector of columns: floats, or bfloat16.
HWY_INLINE FloatVector loadColumns(const float* w) {
    return hn::Load(kFloats, w);
}
HWY_INLINE FloatVector loadColumns(const uint16_t* w) {
    const hn::RebindToUnsigned<Floats> words;
    const hn::Rebind<uint16_t, Floats> halves;
    return hn::BitCast(kFloats, hn::ShiftLeft<16>(hn::PromoteTo(words, hn::LoadU(halves, w))));
}

// The tile of kR rows in each of kL lines, and kV vectors, behind which there is a narrow one or
// not. The last vector has `last` lanes that count.
template <int kL, int kR, int kV, bool kNarrow, typename Weight>
HWY_INLINE void computeTile(const FloatBlock& block, const float* a, const float* panels,
                            size_t panelLength, float* c, size_t last,
                            const WeightPrefetch& prefetch) {
    const size_t lanes = hn::Lanes(kFloats);
    constexpr int kAll = kL * kR;
    constexpr int kAllVectors = kV + (kNarrow ? 1 : 0);
    FloatVector sums[kAll][kV > 0 ? kV : 1];
    NarrowVector narrowSums[kAll];
    if constexpr (kNarrow) {
        const NarrowVector bias = hn::Load(kNarrowFloats, panels + kV * panelLength);
        HALYARD_UNROLL
        for (int r = 0; r < kAll; ++r) {
            narrowSums[r] = bias;
        }
    }
    HALYARD_UNROLL
    for (int v = 0; v < kV; ++v) {
        const FloatVector bias = hn::Load(kFloats, panels + v * panelLength);
        HALYARD_UNROLL
        for (int r = 0; r < kAll; ++r) {
            sums[r][v] = bias;
        }
    }
    const auto* w = reinterpret_cast<const Weight*>(panels + lanes);
    const size_t apart = panelLength * sizeof(float) / sizeof(Weight);
    const std::byte* ahead = prefetch.ahead;
    // Three rows to a pointer, which x86 can address by the distance between them and twice that.
    constexpr int kBases = (kR + 2) / 3;
    const ptrdiff_t row = block.aRow;
    for (const ptrdiff_t run : block.runs) {
        const float* bases[kL * kBases];
        HALYARD_UNROLL
        for (int b = 0; b < kL * kBases; ++b) {
            bases[b] = a + run + b / kBases * block.aLine + 3 * (b % kBases) * row;
        }
        for (int64_t k = 0; k < block.runLength; ++k) {
            FloatVector columns[kV > 0 ? kV : 1];
            HALYARD_UNROLL
            for (int v = 0; v < kV; ++v) {
                columns[v] = loadColumns(w + v * apart);
                __builtin_prefetch(ahead + v * prefetch.apart, 0, 2);
            }
            NarrowVector narrowColumns;
            if constexpr (kNarrow) {
                narrowColumns = hn::Load(kNarrowFloats, w + kV * apart);
                __builtin_prefetch(ahead + kV * prefetch.apart, 0, 2);
            }
            w += lanes;
            ahead += prefetch.step;
            HALYARD_UNROLL
            for (int r = 0; r < kAll; ++r) {
                const int b = r / kR * kBases + r % kR / 3;
                const float x = bases[b][r % kR % 3 * row];
                HALYARD_UNROLL
                for (int v = 0; v < kV; ++v) {
                    sums[r][v] = hn::MulAdd(hn::Set(kFloats, x), columns[v], sums[r][v]);
                }
                if constexpr (kNarrow) {
                    narrowSums[r] =
                            hn::MulAdd(hn::Set(kNarrowFloats, x), narrowColumns, narrowSums[r]);
                }
            }
            HALYARD_UNROLL
            for (int b = 0; b < kL * kBases; ++b) {
                ++bases[b];
            }
        }
    }
    const FloatVector low = hn::Set(kFloats, block.low);
    const FloatVector high = hn::Set(kFloats, block.high);
    HALYARD_UNROLL
    for (int r = 0; r < kAll; ++r) {
        float* to = c + r / kR * block.cLine + r % kR * block.cRow;
        HALYARD_UNROLL
        for (int v = 0; v < kV; ++v) {
            const FloatVector y = keepWithin(sums[r][v], low, high);
            storeFirst(y, kFloats, to + v * lanes, v + 1 < kAllVectors ? lanes : last);
        }
        if constexpr (kNarrow) {
            storeFirst(keepWithin(narrowSums[r], hn::Set(kNarrowFloats, block.low),
                                  hn::Set(kNarrowFloats, block.high)),
                       kNarrowFloats, to + kV * lanes, last);
        }
    }
}
#endif

#if HWY_TARGET == HWY_NEON
using Tile = neon::Tile;
#else
struct Tile {
    using Prefetch = WeightPrefetch;

    const FloatBlock& block;
    const float* a;
    const float* panels;
    size_t panelLength;
    float* c;
    size_t last;
    Prefetch prefetch;
};
#endif

#if HWY_TARGET != HWY_NEON
// Of kV vectors, the last of which is narrow or not.
template <int kR, int kV, bool kNarrow, typename Weight, int kL>
HWY_NOINLINE void tile(const Tile& t) {
    computeTile<kL, kR, kV - (kNarrow ? 1 : 0), kNarrow, Weight>(
            t.block, t.a, t.panels, t.panelLength, t.c, t.last, t.prefetch);
}
#endif

// `count` tiles, each below the one before, of kL lines of kR rows.
template <int kR, int kV, bool kNarrow, typename Weight, int kL = 1>
void tiles(Tile& t, int64_t count) {
#if HWY_TARGET == HWY_NEON
    neon::computeTiles<kL, kR, kV, Weight>(t, count);
#else
    for (; count > 0; --count) {
        tile<kR, kV, kNarrow, Weight, kL>(t);
        t.a += kL == 1 ? kR * t.block.aRow : kL * t.block.aLine;
        t.c += kL == 1 ? kR * t.block.cRow : kL * t.block.cLine;
        t.prefetch.next();
    }
#endif
}

template <int kV, bool kNarrow, typename Weight, int... kR>
constexpr auto tilesOf(std::integer_sequence<int, kR...> /*rows*/) {
    return std::array{&tiles<kR + 1, kV, kNarrow, Weight>...};
}

// Of many rows weights are floats: to make them of two bytes takes time then.
template <int kV, typename Weight>
constexpr int kMostRows = kV == kVectorsOfFew || !std::is_same_v<Weight, float> ? kFewRows : kRows;

// By the number of rows, counted from 1.
template <int kV, bool kNarrow, typename Weight>
constexpr auto kTiles =
        tilesOf<kV, kNarrow, Weight>(std::make_integer_sequence<int, kMostRows<kV, Weight>>());

// The columns from `column` on, as many vectors of them as one tile has, for all rows.
template <int kV, bool kNarrow, typename Weight>
void computePanels(const FloatBlock& block, int64_t column, const float* panels,
                   size_t panelLength) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(kFloats));
    const auto last =
            static_cast<size_t>(std::min(block.columns - column - (kV - 1) * lanes, lanes));
    constexpr int kMost = kMostRows<kV, Weight>;
    constexpr bool kPairs = kV == kVectors && kMost == kRows;
    const int64_t most = rowsThatFitL1d(kMost, block.aRow * ptrdiff_t{sizeof(float)}, block.l1d);
    const bool takesLinesInPairs = kPairs && most == kMost && block.rows == kHalf;
    // Of about as many rows each: one of a few would wait for its sums.
    const int64_t tilesOfLine = (block.rows + most - 1) / most;
    const int64_t fewest = block.rows / std::max<int64_t>(tilesOfLine, 1);
    const int64_t extra = block.rows - fewest * tilesOfLine;
    const int64_t all = takesLinesInPairs ? (block.lines + 1) / 2 : block.lines * tilesOfLine;
    // Of panels from afar it asks for what is read just then, which is nothing.
    const float* const behind = block.streamsWeights ? panels : panels + kV * panelLength;
    const Tile::Prefetch prefetch(reinterpret_cast<const std::byte*>(behind),
                                  panelLength * sizeof(float), kV, lanes * int64_t{sizeof(Weight)},
                                  all, block.later);
    Tile t = {.block = block,
              .a = block.a,
              .panels = panels,
              .panelLength = panelLength,
              .c = block.c + column,
              .last = last,
              .prefetch = prefetch};
    int64_t line = 0;
    // Short lines two at a time: the columns of a step are loaded for twice as many rows.
    if constexpr (kPairs) {
        if (takesLinesInPairs) {
            tiles<kHalf, kV, kNarrow, Weight, 2>(t, block.lines / 2);
            line = block.lines / 2 * 2;
        }
    }
    for (; line < block.lines; ++line) {
        const float* const a = t.a;
        float* const c = t.c;
        if (extra > 0) {
            kTiles<kV, kNarrow, Weight>[static_cast<size_t>(fewest)](t, extra);
        }
        if (fewest > 0) {
            kTiles<kV, kNarrow, Weight>[static_cast<size_t>(fewest - 1)](t, tilesOfLine - extra);
        }
        t.a = a + block.aLine;
        t.c = c + block.cLine;
    }
}

// The same, with a narrow vector where that is enough for the last columns.
template <int kV, typename Weight>
void computeFitting(const FloatBlock& block, int64_t column, const float* panels,
                    size_t panelLength) {
    constexpr bool kMayBeNarrow = kHasNarrow && std::is_same_v<Weight, float>;
    const int64_t rest =
            block.columns - column - (kV - 1) * static_cast<int64_t>(hn::Lanes(kFloats));
    if (kMayBeNarrow && rest <= static_cast<int64_t>(hn::Lanes(kNarrowFloats))) {
        computePanels<kV, kMayBeNarrow, Weight>(block, column, panels, panelLength);
    } else {
        computePanels<kV, false, Weight>(block, column, panels, panelLength);
    }
}

template <typename Weight>
void computeWith(const FloatBlock& block, size_t panelLength) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(kFloats));
    const float* panels = block.panels;
    for (int64_t column = 0; column < block.columns;) {
        const int64_t vectors = (block.columns - column + lanes - 1) / lanes;
        int64_t done = 1;
        // Panels from afar come the fastest where the processor itself sees what is read next: few
        // of them side by side, and nothing asked for ahead.
        if (block.rows <= kFewRows && vectors >= kVectorsOfFew && !block.streamsWeights) {
            computePanels<kVectorsOfFew, false, Weight>(block, column, panels, panelLength);
            done = kVectorsOfFew;
        } else if (vectors >= kVectors) {
            computeFitting<kVectors, Weight>(block, column, panels, panelLength);
            done = kVectors;
        } else {
            computeFitting<1, Weight>(block, column, panels, panelLength);
        }
        column += done * lanes;
        panels += static_cast<size_t>(done) * panelLength;
    }
}

void compute(const FloatBlock& block) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
    if (few_columns::takes(block)) {
        few_columns::compute(block);
        return;
    }
#endif
    const auto depth = static_cast<int64_t>(block.runs.size()) * block.runLength;
    computeWith<float>(block, static_cast<size_t>(floatForm()->panelLength(depth)));
}

void computeBfloats(const FloatBlock& block) {
    const auto depth = static_cast<int64_t>(block.runs.size()) * block.runLength;
    computeWith<uint16_t>(block, static_cast<size_t>(floatForm()->panelLength(depth, true)));
}

void scaleRows(const float* a, const float* scales, int64_t rows, int64_t columns, float* to) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(kFloats));
    const int64_t whole = columns / lanes * lanes;
    const auto rest = static_cast<size_t>(columns - whole);
    for (int64_t row = 0; row < rows; ++row, a += columns, to += columns) {
        for (int64_t i = 0; i < whole; i += lanes) {
            const FloatVector scale = hn::LoadU(kFloats, scales + i);
            hn::StoreU(hn::Mul(hn::LoadU(kFloats, a + i), scale), kFloats, to + i);
        }
        if (rest > 0) {
            const FloatVector scale = loadFirst(kFloats, scales + whole, rest);
            storeFirst(hn::Mul(loadFirst(kFloats, a + whole, rest), scale), kFloats, to + whole,
                       rest);
        }
    }
}

}  // namespace

const FloatGemm* floatForm() {
    static const FloatGemm kForm = {
            .tile = kTile,
            .tileRows = kRows,
            .lanes = static_cast<int64_t>(hn::Lanes(kFloats)),
            .tileLanes = static_cast<int64_t>(hn::Lanes(kFloats)) * kVectors,
            .compute = compute,
            .computeBfloats = computeBfloats,
            .fewRows = kFewRows,
            .scaleRows = scaleRows};
    return &kForm;
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {

const FloatGemm& floatGemm(InstructionSet set) {
    return *HALYARD_CPU_CHOOSE(set, floatForm)();
}

}  // namespace halyard::engine::cpu
#endif
