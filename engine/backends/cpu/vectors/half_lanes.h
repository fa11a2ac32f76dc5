// SPDX-License-Identifier: Apache-2.0
//
// Vectors of eight IEEE binary16 with FEAT_FP16's arithmetic, which Highway 1.0.3 does not know:
// for kernels of AArch64 that are called where hasHalfArithmetic(). Instructions are spelled out,
// since files are compiled for processors without them, and since GCC 12 copies the lanes that fmla
// takes from v0 to v15 alone.

#pragma once

#if defined(__aarch64__)
#include <arm_neon.h>

#include <cstdint>
#include <cstring>

#include "engine/base/half.h"

#define HALYARD_HALF_INLINE [[gnu::always_inline]] inline
#define HALYARD_ARM_HALF ".arch armv8.2-a+fp16\n\t"

namespace halyard::engine::cpu {

using HalfVector = uint16x8_t;  // bits of binary16
inline constexpr int64_t kHalfLanes = 8;

HALYARD_HALF_INLINE HalfVector loadHalves(const Half* from) {
    return vld1q_u16(reinterpret_cast<const uint16_t*>(from));
}
// The others are zeros.
HALYARD_HALF_INLINE HalfVector loadFourHalves(const Half* from) {
    return vcombine_u16(vld1_u16(reinterpret_cast<const uint16_t*>(from)), vdup_n_u16(0));
}
HALYARD_HALF_INLINE HalfVector broadcastHalf(Half value) {
    return vdupq_n_u16(value.bits);
}
// In all lanes.
HALYARD_HALF_INLINE HalfVector loadOneHalf(const Half* from) {
    return vld1q_dup_u16(reinterpret_cast<const uint16_t*>(from));
}
// The first `count` of eight, reading no more; zeros behind them.
HALYARD_HALF_INLINE HalfVector loadFirstHalves(const Half* from, int64_t count) {
    Half buffer[kHalfLanes] = {};
    std::memcpy(buffer, from, static_cast<size_t>(count) * sizeof(Half));
    return loadHalves(buffer);
}
HALYARD_HALF_INLINE void storeHalves(HalfVector values, Half* to) {
    vst1q_u16(reinterpret_cast<uint16_t*>(to), values);
}
// The first `count` of eight, writing no more.
HALYARD_HALF_INLINE void storeFirstHalves(HalfVector values, Half* to, int64_t count) {
    Half buffer[kHalfLanes];
    storeHalves(values, buffer);
    std::memcpy(to, buffer, static_cast<size_t>(count) * sizeof(Half));
}

// sum + columns * rows[kLane], rounded once.
template <int kLane>
HALYARD_HALF_INLINE HalfVector mulAddLane(HalfVector sum, HalfVector columns, HalfVector rows) {
    asm volatile(HALYARD_ARM_HALF "fmla %0.8h, %1.8h, %2.h[%3]"
                 : "+w"(sum)
                 : "w"(columns), "x"(rows), "n"(kLane));
    return sum;
}
// sum + a * b, rounded once.
HALYARD_HALF_INLINE HalfVector mulAdd(HalfVector sum, HalfVector a, HalfVector b) {
    asm(HALYARD_ARM_HALF "fmla %0.8h, %1.8h, %2.8h" : "+w"(sum) : "w"(a), "w"(b));
    return sum;
}
// A NaN stays one, as fmax and fmin have it.
HALYARD_HALF_INLINE HalfVector clampHalves(HalfVector value, HalfVector low, HalfVector high) {
    asm(HALYARD_ARM_HALF "fmax %0.8h, %0.8h, %1.8h\n\tfmin %0.8h, %0.8h, %2.8h"
        : "+w"(value)
        : "w"(low), "w"(high));
    return value;
}

}  // namespace halyard::engine::cpu
#endif
