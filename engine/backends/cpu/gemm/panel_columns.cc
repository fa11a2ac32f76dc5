// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/gemm/panel_columns.cc"
#include "engine/backends/cpu/vectors/targets.h"
// Read for each instruction set.
#include "engine/backends/cpu/vectors/lanes-inl.h"
#include "engine/backends/cpu/vectors/transposed_columns-inl.h"

#include <algorithm>
#include <functional>

#include "engine/backends/cpu/gemm/panel_columns.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {

void layFloatColumns(const PanelColumns<float>& columns, float* to) {
    // A line of each column at a time.
    constexpr int64_t kAtOnce = 16;
    const auto lanes = static_cast<int64_t>(hn::Lanes(kFloats));
    const int64_t whole = columns.count == lanes ? columns.depth / kAtOnce * kAtOnce : 0;
    for (int64_t first = 0; first < whole; first += kAtOnce) {
        for (int64_t column = 0; column < lanes; ++column) {
            fetchColumn(columns.first + column * columns.apart + first,
                        kAtOnce * int64_t{sizeof(float)});
        }
        for (int64_t k = first; k < first + kAtOnce; k += kTransposedRows) {
            FloatVector rows[kTransposedRows];
            transposeColumns(kFloats, columns.first + k, columns.apart, rows);
            HALYARD_UNROLL
            for (int64_t row = 0; row < kTransposedRows; ++row) {
                hn::StoreU(rows[row], kFloats, to + (k + row) * lanes);
            }
        }
    }
    layColumns(columns, whole, lanes, to, std::identity());
}

// Widened some at a time, for the L1d to keep them until they are laid.
void layHalfColumns(const PanelColumns<Half>& columns, float* to) {
    constexpr int64_t kAtOnce = 64;
    const auto lanes = static_cast<int64_t>(hn::Lanes(kFloats));
    alignas(64) float widened[kMostLanes * kAtOnce];
    for (int64_t first = 0; first < columns.depth; first += kAtOnce) {
        const int64_t depth = std::min(kAtOnce, columns.depth - first);
        for (int64_t column = 0; column < columns.count; ++column) {
            const Half* const from = columns.first + column * columns.apart + first;
            fetchColumn(from, kAtOnce * int64_t{sizeof(Half)});
            forEachVector(depth, [&](int64_t i, auto there) HWY_ATTR {
                storeFloats(loadFloats(from + i, there), widened + column * kAtOnce + i, there);
            });
        }
        layFloatColumns(
                {.first = widened, .count = columns.count, .apart = kAtOnce, .depth = depth},
                to + first * lanes);
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {

void layFloats(const PanelColumns<float>& columns, InstructionSet set, int64_t lanes, float* to) {
    // A program can be built for processors that this one is not.
    if (isAvailable(set)) {
        HALYARD_CPU_CHOOSE(set, layFloatColumns)(columns, to);
    } else {
        layColumns(columns, 0, lanes, to, std::identity());
    }
}

void layFloats(const PanelColumns<Half>& columns, InstructionSet set, int64_t lanes, float* to) {
    if (isAvailable(set)) {
        HALYARD_CPU_CHOOSE(set, layHalfColumns)(columns, to);
    } else {
        layColumns(columns, 0, lanes, to, [](Half element) { return toFloat(element); });
    }
}

namespace {

#if defined(__aarch64__)
constexpr int64_t kTransposedHalves = 8;

// to[k * 8 + column] = columns[column * apart + k], of eight columns and as many elements of each.
void transposeHalves(const Half* columns, ptrdiff_t apart, Half* to) {
    uint16x8_t c[kTransposedHalves];
    HALYARD_UNROLL
    for (int64_t i = 0; i < kTransposedHalves; ++i) {
        c[i] = vld1q_u16(reinterpret_cast<const uint16_t*>(columns + i * apart));
    }
    // First of two columns, then of four: elements k and k + 4 are in pairs[k] and pairs[k + 4].
    uint32x4_t pairs[kTransposedHalves];
    HALYARD_UNROLL
    for (int64_t i = 0; i < kTransposedHalves; i += 4) {
        const uint32x4_t even = vreinterpretq_u32_u16(vtrn1q_u16(c[i], c[i + 1]));
        const uint32x4_t odd = vreinterpretq_u32_u16(vtrn2q_u16(c[i], c[i + 1]));
        const uint32x4_t even2 = vreinterpretq_u32_u16(vtrn1q_u16(c[i + 2], c[i + 3]));
        const uint32x4_t odd2 = vreinterpretq_u32_u16(vtrn2q_u16(c[i + 2], c[i + 3]));
        pairs[i] = vtrn1q_u32(even, even2);
        pairs[i + 1] = vtrn1q_u32(odd, odd2);
        pairs[i + 2] = vtrn2q_u32(even, even2);
        pairs[i + 3] = vtrn2q_u32(odd, odd2);
    }
    HALYARD_UNROLL
    for (int64_t k = 0; k < 4; ++k) {
        const uint64x2_t left = vreinterpretq_u64_u32(pairs[k]);
        const uint64x2_t right = vreinterpretq_u64_u32(pairs[k + 4]);
        vst1q_u16(reinterpret_cast<uint16_t*>(to + k * kTransposedHalves),
                  vreinterpretq_u16_u64(vtrn1q_u64(left, right)));
        vst1q_u16(reinterpret_cast<uint16_t*>(to + (k + 4) * kTransposedHalves),
                  vreinterpretq_u16_u64(vtrn2q_u64(left, right)));
    }
}

// As many of the first elements of whole columns as come in blocks.
int64_t layBlocks(const PanelColumns<Half>& columns, int64_t lanes, Half* to) {
    if (lanes != kTransposedHalves || columns.count != kTransposedHalves) {
        return 0;
    }
    // A line of each column at a time.
    constexpr int64_t kAtOnce = 32;
    const int64_t whole = columns.depth / kAtOnce * kAtOnce;
    for (int64_t first = 0; first < whole; first += kAtOnce) {
        for (int64_t column = 0; column < lanes; ++column) {
            fetchColumn(columns.first + column * columns.apart + first,
                        kAtOnce * int64_t{sizeof(Half)});
        }
        for (int64_t k = first; k < first + kAtOnce; k += kTransposedHalves) {
            transposeHalves(columns.first + k, columns.apart, to + k * lanes);
        }
    }
    return whole;
}
#else
int64_t layBlocks(const PanelColumns<Half>& /*columns*/, int64_t /*lanes*/, Half* /*to*/) {
    return 0;
}
#endif

}  // namespace

void layHalves(const PanelColumns<Half>& columns, int64_t lanes, Half* to) {
    layColumns(columns, layBlocks(columns, lanes, to), lanes, to, std::identity());
}

}  // namespace halyard::engine::cpu
#endif
