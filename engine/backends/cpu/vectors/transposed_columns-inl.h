// SPDX-License-Identifier: Apache-2.0
//
// Elements of neighbouring columns next to each other: for sources that targets.h compiles once for
// each instruction set.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_TRANSPOSED_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_TRANSPOSED_COLUMNS_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_TRANSPOSED_COLUMNS_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_TRANSPOSED_COLUMNS_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

// Rows that are transposed together: floats of a block of 128 bits.
constexpr int64_t kTransposedRows = 4;

// Blocks of every fourth column, as many as a vector has.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> blocksOfColumns(D d, const float* columns, ptrdiff_t apart) {
    namespace hn = hwy::HWY_NAMESPACE;
    if constexpr (hn::MaxLanes(d) == kTransposedRows) {
        return hn::LoadU(d, columns);
    } else {
        constexpr hn::Half<D> kHalf = {};
        const auto half = static_cast<ptrdiff_t>(hn::MaxLanes(kHalf));
        return hn::Combine(d, blocksOfColumns(kHalf, columns + half * apart, apart),
                           blocksOfColumns(kHalf, columns, apart));
    }
}

// rows[k][lane] = columns[lane * apart + k], of floats.
template <class D>
HWY_INLINE void transposeColumns(D d, const float* columns, ptrdiff_t apart,
                                 hwy::HWY_NAMESPACE::Vec<D> (&rows)[kTransposedRows]) {
    namespace hn = hwy::HWY_NAMESPACE;
    constexpr hn::Repartition<uint64_t, D> kPairs = {};
    const auto a = blocksOfColumns(d, columns, apart);
    const auto b = blocksOfColumns(d, columns + apart, apart);
    const auto c = blocksOfColumns(d, columns + 2 * apart, apart);
    const auto e = blocksOfColumns(d, columns + 3 * apart, apart);
    const auto lower = hn::BitCast(kPairs, hn::InterleaveLower(d, a, b));
    const auto lower2 = hn::BitCast(kPairs, hn::InterleaveLower(d, c, e));
    const auto upper = hn::BitCast(kPairs, hn::InterleaveUpper(d, a, b));
    const auto upper2 = hn::BitCast(kPairs, hn::InterleaveUpper(d, c, e));
    rows[0] = hn::BitCast(d, hn::InterleaveLower(kPairs, lower, lower2));
    rows[1] = hn::BitCast(d, hn::InterleaveUpper(kPairs, lower, lower2));
    rows[2] = hn::BitCast(d, hn::InterleaveLower(kPairs, upper, upper2));
    rows[3] = hn::BitCast(d, hn::InterleaveUpper(kPairs, upper, upper2));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#endif
