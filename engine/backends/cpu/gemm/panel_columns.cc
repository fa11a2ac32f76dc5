// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/gemm/panel_columns.cc"
#include "engine/backends/cpu/vectors/targets.h"
// Read for each instruction set.
#include "engine/backends/cpu/vectors/lanes-inl.h"
#include "engine/backends/cpu/vectors/transposed_columns-inl.h"

#include <functional>

#include "engine/backends/cpu/gemm/panel_columns.h"

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {

void layFloatColumns(const PanelColumns<float>& columns, float* to) {
    // A line of each column at a time.
    constexpr int64_t kAtOnce = 16;
    const auto lanes = static_cast<int64_t>(hn::Lanes(kFloats));
    const int64_t whole = columns.count == lanes ? columns.depth / kAtOnce * kAtOnce : 0;
    for (int64_t first = 0; first < whole; first += kAtOnce) {
        for (int64_t column = 0; column < lanes; ++column) {
            fetchColumn(columns.first + column * columns.apart + first,
                        kAtOnce * int64_t{sizeof(float)});
        }
        for (int64_t k = first; k < first + kAtOnce; k += kTransposedRows) {
            FloatVector rows[kTransposedRows];
            transposeColumns(kFloats, columns.first + k, columns.apart, rows);
            HALYARD_UNROLL
            for (int64_t row = 0; row < kTransposedRows; ++row) {
                hn::StoreU(rows[row], kFloats, to + (k + row) * lanes);
            }
        }
    }
    layColumns(columns, whole, lanes, to, std::identity());
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {

void layFloats(const PanelColumns<float>& columns, InstructionSet set, int64_t lanes, float* to) {
    // A program can be built for processors that this one is not.
    if (isAvailable(set)) {
        HALYARD_CPU_CHOOSE(set, layFloatColumns)(columns, to);
    } else {
        layColumns(columns, 0, lanes, to, std::identity());
    }
}

}  // namespace halyard::engine::cpu
#endif
