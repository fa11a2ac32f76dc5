// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/kernels/reversed_row.cc"
#include "engine/backends/cpu/vectors/targets.h"

#include "engine/backends/cpu/kernels/reversed_row.h"

#include <cstring>

#ifndef HALYARD_ENGINE_BACKENDS_CPU_REVERSED_ROW_CC_
#define HALYARD_ENGINE_BACKENDS_CPU_REVERSED_ROW_CC_
namespace halyard::engine::cpu {

struct ReverseRows {
    ReverseRow bytes, halfWords, words, doubleWords;
};

}  // namespace halyard::engine::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kBlock = 16;

// Blocks of 128 bits, whose bytes a table of all instruction sets reorders.
template <int64_t kSize>
void reverse(const std::byte* last, std::byte* to, int64_t count) {
    const hn::FixedTag<uint8_t, kBlock> tag;
    HWY_ALIGN uint8_t places[kBlock];
    for (int64_t i = 0; i < kBlock; ++i) {
        places[i] = static_cast<uint8_t>(kBlock - kSize - i / kSize * kSize + i % kSize);
    }
    const auto order = hn::Load(tag, places);
    constexpr int64_t kElements = kBlock / kSize;
    int64_t i = 0;
    for (; i + kElements <= count; i += kElements) {
        const auto* from = reinterpret_cast<const uint8_t*>(last - (i + kElements - 1) * kSize);
        hn::StoreU(hn::TableLookupBytes(hn::LoadU(tag, from), order), tag,
                   reinterpret_cast<uint8_t*>(to + i * kSize));
    }
    for (; i < count; ++i) {
        std::memcpy(to + i * kSize, last - i * kSize, kSize);
    }
}

}  // namespace

const ReverseRows* reverseRows() {
    static const ReverseRows kForms = {.bytes = reverse<1>,
                                       .halfWords = reverse<2>,
                                       .words = reverse<4>,
                                       .doubleWords = reverse<8>};
    return &kForms;
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {

ReverseRow reverseRow(size_t elementBytes, InstructionSet set) {
    const ReverseRows& forms = *HALYARD_CPU_CHOOSE(set, reverseRows)();
    switch (elementBytes) {
        case 1:
            return forms.bytes;
        case 2:
            return forms.halfWords;
        case 4:
            return forms.words;
        default:
            return forms.doubleWords;
    }
}

}  // namespace halyard::engine::cpu
#endif
