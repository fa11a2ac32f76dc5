// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/gemm/grouped_lines.cc"
#include "engine/backends/cpu/vectors/targets.h"
// Read for each instruction set.
#include "engine/backends/cpu/vectors/bounds-inl.h"
#include "engine/backends/cpu/vectors/lanes-inl.h"

#include <array>
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
    float* to = block.to;
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
void computeWindows(const GroupedLine& line, const float* spread, T* to) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(kFloats));
    FloatVector sums[kR];
    const FloatVector bias = hn::Load(kFloats, line.weights);
    HALYARD_UNROLL
    for (int r = 0; r < kR; ++r) {
        sums[r] = bias;
    }
    const float* weights = line.weights + lanes;
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

template <typename T, int... kR>
constexpr auto windowsOf(std::integer_sequence<int, kR...> /*counts*/) {
    return std::array{&computeWindows<T, kR + 1>...};
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
        kCounts[static_cast<size_t>(rows - 1)](line, line.spread + row * line.row,
                                               static_cast<T*>(line.to) + row * line.apart);
    }
}

}  // namespace

const GroupedConv* groupedForm() {
    static const GroupedConv kForm = {.lanes = static_cast<int64_t>(hn::Lanes(kFloats)),
                                      .spreadFloats = spread<float>,
                                      .spreadHalves = spread<Half>,
                                      .computeFloats = compute<float>,
                                      .computeHalves = compute<Half>};
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
