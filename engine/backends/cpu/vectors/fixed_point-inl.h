// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of numerics/fixed_point.h on vectors, bit for bit: for sources that targets.h
// compiles once for each instruction set. Numbers of 16 bits have lanes of 32.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_FIXED_POINT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_FIXED_POINT_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_FIXED_POINT_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_FIXED_POINT_INL_H_
#endif

#include <limits>

#include "engine/backends/cpu/vectors/lanes-inl.h"
#include "engine/numerics/fixed_point.h"

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

HWY_INLINE IntVector number(int32_t value) {
    return hn::Set(kInts, value);
}

HWY_INLINE IntVector clampInts(IntVector value, int32_t low, int32_t high) {
    return hn::Min(hn::Max(value, number(low)), number(high));
}

HWY_INLINE IntVector saturate16(IntVector value) {
    return clampInts(value, std::numeric_limits<int16_t>::min(),
                     std::numeric_limits<int16_t>::max());
}

HWY_INLINE IntVector saturatingShiftLeft(IntVector x, int bits) {
    if (bits == 0) {
        return x;
    }
    const IntVector shifted = hn::ShiftLeftSame(x, bits);
    const IntVector most =
            hn::IfThenElse(hn::Lt(x, hn::Zero(kInts)), number(std::numeric_limits<int32_t>::min()),
                           number(std::numeric_limits<int32_t>::max()));
    return hn::IfThenElse(hn::Eq(hn::ShiftRightSame(shifted, bits), x), shifted, most);
}

// To nearest, halves away from zero.
HWY_INLINE IntVector roundingShiftRight(IntVector x, int bits) {
    const int32_t mask = static_cast<int32_t>((uint32_t{1} << bits) - 1);
    const IntVector remainder = hn::And(x, number(mask));
    const IntVector threshold =
            hn::Sub(number(mask >> 1), hn::ShiftRight<31>(x));  // one more below zero
    const IntVector up = hn::IfThenElseZero(hn::Gt(remainder, threshold), number(1));
    return hn::Add(hn::ShiftRightSame(x, bits), up);
}

// (x * factor + 2^30) / 2^31, for factor >= 0.
HWY_INLINE IntVector multiplyByFraction(IntVector x, int32_t factor) {
    using Longs = hn::RepartitionToWide<hn::RebindToUnsigned<Ints>>;
    constexpr Longs kLongs;
    const IntVector factors = number(factor);
    const auto half = hn::Set(kLongs, uint64_t{1} << 30);
    const IntVector odd = hn::BitCast(kInts, hn::ShiftRight<32>(hn::BitCast(kLongs, x)));
    const auto ofEven = hn::Add(hn::BitCast(kLongs, hn::MulEven(x, factors)), half);
    const auto ofOdd = hn::Add(hn::BitCast(kLongs, hn::MulEven(odd, factors)), half);
    return hn::OddEven(hn::BitCast(kInts, hn::ShiftLeft<1>(ofOdd)),
                       hn::BitCast(kInts, hn::ShiftRight<31>(ofEven)));
}

HWY_INLINE IntVector scaleFixed(IntVector x, fixed_point::Multiplier factor) {
    const int left = std::clamp(factor.shift, 0, 31);
    const int right = std::clamp(-factor.shift, 0, 31);
    return roundingShiftRight(multiplyByFraction(saturatingShiftLeft(x, left), factor.fraction),
                              right);
}

// ---- Of 16 bits ---------------------------------------------------------------------------------

HWY_INLINE IntVector multiply16(IntVector a, IntVector b) {
    const IntVector rounded = hn::ShiftRight<15>(hn::Add(hn::Mul(a, b), number(1 << 14)));
    return hn::Min(rounded, number(std::numeric_limits<int16_t>::max()));
}

HWY_INLINE IntVector expOfQuarter(IntVector x) {
    const IntVector centre = number(fixed_point::kExpOfMinusEighth);
    const IntVector d = hn::Add(x, number(fixed_point::constant(1.0 / 8.0)));
    const IntVector d2 = multiply16(d, d);
    const IntVector d3 = multiply16(d2, d);
    const IntVector d4 = multiply16(d2, d2);
    const IntVector inner = multiply16(hn::Add(roundingShiftRight(d4, 2), d3),
                                       number(fixed_point::constant(1.0 / 3.0)));
    const IntVector terms = roundingShiftRight(hn::Add(inner, d2), 1);
    return saturate16(hn::Add(centre, multiply16(centre, hn::Add(d, terms))));
}

HWY_INLINE IntVector expOfNegative(IntVector x, int integerBits) {
    const int fraction = 15 - integerBits;
    const int32_t quarter = 1 << (fraction - 2);
    const IntVector rest = hn::Sub(hn::And(x, number(quarter - 1)), number(quarter));
    const IntVector quarters = hn::Sub(rest, x);
    IntVector result = expOfQuarter(hn::ShiftLeftSame(rest, integerBits));
    const int bits = std::min<int>(integerBits + 2, std::size(fixed_point::kExpOfPowers));
    for (int bit = 0; bit < bits; ++bit) {
        const IntVector isSet = hn::And(quarters, number(quarter << bit));
        const IntVector product = multiply16(result, number(fixed_point::kExpOfPowers[bit]));
        result = hn::IfThenElse(hn::Eq(isSet, hn::Zero(kInts)), result, product);
    }
    result = hn::IfThenElse(hn::Lt(x, number(-(32 << fraction))), hn::Zero(kInts), result);
    return hn::IfThenElse(hn::Eq(x, hn::Zero(kInts)), number(std::numeric_limits<int16_t>::max()),
                          result);
}

HWY_INLINE IntVector twoOverOnePlus(IntVector x) {
    const IntVector half =
            hn::ShiftRight<1>(hn::Add(x, number(int32_t{std::numeric_limits<int16_t>::max()} + 1)));
    IntVector quotient = hn::Add(number(fixed_point::constant(48.0 / 17.0, 13)),
                                 multiply16(half, number(fixed_point::constant(-32.0 / 17.0, 13))));
    for (int i = 0; i < 3; ++i) {
        const IntVector error = hn::Sub(number(1 << 13), multiply16(half, quotient));
        const IntVector step = saturate16(hn::ShiftLeft<2>(multiply16(quotient, error)));
        quotient = hn::Add(quotient, step);
    }
    return quotient;
}

HWY_INLINE IntVector minusMagnitude(IntVector x) {
    return hn::Min(x, hn::Neg(x));
}

HWY_INLINE IntVector logisticFixed(IntVector x) {
    const IntVector zero = hn::Zero(kInts);
    const IntVector power = expOfNegative(minusMagnitude(x), 3);
    const IntVector above = saturate16(hn::ShiftLeft<1>(twoOverOnePlus(power)));
    const IntVector below = hn::Sub(number(std::numeric_limits<int16_t>::max()), above);
    const IntVector result = hn::IfThenElse(hn::Gt(x, zero), above, below);
    return hn::IfThenElse(hn::Eq(x, zero), number(1 << 14), result);
}

HWY_INLINE IntVector tanhFixed(IntVector x, int integerBits) {
    const IntVector zero = hn::Zero(kInts);
    const IntVector power = expOfNegative(minusMagnitude(x), integerBits + 1);
    const IntVector above =
            saturate16(hn::ShiftLeft<2>(hn::Sub(twoOverOnePlus(power), number(1 << 13))));
    const IntVector result = hn::IfThenElse(hn::Lt(x, zero), hn::Neg(above), above);
    return hn::IfThenElse(hn::Eq(x, zero), zero, result);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#endif
