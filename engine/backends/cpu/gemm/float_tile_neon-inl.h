// SPDX-License-Identifier: Apache-2.0
//
// The tile of float_gemm.cc on NEON. Rows are loaded 16 bytes at a time and multiplied by lane: a
// load of a row serves four steps of depth. No byte behind the end of a run is read. Sums are those
// of a product at a time, in the order of the depth.
//
// `fmla` by lane is inline assembly, in the order of the source: GCC 12 adds 10 moves of registers
// to 64 times vfmaq_laneq_f32(), and both compilers load all columns of four steps first, which
// in-order cores wait for.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_FLOAT_TILE_NEON_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_FLOAT_TILE_NEON_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_FLOAT_TILE_NEON_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_FLOAT_TILE_NEON_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <hwy/highway.h>

#include "engine/backends/cpu/gemm/float_block.h"
#include "engine/backends/cpu/gemm/weight_prefetch.h"
#include "engine/backends/cpu/vectors/bounds-inl.h"
#include "engine/backends/cpu/vectors/partial_vectors-inl.h"

#if HWY_TARGET == HWY_NEON
HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace neon {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::Full128<float>;
constexpr Floats kFloats;
using FloatVector = hn::Vec<Floats>;
constexpr int64_t kLanes = 4;

HWY_INLINE FloatVector loadColumns(const float* w) {
    return hn::Load(kFloats, w);
}
HWY_INLINE FloatVector loadColumns(const uint16_t* w) {
    return FloatVector(vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(w), 16)));
}

// sum += column * row[kLane]
template <int kLane>
HWY_INLINE void multiplyAdd(const FloatVector& column, const FloatVector& row, FloatVector& sum) {
    asm volatile("fmla %0.4s, %1.4s, %2.s[%c3]"
                 : "+w"(sum.raw)
                 : "w"(column.raw), "w"(row.raw), "i"(kLane));
}

HWY_INLINE void multiplyAdd(const FloatVector& column, float element, FloatVector& sum) {
    asm volatile("fmla %0.4s, %1.4s, %2.s[0]" : "+w"(sum.raw) : "w"(column.raw), "w"(element));
}

// A step of depth: lane kLane of each row, for one vector of columns or all.
template <int kLane, int kRows, int kV>
HWY_INLINE void multiplyStep(int v, const FloatVector (&columns)[kV],
                             const FloatVector (&rows)[kRows], FloatVector (&sums)[kRows][kV]) {
    HALYARD_UNROLL
    for (int r = 0; r < kRows; ++r) {
        multiplyAdd<kLane>(columns[v], rows[r], sums[r][v]);
    }
}
template <int kLane, int kRows, int kV>
HWY_INLINE void multiplyStep(const FloatVector (&columns)[kV], const FloatVector (&rows)[kRows],
                             FloatVector (&sums)[kRows][kV]) {
    HALYARD_UNROLL
    for (int v = 0; v < kV; ++v) {
        multiplyStep<kLane>(v, columns, rows, sums);
    }
}

// Where a tile's panels are read.
template <int kV, typename Weight>
struct Panels {
    const Weight* at[kV];

    HWY_INLINE void load(FloatVector (&columns)[kV]) {
        HALYARD_UNROLL
        for (int v = 0; v < kV; ++v) {
            columns[v] = loadColumns(at[v]);
            at[v] += kLanes;
        }
    }
    // Of two steps, and of one panel or all.
    HWY_INLINE void load(int v, FloatVector& first, FloatVector& second) {
        if constexpr (std::is_same_v<Weight, float>) {
            // Compilers load in pairs, too, but advance by instructions of their own.
            asm volatile("ldp %q0, %q1, [%2], #32"
                         : "=w"(first.raw), "=w"(second.raw), "+r"(at[v])
                         : "m"(*reinterpret_cast<const float(*)[2 * kLanes]>(at[v])));
        } else {
            first = loadColumns(at[v]);
            second = loadColumns(at[v] + kLanes);
            at[v] += 2 * kLanes;
        }
    }
    HWY_INLINE void load(FloatVector (&first)[kV], FloatVector (&second)[kV]) {
        HALYARD_UNROLL
        for (int v = 0; v < kV; ++v) {
            load(v, first[v], second[v]);
        }
    }
};

// The rows of a tile, each as far as it was read.
template <int kRows>
struct Rows {
    const std::byte* at[kRows];

    // Lines and rows lie so many bytes apart.
    template <int kR>
    HWY_INLINE Rows(std::integral_constant<int, kR> /*rowsOfLine*/, const float* first,
                    ptrdiff_t line, ptrdiff_t row) {
        const auto* begin = reinterpret_cast<const std::byte*>(first);
        HALYARD_UNROLL
        for (int l = 0; l < kRows / kR; ++l, begin += line) {
            const std::byte* to = begin;
            HALYARD_UNROLL
            for (int r = 0; r < kR; ++r, to += row) {
                at[l * kR + r] = to;
            }
        }
    }
    HWY_INLINE const float* of(int row, int64_t bytes = 0) const {
        return reinterpret_cast<const float*>(at[row] + bytes);
    }
};

// The depth of one run. `rows` are where `whole` elements have been read, a multiple of four, which
// is what is read first, and then the `rest`, fewer than four.
template <int kRows, int kV, typename Weight>
HWY_INLINE void multiplyRun(const Rows<kRows>& rows, int64_t whole, int64_t rest,
                            Panels<kV, Weight>& panels, NarrowWeightPrefetch& prefetch,
                            FloatVector (&sums)[kRows][kV]) {
    constexpr int kStreams = NarrowWeightPrefetch::streams(kV);
    FloatVector x[kRows];
    FloatVector first[kV], second[kV];
    for (int64_t k = -whole * int64_t{sizeof(float)}; k != 0; k += 4 * sizeof(float)) {
        // One register counts for all rows: Clang would rather advance each.
        asm("" : "+r"(k));
        panels.load(first, second);
        HALYARD_UNROLL
        for (int r = 0; r < kRows; ++r) {
            x[r] = hn::LoadU(kFloats, rows.of(r, k));
        }
        multiplyStep<0>(first, x, sums);
        HALYARD_UNROLL
        for (int i = 0; i < kStreams; ++i) {
            __builtin_prefetch(prefetch.ahead + i * prefetch.apart, 0, 2);
        }
        prefetch.ahead += prefetch.step;
        HALYARD_UNROLL
        for (int v = 0; v < kV; ++v) {
            multiplyStep<1>(v, second, x, sums);
            panels.load(v, first[v], second[v]);
        }
        multiplyStep<2>(first, x, sums);
        multiplyStep<3>(second, x, sums);
    }
    if (rest == 0) {
        return;
    }
    if ((rest & 2) != 0) {
        panels.load(first, second);
        HALYARD_UNROLL
        for (int r = 0; r < kRows; ++r) {
            x[r].raw = vcombine_f32(vld1_f32(rows.of(r)), vdup_n_f32(0.0F));
        }
        multiplyStep<0>(first, x, sums);
        multiplyStep<1>(second, x, sums);
    }
    if ((rest & 1) != 0) {
        panels.load(first);
        HALYARD_UNROLL
        for (int r = 0; r < kRows; ++r) {
            const float element = *rows.of(r, (rest & 2) * int64_t{sizeof(float)});
            HALYARD_UNROLL
            for (int v = 0; v < kV; ++v) {
                multiplyAdd(first[v], element, sums[r][v]);
            }
        }
    }
}

// A row, whose last vector has `last` lanes that count.
template <int kV>
HWY_INLINE void storeRow(const FloatVector (&sums)[kV], float* to, size_t last) {
    if (last == kLanes) {
        HALYARD_UNROLL
        for (int v = 0; v < kV; ++v) {
            hn::StoreU(sums[v], kFloats, to + v * kLanes);
        }
        return;
    }
    HALYARD_UNROLL
    for (int v = 0; v + 1 < kV; ++v, to += kLanes) {
        hn::StoreU(sums[v], kFloats, to);
    }
    const float32x4_t y = sums[kV - 1].raw;
    float32x2_t half = vget_low_f32(y);
    if ((last & 2) != 0) {
        vst1_f32(to, half);
        to += 2;
        half = vget_high_f32(y);
    }
    if ((last & 1) != 0) {
        vst1_lane_f32(to, half, 0);
    }
}

// Lines and rows of `c` lie so many bytes apart.
template <int kL, int kR, int kV>
HWY_INLINE void storeRows(const FloatVector (&sums)[kL * kR][kV], float* c, ptrdiff_t line,
                          ptrdiff_t row, size_t last) {
    auto* begin = reinterpret_cast<std::byte*>(c);
    HALYARD_UNROLL
    for (int l = 0; l < kL; ++l, begin += line) {
        std::byte* to = begin;
        HALYARD_UNROLL
        for (int r = 0; r < kR; ++r, to += row) {
            // An address for all vectors of a row: they are stored in pairs then.
            asm("" : "+r"(to));
            storeRow(sums[l * kR + r], reinterpret_cast<float*>(to), last);
        }
    }
}

struct Tile {
    using Prefetch = NarrowWeightPrefetch;

    const FloatBlock& block;
    const float* a;
    const float* panels;
    size_t panelLength;
    float* c;
    size_t last;  // lanes of the last vector that count
    Prefetch prefetch;
};

// A tile of kR rows in each of kL lines, and kV vectors.
template <int kL, int kR, int kV, typename Weight>
HWY_INLINE void computeTile(const FloatBlock& block, const Tile& t) {
    constexpr int kRows = kL * kR;
    constexpr ptrdiff_t kBytes = sizeof(float);
    FloatVector sums[kRows][kV];
    Panels<kV, Weight> weights;
    HALYARD_UNROLL
    for (int v = 0; v < kV; ++v) {
        const float* const panel = t.panels + v * t.panelLength;
        const FloatVector bias = hn::Load(kFloats, panel);
        weights.at[v] = reinterpret_cast<const Weight*>(panel + kLanes);
        HALYARD_UNROLL
        for (int r = 0; r < kRows; ++r) {
            sums[r][v] = bias;
        }
    }
    const int64_t rest = block.runLength & 3;
    const int64_t whole = block.runLength - rest;
    NarrowWeightPrefetch prefetch = t.prefetch;
    for (const ptrdiff_t run : block.runs) {
        const Rows<kRows> rows(std::integral_constant<int, kR>(), t.a + run + whole,
                               block.aLine * kBytes, block.aRow * kBytes);
        multiplyRun(rows, whole, rest, weights, prefetch, sums);
    }
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    if (block.low != -kInfinity || block.high != kInfinity) {
        const FloatVector low = hn::Set(kFloats, block.low);
        const FloatVector high = hn::Set(kFloats, block.high);
        HALYARD_UNROLL
        for (int r = 0; r < kRows; ++r) {
            HALYARD_UNROLL
            for (int v = 0; v < kV; ++v) {
                sums[r][v] = keepWithin(sums[r][v], low, high);
            }
        }
    }
    // Known to be whole, rows are stored without a question each.
    if (t.last == kLanes) {
        storeRows<kL, kR>(sums, t.c, block.cLine * kBytes, block.cRow * kBytes, kLanes);
    } else {
        storeRows<kL, kR>(sums, t.c, block.cLine * kBytes, block.cRow * kBytes, t.last);
    }
}

// `count` tiles, each below the one before; `next` goes on to the one behind them.
template <int kL, int kR, int kV, typename Weight>
HWY_INLINE void computeTiles(Tile& next, int64_t count) {
    // Copies, which no store of a result changes as far as compilers know.
    const FloatBlock block = next.block;
    Tile t = next;
    for (; count > 0; --count) {
        computeTile<kL, kR, kV, Weight>(block, t);
        t.a += kL == 1 ? kR * block.aRow : kL * block.aLine;
        t.c += kL == 1 ? kR * block.cRow : kL * block.cLine;
        t.prefetch.next();
    }
    next.a = t.a;
    next.c = t.c;
    next.prefetch = t.prefetch;
}

}  // namespace neon

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();
#endif

#endif
