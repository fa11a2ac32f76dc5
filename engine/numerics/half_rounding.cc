// SPDX-License-Identifier: Apache-2.0

#include "engine/numerics/half_rounding.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <algorithm>
#include <cmath>

namespace halyard::engine {
namespace {

constexpr uint16_t kMagnitude = 0x7fff;
constexpr uint16_t kInfinity = 0x7c00;

// Rounds as many of the first elements as come in whole vectors, and says how many. `isInfinite`
// becomes true where one of them is infinity afterwards.
#if defined(__aarch64__)
int64_t roundVectors(const float* from, int64_t count, Half* to, bool& isInfinite) {
    constexpr int64_t kAtOnce = 16;
    const int64_t whole = count / kAtOnce * kAtOnce;
    const uint16x8_t magnitude = vdupq_n_u16(kMagnitude);
    const uint16x8_t infinity = vdupq_n_u16(kInfinity);
    uint16x8_t seen = vdupq_n_u16(0);
    for (int64_t i = 0; i < whole; i += kAtOnce) {
        const float16x8_t halves[2] = {
                vcvt_high_f16_f32(vcvt_f16_f32(vld1q_f32(from + i)), vld1q_f32(from + i + 4)),
                vcvt_high_f16_f32(vcvt_f16_f32(vld1q_f32(from + i + 8)), vld1q_f32(from + i + 12))};
        for (int64_t j = 0; j < 2; ++j) {
            const uint16x8_t bits = vreinterpretq_u16_f16(halves[j]);
            seen = vorrq_u16(seen, vceqq_u16(vandq_u16(bits, magnitude), infinity));
            vst1q_u16(reinterpret_cast<uint16_t*>(to + i + j * 8), bits);
        }
    }
    isInfinite = vmaxvq_u16(seen) != 0;
    return whole;
}
#else
int64_t roundVectors(const float* /*from*/, int64_t /*count*/, Half* /*to*/, bool& /*isInfinite*/) {
    return 0;
}
#endif

}  // namespace

bool roundToHalves(const float* from, int64_t count, Half* to) {
    bool isInfinite = false;
    for (int64_t i = roundVectors(from, count, to, isInfinite); i < count; ++i) {
        to[i] = toHalf(from[i]);
        isInfinite = isInfinite || (to[i].bits & kMagnitude) == kInfinity;
    }
    // Infinities that were some before are few, if there are any.
    return !isInfinite || std::none_of(from, from + count, [](float value) {
        return std::isfinite(value) && (toHalf(value).bits & kMagnitude) == kInfinity;
    });
}

}  // namespace halyard::engine
