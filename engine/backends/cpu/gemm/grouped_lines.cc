// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/gemm/grouped_lines.cc"
#include "engine/backends/cpu/vectors/targets.h"
// Read for each instruction set.
#include "engine/backends/cpu/vectors/bounds-inl.h"
#include "engine/backends/cpu/vectors/lanes-inl.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "engine/backends/cpu/gemm/grouped_conv.h"

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

// Windows that are computed together: their sums stay in registers, also of 16.
constexpr int kWindows = 8;

template <typename T>
void spread(const SpreadBlock& block) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(kFloats));
    const auto* from = static_cast<const T*>(block.from);
    auto* to = static_cast<float*>(block.to);
    const IntVector first = hn::LoadU(kInts, block.lanes);
    const Some there = {.count = static_cast<size_t>(block.channels)};
    for (int64_t i = 0; i < block.positions; ++i, from += block.apart) {
        const FloatVector x = loadFloats(from, there);
        IntVector lane = first;
        for (int64_t d = 0; d < block.groupDepth; ++d, to += lanes) {
            hn::Store(hn::TableLookupLanes(x, hn::IndicesFromVec(kFloats, lane)), kFloats, to);
            lane = hn::Add(lane, hn::Set(kInts, 1));
        }
    }
}

template <typename T, int kR>
void computeWindows(const GroupedLine& line, const std::byte* first, T* to) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(kFloats));
    const auto* const spread = reinterpret_cast<const float*>(first);
    const auto* weights = reinterpret_cast<const float*>(line.weights);
    FloatVector sums[kR];
    const FloatVector bias = hn::Load(kFloats, weights);
    HALYARD_UNROLL
    for (int r = 0; r < kR; ++r) {
        sums[r] = bias;
    }
    weights += lanes;
    for (const ptrdiff_t run : line.runs) {
        const float* x = spread + run;
        for (int64_t k = 0; k < line.runLength; ++k) {
            const FloatVector weight = hn::Load(kFloats, weights);
            weights += lanes;
            HALYARD_UNROLL
            for (int r = 0; r < kR; ++r) {
                sums[r] = hn::MulAdd(hn::Load(kFloats, x + r * line.row), weight, sums[r]);
            }
            x += lanes;
        }
    }
    const FloatVector low = hn::Set(kFloats, line.low);
    const FloatVector high = hn::Set(kFloats, line.high);
    const Some columns = {.count = static_cast<size_t>(line.columns)};
    HALYARD_UNROLL
    for (int r = 0; r < kR; ++r) {
        const FloatVector y = keepWithin(sums[r], low, high);
        if (line.columns == lanes) {
            storeFloats(y, to + r * line.apart, All());
        } else {
            storeFloats(y, to + r * line.apart, columns);
        }
    }
}

// Pairs of products of 16 bits are added by one instruction: pmaddwd.
#define HALYARD_HAS_GROUPS_OF_BYTES (HWY_ARCH_X86 && HWY_TARGET <= HWY_SSE4)

#if HALYARD_HAS_GROUPS_OF_BYTES
// Two differences from the zero point in each lane. Behind an odd one, weights are zeros.
template <typename T>
void spreadBytes(const SpreadBlock& block) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(kInts));
    const auto* from = static_cast<const T*>(block.from);
    auto* to = static_cast<int32_t*>(block.to);
    const IntVector first = hn::LoadU(kInts, block.lanes);
    const IntVector zeroPoint = hn::Set(kInts, block.zeroPoint);
    const IntVector lower = hn::Set(kInts, 0xFFFF);
    const auto next =
            hn::IndicesFromVec(kInts, hn::Min(hn::Add(hn::Iota(kInts, 0), hn::Set(kInts, 1)),
                                              hn::Set(kInts, static_cast<int32_t>(lanes - 1))));
    const Some there = {.count = static_cast<size_t>(block.channels)};
    for (int64_t i = 0; i < block.positions; ++i, from += block.apart) {
        const IntVector x = hn::Sub(loadInts(from, there), zeroPoint);
        const IntVector pairs =
                hn::Or(hn::And(x, lower), hn::ShiftLeft<16>(hn::TableLookupLanes(x, next)));
        IntVector lane = first;
        for (int64_t d = 0; d < block.groupDepth; d += 2, to += lanes) {
            hn::Store(hn::TableLookupLanes(pairs, hn::IndicesFromVec(kInts, lane)), kInts, to);
            lane = hn::Add(lane, hn::Set(kInts, 2));
        }
    }
}

// computeWindows() of bytes, signed ones or not.
template <int kR>
void computeByteWindows(const GroupedLine& line, const std::byte* first, uint8_t* to) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(kInts));
    constexpr hn::Repartition<int16_t, Ints> kHalves;
    const auto* const spread = reinterpret_cast<const int32_t*>(first);
    const auto* weights = reinterpret_cast<const int32_t*>(line.weights);
    IntVector sums[kR];
    const IntVector bias = hn::Load(kInts, weights);
    HALYARD_UNROLL
    for (int r = 0; r < kR; ++r) {
        sums[r] = bias;
    }
    const FloatVector multipliers =
            hn::Load(kFloats, reinterpret_cast<const float*>(weights + lanes));
    weights += 2 * lanes;
    IntVector unused = hn::Zero(kInts);  // on x86 all goes to the other sum
    for (const ptrdiff_t run : line.runs) {
        const int32_t* x = spread + run;
        for (int64_t k = 0; k < line.runLength; ++k) {
            const auto weight = hn::BitCast(kHalves, hn::Load(kInts, weights));
            weights += lanes;
            HALYARD_UNROLL
            for (int r = 0; r < kR; ++r) {
                const auto pairs = hn::BitCast(kHalves, hn::Load(kInts, x + r * line.row));
                sums[r] = hn::ReorderWidenMulAccumulate(kInts, pairs, weight, sums[r], unused);
            }
            x += lanes;
        }
    }
    const Rounding round(line.zeroPoint, line.range);
    const Some columns = {.count = static_cast<size_t>(line.columns)};
    HALYARD_UNROLL
    for (int r = 0; r < kR; ++r) {
        const IntVector y = round(hn::Mul(hn::ConvertTo(kFloats, sums[r]), multipliers));
        if (line.columns == lanes) {
            storeInts(y, to + r * line.apart, All());
        } else {
            storeInts(y, to + r * line.apart, columns);
        }
    }
}
#endif

template <typename T, int... kR>
constexpr auto windowsOf(std::integer_sequence<int, kR...> /*counts*/) {
#if HALYARD_HAS_GROUPS_OF_BYTES
    if constexpr (std::is_same_v<T, uint8_t>) {
        return std::array{&computeByteWindows<kR + 1>...};
    } else
#endif
    {
        return std::array{&computeWindows<T, kR + 1>...};
    }
}

template <typename T>
void compute(const GroupedLine& line) {
    // By how many there are, counted from 1.
    constexpr auto kCounts = windowsOf<T>(std::make_integer_sequence<int, kWindows>());
    // Of about as many windows each: few would wait for their sums.
    const int64_t parts = (line.rows + kWindows - 1) / kWindows;
    for (int64_t i = 0; i < parts; ++i) {
        const int64_t row = line.rows * i / parts;
        const int64_t rows = line.rows * (i + 1) / parts - row;
        kCounts[static_cast<size_t>(rows - 1)](line,
                                               line.spread + row * line.row * kGroupedWordBytes,
                                               static_cast<T*>(line.to) + row * line.apart);
    }
}

}  // namespace

const GroupedConv* groupedForm() {
    static const GroupedConv kForm = {
        .lanes = static_cast<int64_t>(hn::Lanes(kFloats)),
#if HALYARD_HAS_GROUPS_OF_BYTES
        .bytesTogether = 2,
#endif
        .forms = {.floats = {.spread = spread<float>, .compute = compute<float>},
                  .halves = {.spread = spread<Half>, .compute = compute<Half>},
#if HALYARD_HAS_GROUPS_OF_BYTES
                  .unsignedBytes = {.spread = spreadBytes<uint8_t>, .compute = compute<uint8_t>},
                  .signedBytes = {.spread = spreadBytes<int8_t>, .compute = compute<uint8_t>}
#endif
        }
    };
    return &kForm;
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {

const GroupedConv& groupedConv(InstructionSet set) {
    return *HALYARD_CPU_CHOOSE(set, groupedForm)();
}

}  // namespace halyard::engine::cpu
#endif
