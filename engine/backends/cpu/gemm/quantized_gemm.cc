// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/gemm/quantized_gemm.cc"
#include "engine/backends/cpu/vectors/targets.h"

#include "engine/backends/cpu/gemm/neon_quantized_gemm-inl.h"
#include "engine/backends/cpu/gemm/quantized_gemm.h"
#include "engine/backends/cpu/gemm/rounded_bytes-inl.h"
#include "engine/backends/cpu/gemm/weight_prefetch.h"
#include "engine/backends/cpu/vectors/integer_products-inl.h"
#include "engine/backends/cpu/vectors/partial_vectors-inl.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <type_traits>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_NEON
template <typename Tiles>
void compute(const QuantizedBlock& block) {
    if constexpr (requires { typename Tiles::OfSmallWeights; }) {
        if (block.hasSmallWeights) {
            computeBlock<typename Tiles::OfSmallWeights>(block);
            return;
        }
    }
    computeBlock<Tiles>(block);
}

template <typename Tiles>
const QuantizedGemm* formOf() {
    static const QuantizedGemm kForm = {
            .tile = Tiles::kName,
            .tileRows = 2 * Tiles::rowsOf(2),
            .lanes = kPanelColumns,
            .tileLanes = 2 * kPanelColumns,
            .depthGroup = Tiles::kGroup,
            .groupsTogether = Tiles::kGroupsTogether,
            .bytes = true,
            .signedLeft = true,
            .asksForSmallWeights = requires {typename Tiles::OfSmallWeights;
}
, .compute = compute<Tiles>
};
return &kForm;
}
#else
#if HWY_TARGET == HWY_AVX3
constexpr int kRows = 14;
constexpr std::string_view kTile = "14x2";
#else
constexpr int kRows = 5;
constexpr std::string_view kTile = "5x2";
#endif
constexpr int kVectors = 2;
constexpr int kFewRows = 3;
constexpr int kVectorsOfFew = 4;

struct Tile {
    const QuantizedBlock& block;
    const void* a;
    const std::byte* panels;
    size_t panelBytes;
    uint8_t* c;
    int32_t* sums;           // null: none are wanted
    const int32_t* rowSums;  // of the tile's first row; null: none
    size_t last;             // lanes of the last vector that count
    WeightPrefetch prefetch;
};

HWY_INLINE hn::Vec<Floats> multipliersOf(const Tile& tile, size_t v) {
    const std::byte* panel = tile.panels + v * tile.panelBytes;
    return hn::Load(kFloats, reinterpret_cast<const float*>(panel) + hn::Lanes(kInts));
}

#if HWY_TARGET == HWY_AVX3
template <int kR, int kV>
HWY_INLINE void storeTile(const Tile& tile, const IntVector (&sums)[kR][kV]) {
    const QuantizedBlock& block = tile.block;
    const RoundedBytes round(block.zeroPoint, block.low, block.high);
    hn::Vec<Floats> multipliers[kV];
    HALYARD_UNROLL
    for (int v = 0; v < kV; ++v) {
        multipliers[v] = multipliersOf(tile, static_cast<size_t>(v));
    }
    // The i-th vector of the tile, row by row.
    const auto rounded = [&](int i) HWY_ATTR {
        return round(sums[i / kV][i % kV], multipliers[i % kV]);
    };
    HALYARD_UNROLL
    for (int first = 0; first < kR * kV; first += 4) {
        constexpr int kLast = kR * kV - 1;
        const __m512i ordered = round.bytes(rounded(first), rounded(std::min(first + 1, kLast)),
                                            rounded(std::min(first + 2, kLast)),
                                            rounded(std::min(first + 3, kLast)));
        if (kV == 2 && tile.last == 16) {
            // Two vectors of a row are neighbours.
            uint8_t* const to = tile.c + first / 2 * block.cRow;
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_castsi512_si256(ordered));
            if (first + 2 < kR * kV) {
                _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + block.cRow),
                                    _mm512_extracti64x4_epi64(ordered, 1));
            }
            continue;
        }
        const __m128i vectors[4] = {
                _mm512_castsi512_si128(ordered), _mm512_extracti32x4_epi32(ordered, 1),
                _mm512_extracti32x4_epi32(ordered, 2), _mm512_extracti32x4_epi32(ordered, 3)};
        HALYARD_UNROLL
        for (int i = first; i < std::min(first + 4, kR * kV); ++i) {
            uint8_t* const to = tile.c + i / kV * block.cRow + i % kV * 16;
            storeFirst(hn::Vec<Bytes>{vectors[i - first]}, kBytes, to,
                       i % kV + 1 < kV ? 16 : tile.last);
        }
    }
}
#else
template <int kR, int kV>
HWY_INLINE void storeTile(const Tile& tile, const IntVector (&sums)[kR][kV]) {
    const QuantizedBlock& block = tile.block;
    const size_t lanes = hn::Lanes(kInts);
    const RoundedBytes round(block.zeroPoint, block.low, block.high);
    HALYARD_UNROLL
    for (int v = 0; v < kV; ++v) {
        const auto multipliers = multipliersOf(tile, static_cast<size_t>(v));
        HALYARD_UNROLL
        for (int r = 0; r < kR; ++r) {
            storeFirst(round(sums[r][v], multipliers), kBytes,
                       tile.c + r * block.cRow + static_cast<ptrdiff_t>(v * lanes),
                       v + 1 < kV ? lanes : tile.last);
        }
    }
}
#endif

template <int kR, int kV>
HWY_INLINE void storeSums(const Tile& tile, const IntVector (&sums)[kR][kV]) {
    const size_t lanes = hn::Lanes(kInts);
    HALYARD_UNROLL
    for (int r = 0; r < kR; ++r) {
        HALYARD_UNROLL
        for (int v = 0; v < kV; ++v) {
            storeFirst(sums[r][v], kInts,
                       tile.sums + r * tile.block.cRow + static_cast<ptrdiff_t>(v * lanes),
                       v + 1 < kV ? lanes : tile.last);
        }
    }
}

template <int kR, int kV>
HWY_INLINE void storeResult(const Tile& tile, const IntVector (&sums)[kR][kV]) {
    if (tile.sums != nullptr) {
        storeSums(tile, sums);
    } else {
        storeTile(tile, sums);
    }
}

// A row's sums start with the biases and the correction for the weights' zero point.
template <int kR, int kV>
HWY_INLINE void startSums(const Tile& tile, IntVector (&sums)[kR][kV]) {
    HALYARD_UNROLL
    for (int v = 0; v < kV; ++v) {
        const auto* bias = reinterpret_cast<const int32_t*>(tile.panels + v * tile.panelBytes);
        HALYARD_UNROLL
        for (int r = 0; r < kR; ++r) {
            sums[r][v] = hn::Load(kInts, bias);
        }
    }
    if (tile.rowSums != nullptr) {
        HALYARD_UNROLL
        for (int r = 0; r < kR; ++r) {
            const IntVector correction = hn::Set(
                    kInts, static_cast<int32_t>(static_cast<uint32_t>(tile.rowSums[r]) *
                                                static_cast<uint32_t>(-tile.block.weightsZero)));
            HALYARD_UNROLL
            for (int v = 0; v < kV; ++v) {
                sums[r][v] = hn::Add(sums[r][v], correction);
            }
        }
    }
}

template <typename Dot, int kR, int kV>
void computeTile(const Tile& tile) {
    using Element = typename Dot::Element;
    using Weight = typename Dot::Weight;
    const QuantizedBlock& block = tile.block;
    const size_t lanes = hn::Lanes(kInts);
    IntVector sums[kR][kV];
    startSums(tile, sums);
    const size_t panelWeights = tile.panelBytes / sizeof(Weight);
    const auto* w = reinterpret_cast<const Weight*>(tile.panels +
                                                    lanes * (sizeof(int32_t) + sizeof(float)));
    const std::byte* ahead = tile.prefetch.ahead;
    constexpr int kBases = (kR + 2) / 3;
    const ptrdiff_t row = block.aRow;
    for (const ptrdiff_t run : block.runs) {
        const Element* bases[kBases];
        HALYARD_UNROLL
        for (int b = 0; b < kBases; ++b) {
            bases[b] = static_cast<const Element*>(tile.a) + run + 3 * b * row;
        }
        for (int64_t k = 0; k < block.runLength; k += Dot::kGroup) {
            typename Dot::Weights columns[kV];
            HALYARD_UNROLL
            for (int v = 0; v < kV; ++v) {
                columns[v] = Dot::load(w + v * panelWeights);
                __builtin_prefetch(ahead + v * tile.prefetch.apart, 0, 2);
            }
            w += lanes * Dot::kGroup;
            ahead += tile.prefetch.step;
            HALYARD_UNROLL
            for (int r = 0; r < kR; ++r) {
                const IntVector group = Dot::group(bases[r / 3] + r % 3 * row);
                HALYARD_UNROLL
                for (int v = 0; v < kV; ++v) {
                    sums[r][v] = Dot::add(sums[r][v], group, columns[v]);
                }
            }
            HALYARD_UNROLL
            for (int b = 0; b < kBases; ++b) {
                bases[b] += Dot::kGroup;
            }
        }
    }
    storeResult(tile, sums);
}

template <typename Dot, int kV, int... kR>
constexpr auto tilesOf(std::integer_sequence<int, kR...> /*rows*/) {
    return std::array{&computeTile<Dot, kR + 1, kV>...};
}

// By the number of rows, counted from 1.
template <typename Dot, int kV>
constexpr auto kTiles =
        tilesOf<Dot, kV>(std::make_integer_sequence<int, kV == kVectorsOfFew ? kFewRows : kRows>());

template <typename Dot, int kV>
void computePanels(const QuantizedBlock& block, int64_t column, const std::byte* panels,
                   size_t panelBytes) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(kInts));
    const auto last =
            static_cast<size_t>(std::min(block.columns - column - (kV - 1) * lanes, lanes));
    constexpr int kMost = kV == kVectorsOfFew ? kFewRows : kRows;
    const int64_t most = rowsThatFitL1d(
            kMost, block.aRow * static_cast<ptrdiff_t>(sizeof(typename Dot::Element)), block.l1d);
    WeightPrefetch prefetch(panels + kV * panelBytes, panelBytes, kV,
                            lanes * Dot::kGroup * int64_t{sizeof(typename Dot::Weight)},
                            block.lines * ((block.rows + most - 1) / most));
    for (int64_t line = 0; line < block.lines; ++line) {
        const auto* a = static_cast<const typename Dot::Element*>(block.a) + line * block.aLine;
        const ptrdiff_t c = line * block.cLine + column;
        for (int64_t row = 0; row < block.rows; row += most) {
            const int64_t rows = std::min(block.rows - row, most);
            kTiles<Dot, kV>[static_cast<size_t>(rows - 1)](
                    {.block = block,
                     .a = a + row * block.aRow,
                     .panels = panels,
                     .panelBytes = panelBytes,
                     .c = block.sums != nullptr ? nullptr : block.c + c + row * block.cRow,
                     .sums = block.sums == nullptr ? nullptr : block.sums + c + row * block.cRow,
                     .rowSums = block.rowSums == nullptr ? nullptr
                                                         : block.rowSums + line * block.rows + row,
                     .last = last,
                     .prefetch = prefetch});
            prefetch.next();
        }
    }
}

// Sums of runs of whole groups: products with ones.
template <typename Dot>
class RunSum {
  public:
    RunSum() { std::ranges::fill(mOnes, typename Dot::Weight{1}); }

    HWY_INLINE uint32_t operator()(const typename Dot::Element* a, int64_t length) const {
        const typename Dot::Weights ones = Dot::load(mOnes);
        IntVector sum = hn::Zero(kInts);
        for (int64_t k = 0; k < length; k += Dot::kGroup) {
            sum = Dot::add(sum, Dot::group(a + k), ones);
        }
        return static_cast<uint32_t>(hn::GetLane(sum));
    }

  private:
    alignas(64) typename Dot::Weight mOnes[hn::MaxLanes(kInts) * Dot::kGroup];
};

template <typename Dot>
void sumRows(const QuantizedBlock& block) {
    const RunSum<Dot> sumOf;
    int32_t* to = block.rowSums;
    for (int64_t line = 0; line < block.lines; ++line) {
        for (int64_t row = 0; row < block.rows; ++row) {
            const auto* a = static_cast<const typename Dot::Element*>(block.a) +
                            line * block.aLine + row * block.aRow;
            uint32_t sum = 0;
            for (const ptrdiff_t run : block.runs) {
                sum += sumOf(a + run, block.runLength);
            }
            *to++ = static_cast<int32_t>(sum);
        }
    }
}

template <typename Dot>
void compute(const QuantizedBlock& block) {
    if (block.rowSums != nullptr) {
        sumRows<Dot>(block);
    }
    const auto lanes = static_cast<int64_t>(hn::Lanes(kInts));
    const int64_t depth = static_cast<int64_t>(block.runs.size()) * block.runLength;
    const auto panelBytes = static_cast<size_t>(lanes) *
                            (sizeof(int32_t) + sizeof(float) +
                             static_cast<size_t>(depth) * sizeof(typename Dot::Weight));
    const std::byte* panels = block.panels;
    for (int64_t column = 0; column < block.columns;) {
        const int64_t vectors = (block.columns - column + lanes - 1) / lanes;
        int64_t done = 1;
        if (block.rows <= kFewRows && vectors >= kVectorsOfFew) {
            computePanels<Dot, kVectorsOfFew>(block, column, panels, panelBytes);
            done = kVectorsOfFew;
        } else if (vectors >= kVectors) {
            computePanels<Dot, kVectors>(block, column, panels, panelBytes);
            done = kVectors;
        } else {
            computePanels<Dot, 1>(block, column, panels, panelBytes);
        }
        column += done * lanes;
        panels += static_cast<size_t>(done) * panelBytes;
    }
}

template <typename Dot>
const QuantizedGemm* formOf() {
    static const QuantizedGemm kForm = {
            .tile = kTile,
            .tileRows = kRows,
            .lanes = static_cast<int64_t>(hn::Lanes(kInts)),
            .tileLanes = static_cast<int64_t>(hn::Lanes(kInts)) * kVectors,
            .depthGroup = Dot::kGroup,
            .bytes = sizeof(typename Dot::Element) == 1,
            .signedLeft = std::is_same_v<typename Dot::Element, int8_t>,
            .compute = compute<Dot>};
    return &kForm;
}

#endif

}  // namespace halyard::engine::cpu

#if HWY_TARGET == HWY_NEON
const QuantizedGemm* quantizedForm() {
    return formOf<WideningTiles<false>>();
}
const QuantizedGemm* quantizedDotForm() {
    return formOf<DotTiles>();
}
const QuantizedGemm* quantizedSquareForm() {
    return formOf<SquareTiles>();
}
#else
const QuantizedGemm* quantizedForm() {
    return formOf<Products>();
}
#endif
#if HWY_TARGET == HWY_AVX3
const QuantizedGemm* quantizedDotForm() {
    return formOf<ByteProducts>();
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {

const QuantizedGemm& quantizedGemm(InstructionSet set) {
#if HWY_TARGETS & HWY_AVX3
    if (hasByteProducts(set)) {
        return *N_AVX3::quantizedDotForm();
    }
#elif HWY_TARGETS & HWY_NEON
    if (set == InstructionSet::NEON_I8MM) {
        return *N_NEON::quantizedSquareForm();
    }
    if (set == InstructionSet::NEON_DOT) {
        return *N_NEON::quantizedDotForm();
    }
#endif
    return *HALYARD_CPU_CHOOSE(set, quantizedForm)();
}

}  // namespace halyard::engine::cpu
#endif
