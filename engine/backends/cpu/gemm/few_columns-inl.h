// SPDX-License-Identifier: Apache-2.0
//
// Products of floats (float_gemm.h) with a few columns, which would leave most lanes of a vector of
// columns unused: here lanes are rows. Rows are transposed as they are read. Each sum has the same
// terms in the same order as in tiles.
//
// For sources that targets.h compiles once for each instruction set.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_FEW_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_FEW_COLUMNS_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_FEW_COLUMNS_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_FEW_COLUMNS_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/backends/cpu/gemm/float_block.h"
#include "engine/backends/cpu/vectors/bounds-inl.h"
#include "engine/backends/cpu/vectors/transposed_columns-inl.h"
#include "engine/backends/cpu/vectors/unroll.h"

// Others have no wide vectors, or a tile of their own.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace few_columns {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;
constexpr Floats kFloats;
using FloatVector = hn::Vec<Floats>;

constexpr int kMostColumns = 4;
// Vectors of rows that are computed together, where there are as many.
constexpr int kVectors = 2;
constexpr int64_t kVectorRows = hn::MaxLanes(kFloats);
constexpr int64_t kTogether = kVectors * kVectorRows;

// A column of the left matrix.
HWY_INLINE FloatVector gatherRows(const float* a, ptrdiff_t apart) {
    alignas(64) float lanes[kVectorRows];
    for (int64_t row = 0; row < kVectorRows; ++row) {
        lanes[row] = a[row * apart];
    }
    return hn::Load(kFloats, lanes);
}

template <int kN>
HWY_INLINE void storeRows(const FloatVector (&columns)[kN], float* c, ptrdiff_t apart) {
    if (apart == kN) {
        if constexpr (kN == 1) {
            hn::StoreU(columns[0], kFloats, c);
        } else if constexpr (kN == 2) {
            hn::StoreInterleaved2(columns[0], columns[1], kFloats, c);
        } else if constexpr (kN == 3) {
            hn::StoreInterleaved3(columns[0], columns[1], columns[2], kFloats, c);
        } else {
            hn::StoreInterleaved4(columns[0], columns[1], columns[2], columns[3], kFloats, c);
        }
        return;
    }
    alignas(64) float lanes[kN][kVectorRows];
    HALYARD_UNROLL
    for (int n = 0; n < kN; ++n) {
        hn::Store(columns[n], kFloats, lanes[n]);
    }
    for (int64_t row = 0; row < kVectorRows; ++row, c += apart) {
        HALYARD_UNROLL
        for (int n = 0; n < kN; ++n) {
            c[n] = lanes[n][row];
        }
    }
}

// kV vectors of rows, from the one at `a` on.
template <int kN, int kV>
HWY_INLINE void computeRows(const FloatBlock& block, const float* a, float* c) {
    const ptrdiff_t apart = block.aRow;
    FloatVector sums[kV][kN];
    HALYARD_UNROLL
    for (int n = 0; n < kN; ++n) {
        HALYARD_UNROLL
        for (int v = 0; v < kV; ++v) {
            sums[v][n] = hn::Set(kFloats, block.panels[n]);
        }
    }
    const float* w = block.panels + kVectorRows;
    for (const ptrdiff_t run : block.runs) {
        const float* x = a + run;
        int64_t k = 0;
        for (; k + kTransposedRows <= block.runLength; k += kTransposedRows) {
            FloatVector columns[kV][kTransposedRows];
            HALYARD_UNROLL
            for (int v = 0; v < kV; ++v) {
                transposeColumns(kFloats, x + v * kVectorRows * apart, apart, columns[v]);
            }
            HALYARD_UNROLL
            for (int i = 0; i < kTransposedRows; ++i) {
                HALYARD_UNROLL
                for (int n = 0; n < kN; ++n) {
                    const FloatVector weight = hn::Set(kFloats, w[n]);
                    HALYARD_UNROLL
                    for (int v = 0; v < kV; ++v) {
                        sums[v][n] = hn::MulAdd(columns[v][i], weight, sums[v][n]);
                    }
                }
                w += kVectorRows;
            }
            x += kTransposedRows;
        }
        for (; k < block.runLength; ++k, ++x, w += kVectorRows) {
            HALYARD_UNROLL
            for (int v = 0; v < kV; ++v) {
                const FloatVector column = gatherRows(x + v * kVectorRows * apart, apart);
                HALYARD_UNROLL
                for (int n = 0; n < kN; ++n) {
                    sums[v][n] = hn::MulAdd(column, hn::Set(kFloats, w[n]), sums[v][n]);
                }
            }
        }
    }
    const FloatVector low = hn::Set(kFloats, block.low);
    const FloatVector high = hn::Set(kFloats, block.high);
    HALYARD_UNROLL
    for (int v = 0; v < kV; ++v) {
        HALYARD_UNROLL
        for (int n = 0; n < kN; ++n) {
            sums[v][n] = keepWithin(sums[v][n], low, high);
        }
        storeRows<kN>(sums[v], c + v * kVectorRows * block.cRow, block.cRow);
    }
}

// The last vectors of a line overlap those before.
template <int kN>
HWY_NOINLINE void computeLines(const FloatBlock& block) {
    for (int64_t line = 0; line < block.lines; ++line) {
        const float* const a = block.a + line * block.aLine;
        float* const c = block.c + line * block.cLine;
        for (int64_t row = 0; row < block.rows;) {
            if (block.rows - row > kVectorRows && block.rows >= kTogether) {
                const int64_t first = std::min(row, block.rows - kTogether);
                computeRows<kN, kVectors>(block, a + first * block.aRow, c + first * block.cRow);
                row = first + kTogether;
            } else {
                const int64_t first = std::min(row, block.rows - kVectorRows);
                computeRows<kN, 1>(block, a + first * block.aRow, c + first * block.cRow);
                row = first + kVectorRows;
            }
        }
    }
}

// Whether lines have rows for a vector, of which a cache line each stays in L1d.
inline bool takes(const FloatBlock& block) {
    return block.columns > 0 && block.columns <= kMostColumns && block.rows >= kVectorRows &&
           rowsThatFitL1d(kTogether, block.aRow * ptrdiff_t{sizeof(float)}, block.l1d) == kTogether;
}

HWY_INLINE void compute(const FloatBlock& block) {
    switch (block.columns) {
        case 1:
            return computeLines<1>(block);
        case 2:
            return computeLines<2>(block);
        case 3:
            return computeLines<3>(block);
        default:
            return computeLines<4>(block);
    }
}

}  // namespace
}  // namespace few_columns
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();
#endif

#endif
