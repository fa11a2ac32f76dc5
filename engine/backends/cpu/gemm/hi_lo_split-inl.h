// SPDX-License-Identifier: Apache-2.0
//
// Floats in the parts that bf16_split_block.h says: for sources that targets.h compiles once for
// each instruction set.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_SPLIT_PARTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_SPLIT_PARTS_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_SPLIT_PARTS_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_SPLIT_PARTS_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

// Pairs of a's and b's parts, a's in the lower half of a word: those of each part `apart` words
// behind those of the one before. What adding half of the last place carries over rounds ties away
// from zero.
template <int kParts, class V>
HWY_INLINE void storeParts(V a, V b, ptrdiff_t apart, uint32_t* to) {
    namespace hn = hwy::HWY_NAMESPACE;
    constexpr hn::DFromV<V> kFloats = {};
    constexpr hn::RebindToUnsigned<hn::DFromV<V>> kWords = {};
    const auto upper = hn::Set(kWords, 0xFFFF0000U);
    const auto half = hn::Set(kWords, 0x8000U);
    HALYARD_UNROLL
    for (int part = 0; part < kParts; ++part) {
        const auto next = hn::And(hn::Add(hn::BitCast(kWords, a), half), upper);
        const auto next2 = hn::And(hn::Add(hn::BitCast(kWords, b), half), upper);
        hn::StoreU(hn::Or(hn::ShiftRight<16>(next), next2), kWords, to + part * apart);
        a = hn::Sub(a, hn::BitCast(kFloats, next));
        b = hn::Sub(b, hn::BitCast(kFloats, next2));
    }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#endif
