// SPDX-License-Identifier: Apache-2.0
//
// Floats kept between bounds, for sources that targets.h compiles once for each instruction set.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_BOUNDS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_BOUNDS_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_BOUNDS_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_BOUNDS_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {

// NaN stays NaN. Of Highway's Max() and Min() that is not said: on x86 they give the
// second operand then, and on NEON the number among both.
template <class V>
HWY_INLINE V keepWithin(V value, V low, V high) {
    namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET == HWY_NEON
    return V(vminq_f32(vmaxq_f32(value.raw, low.raw), high.raw));
#else
    return hn::Min(high, hn::Max(low, value));
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#endif
