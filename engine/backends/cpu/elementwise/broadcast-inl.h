// SPDX-License-Identifier: Apache-2.0
//
// Going along the rows of broadcast.h in vectors: for sources that targets.h compiles once for each
// instruction set.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_BROADCAST_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_BROADCAST_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_BROADCAST_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_BROADCAST_INL_H_
#endif

#include "engine/backends/cpu/elementwise/broadcast.h"
#include "engine/backends/cpu/vectors/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

// store(combined(load(a), load(b))) for each vector of a row of T that becomes one of To.
template <typename T, typename To, typename Load, typename Combined, typename Store>
HWY_INLINE void combineRow(const CombinedRow& row, Load load, Combined combined, Store store) {
    const auto* a = static_cast<const T*>(row.a);
    const auto* b = static_cast<const T*>(row.b);
    auto* to = static_cast<To*>(row.to);
    const auto repeated = [&](const T* element) HWY_ATTR {
        const auto first = load(element, Some{.count = 1});
        return hn::Set(hn::DFromV<decltype(first)>(), hn::GetLane(first));
    };
    if (row.repeatsA) {
        const auto same = repeated(a);
        forEachVector(row.count, [&](int64_t i, auto there) HWY_ATTR {
            store(combined(same, load(b + i, there)), to + i, there);
        });
    } else if (row.repeatsB) {
        const auto same = repeated(b);
        forEachVector(row.count, [&](int64_t i, auto there) HWY_ATTR {
            store(combined(load(a + i, there), same), to + i, there);
        });
    } else {
        forEachVector(row.count, [&](int64_t i, auto there) HWY_ATTR {
            store(combined(load(a + i, there), load(b + i, there)), to + i, there);
        });
    }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#endif
