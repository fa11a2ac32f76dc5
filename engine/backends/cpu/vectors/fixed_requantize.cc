// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/vectors/fixed_requantize.cc"
#include "engine/backends/cpu/vectors/targets.h"
// Read for each instruction set.
#include "engine/backends/cpu/vectors/fixed_point-inl.h"

#include "engine/backends/cpu/vectors/fixed_requantize.h"

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

void requantizeSums(const FixedFactor& factor, const int32_t* sums, uint8_t* to, int64_t count) {
    const int32_t zeroPoint = factor.zeroPoint;
    const QuantizedRange range = factor.range;
    forEachVector(count, [&](int64_t i, auto there) HWY_ATTR {
        const IntVector scaled = scaleFixed(loadInts(sums + i, there), factor.factor);
        // Before the zero point is added, which must not overflow.
        const IntVector bounded = clampInts(scaled, range.low - zeroPoint, range.high - zeroPoint);
        storeInts(hn::Add(bounded, number(zeroPoint)), to + i, there);
    });
}

}  // namespace

FixedRequantize fixedRequantizeForm() {
    return requantizeSums;
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {

FixedRequantize fixedRequantize(InstructionSet set) {
    return HALYARD_CPU_CHOOSE(set, fixedRequantizeForm)();
}

}  // namespace halyard::engine::cpu
#endif
