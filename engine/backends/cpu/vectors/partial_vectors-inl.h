// SPDX-License-Identifier: Apache-2.0
//
// Loads and stores of the first lanes of a vector, which touch no memory behind them: a tensor may
// end where a page does, and what follows may be another thread's. Highway's own do so only where
// the processor has masked ones.

#if defined(HALYARD_ENGINE_BACKENDS_CPU_PARTIAL_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_PARTIAL_VECTORS_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_PARTIAL_VECTORS_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_PARTIAL_VECTORS_INL_H_
#endif

#include <cstddef>
#include <cstring>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {

// Whether the processor masks elements of so many bytes.
template <size_t kBytes>
constexpr bool kMasksMemory = HWY_TARGET == HWY_AVX3 || (HWY_TARGET == HWY_AVX2 && kBytes >= 4);

// The first `count` elements, and zeros behind them. `count` is at most the number of lanes.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> loadFirst(D d, const hwy::HWY_NAMESPACE::TFromD<D>* from,
                                                size_t count) {
    namespace hn = hwy::HWY_NAMESPACE;
    using T = hn::TFromD<D>;
    if (count == hn::Lanes(d)) {
        return hn::LoadU(d, from);
    }
    if constexpr (kMasksMemory<sizeof(T)>) {
        return hn::MaskedLoad(hn::FirstN(d, count), d, from);
    } else {
        HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(T)] = {};
        std::memcpy(lanes, from, count * sizeof(T));
        return hn::Load(d, lanes);
    }
}

template <class D>
HWY_INLINE void storeFirst(hwy::HWY_NAMESPACE::Vec<D> values, D d,
                           hwy::HWY_NAMESPACE::TFromD<D>* to, size_t count) {
    namespace hn = hwy::HWY_NAMESPACE;
    using T = hn::TFromD<D>;
    if (count == hn::Lanes(d)) {
        hn::StoreU(values, d, to);
        return;
    }
    if constexpr (kMasksMemory<sizeof(T)>) {
        hn::BlendedStore(values, hn::FirstN(d, count), d, to);
    } else {
        HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(T)];
        hn::Store(values, d, lanes);
        std::memcpy(to, lanes, count * sizeof(T));
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#endif
