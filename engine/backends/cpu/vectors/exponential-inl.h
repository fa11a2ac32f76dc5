// SPDX-License-Identifier: Apache-2.0
//
// e^x of vectors of floats and what is made of it, within a few units in the last place: for
// sources that targets.h compiles once for each instruction set.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_EXPONENTIAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_EXPONENTIAL_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_EXPONENTIAL_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_EXPONENTIAL_INL_H_
#endif

#include "engine/backends/cpu/vectors/bounds-inl.h"
#include "engine/backends/cpu/vectors/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

// x = doublings * ln 2 + rest, with |rest| <= ln 2 / 2, and e^rest - 1. ln 2 is split, so that the
// product with its upper half is exact.
struct ReducedExponential {
    FloatVector doublings;  // whole
    FloatVector minusOne;
};

HWY_INLINE ReducedExponential reduceExponential(FloatVector x) {
    const auto set = [](float value) HWY_ATTR { return hn::Set(kFloats, value); };
    const FloatVector n = hn::Round(hn::Mul(x, set(1.44269504F)));
    FloatVector rest = hn::NegMulAdd(n, set(0x1.62e4p-1F), x);
    rest = hn::NegMulAdd(n, set(0x1.7f7d1cp-20F), rest);
    // The series to x^7 / 7!.
    FloatVector sum = set(1.0F / 5040.0F);
    constexpr float kTerms[] = {1.0F / 720.0F, 1.0F / 120.0F, 1.0F / 24.0F, 1.0F / 6.0F, 0.5F};
    HALYARD_UNROLL
    for (const float term : kTerms) {
        sum = hn::MulAdd(sum, rest, set(term));
    }
    return {.doublings = n, .minusOne = hn::MulAdd(hn::Mul(rest, rest), sum, rest)};
}

// 2^exponent; in [-126, 127].
HWY_INLINE FloatVector powerOfTwo(IntVector exponent) {
    return hn::BitCast(kFloats, hn::ShiftLeft<23>(hn::Add(exponent, hn::Set(kInts, 127))));
}

// x * 2^doublings; in [-252, 254]. Results beyond the range of normal numbers come out as well.
HWY_INLINE FloatVector doubled(FloatVector x, FloatVector doublings) {
#if HWY_TARGET == HWY_AVX3
    return FloatVector{_mm512_maskz_scalef_ps(0xFFFF, x.raw, doublings.raw)};
#else
    const IntVector all = hn::NearestInt(doublings);
    const IntVector half = hn::ShiftRight<1>(all);
    return hn::Mul(hn::Mul(x, powerOfTwo(half)), powerOfTwo(hn::Sub(all, half)));
#endif
}

HWY_INLINE FloatVector exponential(FloatVector x) {
    const FloatVector low = hn::Set(kFloats, -104.0F);
    const FloatVector high = hn::Set(kFloats, 89.0F);
    const ReducedExponential reduced = reduceExponential(keepWithin(x, low, high));
    const FloatVector power = hn::Add(reduced.minusOne, hn::Set(kFloats, 1.0F));
    return doubled(power, reduced.doublings);
}

// A NaN stays one.
HWY_INLINE FloatVector keepNan(FloatVector x, FloatVector result) {
    return hn::IfThenElse(hn::Eq(x, x), result, x);
}

// e^x - 1 for x <= 0, near 0 as well.
HWY_INLINE FloatVector exponentialMinusOne(FloatVector x) {
    const FloatVector one = hn::Set(kFloats, 1.0F);
    const ReducedExponential reduced =
            reduceExponential(clampLanes(x, hn::Set(kFloats, -80.0F), hn::Zero(kFloats)));
    const FloatVector power = doubled(one, reduced.doublings);
    return keepNan(x, hn::MulAdd(power, reduced.minusOne, hn::Sub(power, one)));
}

HWY_INLINE FloatVector logistic(FloatVector x) {
    const FloatVector one = hn::Set(kFloats, 1.0F);
    return hn::Div(one, hn::Add(one, exponential(hn::Neg(x))));
}

// Half of erfc(x) for x >= 0, by Abramowitz and Stegun's 7.1.26, within 1e-7.
HWY_INLINE FloatVector halfErrorComplement(FloatVector x) {
    const auto set = [](float value) HWY_ATTR { return hn::Set(kFloats, value); };
    const FloatVector one = set(1.0F);
    const FloatVector t = hn::Div(one, hn::MulAdd(x, set(0.3275911F), one));
    FloatVector sum = set(0.5F * 1.061405429F);
    constexpr float kTerms[] = {-0.5F * 1.453152027F, 0.5F * 1.421413741F, -0.5F * 0.284496736F,
                                0.5F * 0.254829592F};
    HALYARD_UNROLL
    for (const float term : kTerms) {
        sum = hn::MulAdd(sum, t, set(term));
    }
    return hn::Mul(hn::Mul(sum, t), exponential(hn::Neg(hn::Mul(x, x))));
}

// The normal distribution's share below x: half of erfc(-x / sqrt(2)). Small shares come of no
// difference.
HWY_INLINE FloatVector normalShare(FloatVector x) {
    const FloatVector tail =
            halfErrorComplement(hn::Mul(hn::Abs(x), hn::Set(kFloats, 0.707106781F)));
    return hn::IfThenElse(hn::Lt(x, hn::Zero(kFloats)), tail,
                          hn::Sub(hn::Set(kFloats, 1.0F), tail));
}

// Within 3e-7; near 0, where the complement would leave few digits, the first terms of the series.
HWY_INLINE FloatVector errorFunction(FloatVector x) {
    const auto set = [](float value) HWY_ATTR { return hn::Set(kFloats, value); };
    const FloatVector size = hn::Abs(x);
    const FloatVector large = hn::NegMulAdd(set(2.0F), halfErrorComplement(size), set(1.0F));
    // 2 / sqrt(pi) times x - x^3 / 3 + x^5 / 10 - x^7 / 42 + x^9 / 216.
    const FloatVector square = hn::Mul(size, size);
    FloatVector sum = set(1.12837917F / 216.0F);
    for (const float term :
         {-1.12837917F / 42.0F, 1.12837917F / 10.0F, -1.12837917F / 3.0F, 1.12837917F}) {
        sum = hn::MulAdd(sum, square, set(term));
    }
    const FloatVector result = hn::IfThenElse(hn::Lt(size, set(0.25F)), hn::Mul(sum, size), large);
    return keepNan(x, hn::CopySign(result, x));
}

// The natural logarithm of normal numbers, less `doublings` * ln 2: x = 2^e * m, with m from
// sqrt(1/2) to sqrt(2), and log m by the series of the inverse hyperbolic tangent of
// (m - 1) / (m + 1), so that it is exact to a unit in the last place around 1 as well.
HWY_INLINE FloatVector logarithmOfNormal(FloatVector x, FloatVector doublings) {
    const auto set = [](float value) HWY_ATTR { return hn::Set(kFloats, value); };
    const IntVector root = hn::Set(kInts, 0x3F3504F3);  // the bits of sqrt(1/2)
    const IntVector bits = hn::BitCast(kInts, x);
    const IntVector exponent = hn::ShiftRight<23>(hn::Sub(bits, root));
    const FloatVector m = hn::BitCast(kFloats, hn::Sub(bits, hn::ShiftLeft<23>(exponent)));
    const FloatVector e = hn::Sub(hn::ConvertTo(kFloats, exponent), doublings);
    const FloatVector over = hn::Sub(m, set(1.0F));
    const FloatVector s = hn::Div(over, hn::Add(over, set(2.0F)));
    const FloatVector square = hn::Mul(s, s);
    FloatVector sum = set(2.0F / 11.0F);
    constexpr float kTerms[] = {2.0F / 9.0F, 2.0F / 7.0F, 2.0F / 5.0F, 2.0F / 3.0F};
    HALYARD_UNROLL
    for (const float term : kTerms) {
        sum = hn::MulAdd(sum, square, set(term));
    }
    // 2 s = over - s * over, without the rounding of s.
    const FloatVector rest = hn::Mul(s, hn::Sub(hn::Mul(square, sum), over));
    const FloatVector low = hn::MulAdd(e, set(0x1.7f7d1cp-20F), hn::Add(rest, over));
    return hn::MulAdd(e, set(0x1.62e4p-1F), low);
}

HWY_INLINE FloatVector logarithm(FloatVector x) {
    const auto set = [](float value) HWY_ATTR { return hn::Set(kFloats, value); };
    const FloatVector zero = hn::Zero(kFloats);
    const FloatVector infinity = set(std::numeric_limits<float>::infinity());
    const FloatVector least = set(std::numeric_limits<float>::min());
    if (HWY_LIKELY(hn::AllTrue(kFloats, hn::And(hn::Ge(x, least), hn::Lt(x, infinity))))) {
        return logarithmOfNormal(x, zero);
    }
    // Denormal numbers are made normal ones first.
    const auto isSmall = hn::Lt(x, least);
    FloatVector result = logarithmOfNormal(hn::IfThenElse(isSmall, hn::Mul(x, set(0x1p24F)), x),
                                           hn::IfThenElse(isSmall, set(24.0F), zero));
    result = hn::IfThenElse(hn::Eq(x, infinity), infinity, result);
    result = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), result);
    const FloatVector none = set(std::numeric_limits<float>::quiet_NaN());
    return keepNan(x, hn::IfThenElse(hn::Lt(x, zero), none, result));
}

// Within 6 units in the last place: x P(x^2) / Q(x^2), with the least relative error, 3e-8, up to
// 9.02, from where on the tangent is 1 as a float. No result is beyond 1.
HWY_INLINE FloatVector hyperbolicTangent(FloatVector x) {
    const auto set = [](float value) HWY_ATTR { return hn::Set(kFloats, value); };
    const FloatVector one = set(1.0F);
    const FloatVector minusOne = set(-1.0F);
    const FloatVector within = keepWithin(x, set(-9.02F), set(9.02F));
    const FloatVector square = hn::Mul(within, within);
    FloatVector above = set(1.33842973e-08F);
    constexpr float kAbove[] = {2.06358275e-05F, 0.00349745801F, 0.133826876F};
    HALYARD_UNROLL
    for (const float term : kAbove) {
        above = hn::MulAdd(above, square, set(term));
    }
    FloatVector below = set(7.79025193e-07F);
    constexpr float kBelow[] = {0.000328851788F, 0.0258843622F, 0.467160088F};
    HALYARD_UNROLL
    for (const float term : kBelow) {
        below = hn::MulAdd(below, square, set(term));
    }
    above = hn::Mul(within, hn::MulAdd(above, square, one));
    below = hn::MulAdd(below, square, one);
    return keepWithin(hn::Div(above, below), minusOne, one);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#endif
