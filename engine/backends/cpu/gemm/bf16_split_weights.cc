// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/gemm/bf16_split_weights.cc"
#include "engine/backends/cpu/vectors/targets.h"
// Read for each instruction set.
#include "engine/backends/cpu/gemm/hi_lo_split-inl.h"
#include "engine/backends/cpu/vectors/transposed_columns-inl.h"

#include <algorithm>

#include "engine/backends/cpu/gemm/bf16_split_block.h"
#include "engine/backends/cpu/gemm/bf16_split_weights.h"
#include "engine/backends/cpu/gemm/panel_columns.h"

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Prepare time is spent here.
template <int kParts>
class Bf16SplitWeights {
  public:
    static void split(const PanelColumns<float>& columns, std::byte* to) {
        auto* words = reinterpret_cast<uint32_t*>(to);
        const int64_t whole =
                columns.count == kTileColumns ? columns.depth / kSplitDepth * kSplitDepth : 0;
        for (int64_t k = 0; k < whole; k += kSplitDepth, words += kParts * kTileWords) {
            for (int64_t lane = 0; lane < kTileColumns; ++lane) {
                fetchColumn(columns.first + lane * columns.apart + k,
                            kSplitDepth * int64_t{sizeof(float)});
            }
            splitStep(columns.first + k, columns.apart, words);
        }
        for (int64_t k = whole; k < columns.depth; k += kSplitDepth, words += kParts * kTileWords) {
            float some[kTileColumns * kSplitDepth] = {};
            const int64_t count = std::min(kSplitDepth, columns.depth - k);
            for (int64_t lane = 0; lane < columns.count; ++lane) {
                std::copy_n(columns.first + lane * columns.apart + k, count,
                            some + lane * kSplitDepth);
            }
            splitStep(some, kSplitDepth, words);
        }
    }

  private:
    using Floats = hn::CappedTag<float, kTileColumns>;
    using Vector = hn::Vec<Floats>;
    static constexpr Floats kFloats = {};
    static constexpr int64_t kHalfStep = kSplitDepth / 2;
    static constexpr int64_t kTileWords = kTileBytes / int64_t{sizeof(uint32_t)};

    // Of columns that lie so far apart.
    static HWY_INLINE void splitStep(const float* columns, ptrdiff_t apart, uint32_t* to) {
        for (int64_t k = 0; k < kHalfStep; k += kTransposedRows) {
            for (int64_t lane = 0; lane < kTileColumns; lane += lanes()) {
                const float* const from = columns + lane * apart + k;
                Vector lower[kTransposedRows];
                Vector upper[kTransposedRows];
                transposeColumns(kFloats, from, apart, lower);
                transposeColumns(kFloats, from + kHalfStep, apart, upper);
                HALYARD_UNROLL
                for (int64_t row = 0; row < kTransposedRows; ++row) {
                    storeParts<kParts>(lower[row], upper[row], kTileWords,
                                       to + (k + row) * kTileColumns + lane);
                }
            }
        }
    }

    static int64_t lanes() { return static_cast<int64_t>(hn::Lanes(kFloats)); }
};

}  // namespace

void splitPanel(const PanelColumns<float>& columns, int parts, std::byte* to) {
    if (parts == 2) {
        Bf16SplitWeights<2>::split(columns, to);
    } else {
        Bf16SplitWeights<1>::split(columns, to);
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {

void splitColumns(const PanelColumns<float>& columns, int parts, InstructionSet set,
                  std::byte* to) {
    HALYARD_CPU_CHOOSE(set, splitPanel)(columns, parts, to);
}

}  // namespace halyard::engine::cpu
#endif
