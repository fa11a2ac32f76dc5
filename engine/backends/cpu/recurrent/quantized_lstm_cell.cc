// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/recurrent/quantized_lstm_cell.cc"
#include "engine/backends/cpu/vectors/targets.h"
// Read for each instruction set.
#include "engine/backends/cpu/vectors/fixed_point-inl.h"

#include <limits>

#include "engine/backends/cpu/recurrent/quantized_lstm_cell.h"

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

// Calls body(i, All or Some) for those of the vectors [begin, end) that have any of `units`
// elements.
template <typename Body>
HWY_INLINE void forEachVectorIn(int64_t begin, int64_t end, int64_t units, Body body) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(kInts));
    for (int64_t i = begin; i < end && i * lanes < units; ++i) {
        if ((i + 1) * lanes <= units) {
            body(i, All());
        } else {
            body(i, Some{.count = static_cast<size_t>(units - i * lanes)});
        }
    }
}

// Where a vector of a gate's sums begins; of each gate `together` units lie together.
HWY_INLINE int64_t sumsOfVector(int64_t vector, int64_t together, int64_t gates, int64_t gate) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(kInts));
    const int64_t unit = vector * lanes;
    return unit / together * together * gates + gate * together + unit % together;
}

template <typename Count>
HWY_INLINE void storeShorts(IntVector values, int16_t* to, Count count) {
    storeStored(hn::DemoteTo(Stored<int16_t>(), values), to, count);
}

// The sum of numbers of 16 and of 32 bits, in 16.
HWY_INLINE IntVector addSaturated(IntVector sum, IntVector term) {
    // So that nothing overflows on the way.
    constexpr int32_t kFar = 1 << 17;
    return saturate16(hn::Add(sum, clampInts(term, -kFar, kFar)));
}

void compute(const QuantizedCell& cell, const QuantizedCellRow& row) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(kInts));
    const int gates = cell.coupled ? 3 : 4;
    const IntVector one = number(std::numeric_limits<int16_t>::max());
    forEachVectorIn(row.begin, row.end, row.units, [&](int64_t i, auto there) HWY_ATTR {
        const IntVector previous = loadInts(row.previousCell + i * lanes, there);
        const auto gateOf = [&](int which, IntVector state) HWY_ATTR {
            const QuantizedGate& gate = cell.gates[which];
            const int64_t at = sumsOfVector(i, row.together, gates, which);
            IntVector sum = saturate16(scaleFixed(hn::LoadU(kInts, row.sums + at), gate.weights));
            sum = addSaturated(sum,
                               scaleFixed(hn::LoadU(kInts, row.recurrent + at), gate.recurrent));
            if (row.peepholes == nullptr) {
                return sum;
            }
            const IntVector seen = hn::Mul(state, hn::LoadU(kInts, row.peepholes + at));
            return addSaturated(sum, scaleFixed(seen, gate.peephole));
        };
        const int first = gates - 3;
        const IntVector forget = logisticFixed(gateOf(first, previous));
        const IntVector in =
                cell.coupled ? hn::Sub(one, forget) : logisticFixed(gateOf(0, previous));
        const IntVector modulation = tanhFixed(gateOf(first + 1, hn::Zero(kInts)), 3);
        const IntVector kept = roundingShiftRight(hn::Mul(forget, previous), 15);
        const IntVector added = roundingShiftRight(hn::Mul(in, modulation), 30 + cell.cellLog2);
        IntVector next = saturate16(hn::Add(kept, added));
        if (cell.cellClip.has_value()) {
            next = clampInts(next, -int32_t{*cell.cellClip}, *cell.cellClip);
        }
        storeShorts(next, row.cell + i * lanes, there);
        const IntVector out = logisticFixed(gateOf(first + 2, next));
        const IntVector product = hn::Mul(out, tanhFixed(next, cell.cellLog2 + 15));
        constexpr int32_t kFar = 1 << 10;
        const IntVector scaled = clampInts(scaleFixed(product, cell.hidden), -kFar, kFar);
        const IntVector hidden =
                clampInts(hn::Add(scaled, number(cell.hiddenZeroPoint)),
                          std::numeric_limits<int8_t>::min(), std::numeric_limits<int8_t>::max());
        storeInts(hidden, row.hidden + i * lanes, there);
    });
}

void compute16Bit(const Quantized16BitCellRow& row) {
    constexpr int kGateBits = 3;
    constexpr int kCellBits = 4;
    const auto lanes = static_cast<int64_t>(hn::Lanes(kInts));
    forEachVectorIn(row.begin, row.end, row.units, [&](int64_t i, auto there) HWY_ATTR {
        const auto gateOf = [&](int which) HWY_ATTR {
            const int32_t* const sums = row.sums + sumsOfVector(i, row.together, 4, which);
            return saturate16(scaleFixed(hn::LoadU(kInts, sums), row.factor));
        };
        const IntVector added =
                multiply16(logisticFixed(gateOf(0)), tanhFixed(gateOf(2), kGateBits));
        const IntVector kept =
                multiply16(logisticFixed(gateOf(1)), loadInts(row.previousCell + i * lanes, there));
        const IntVector next = saturate16(hn::Add(roundingShiftRight(added, kCellBits), kept));
        const IntVector clamped = saturate16(hn::ShiftLeft<kCellBits - kGateBits>(next));
        const IntVector activated =
                multiply16(logisticFixed(gateOf(3)), tanhFixed(clamped, kGateBits));
        storeShorts(next, row.cell + i * lanes, there);
        const IntVector rounded = clampInts(roundingShiftRight(activated, 8), -128, 127);
        storeInts(hn::Add(rounded, number(128)), row.output + i * lanes, there);
    });
}

}  // namespace

const QuantizedCells* quantizedCellsForm() {
    static const QuantizedCells kForm = {.lanes = static_cast<int64_t>(hn::Lanes(kInts)),
                                         .compute = compute,
                                         .compute16Bit = compute16Bit};
    return &kForm;
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {

const QuantizedCells& quantizedCells(InstructionSet set) {
    return *HALYARD_CPU_CHOOSE(set, quantizedCellsForm)();
}

}  // namespace halyard::engine::cpu
#endif
