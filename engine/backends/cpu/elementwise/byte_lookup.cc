// SPDX-License-Identifier: Apache-2.0
//
// Processors have instructions for tables of 64 bytes or so, which Highway has no word for.

#include "engine/backends/cpu/elementwise/byte_lookup.h"

#include "engine/backends/cpu/chunks.h"
#include "engine/backends/cpu/plain_kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace halyard::engine::cpu {
namespace {

void oneByOne(const ByteTable& table, const uint8_t* from, uint8_t* to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        to[i] = table[from[i]];
    }
}

#if defined(__x86_64__)

// Two instructions look up the lower 7 bits in a half of the table each; the eighth bit chooses.
[[gnu::target("avx512f,avx512bw,avx512vl,avx512vbmi")]] void withVbmi(const ByteTable& table,
                                                                      const uint8_t* from,
                                                                      uint8_t* to, int64_t count) {
    constexpr int64_t kLanes = 64;
    const __m512i first = _mm512_loadu_si512(table.data());
    const __m512i second = _mm512_loadu_si512(table.data() + kLanes);
    const __m512i third = _mm512_loadu_si512(table.data() + 2 * kLanes);
    const __m512i fourth = _mm512_loadu_si512(table.data() + 3 * kLanes);
    for (int64_t i = 0; i < count; i += kLanes) {
        const int64_t rest = count - i;
        const __mmask64 there = rest >= kLanes ? ~__mmask64{0} : (__mmask64{1} << rest) - 1;
        const __m512i x = _mm512_maskz_loadu_epi8(there, from + i);
        const __m512i low = _mm512_permutex2var_epi8(first, x, second);
        const __m512i high = _mm512_permutex2var_epi8(third, x, fourth);
        _mm512_mask_storeu_epi8(to + i, there,
                                _mm512_mask_blend_epi8(_mm512_movepi8_mask(x), low, high));
    }
}

bool hasVbmi() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512vbmi") != 0;
}

#elif defined(__aarch64__)

// An index beyond its 64 bytes leaves what the quarters before found.
void withTables(const ByteTable& table, const uint8_t* from, uint8_t* to, int64_t count) {
    constexpr int64_t kLanes = 16;
    uint8x16x4_t quarters[4];
    for (int i = 0; i < 4; ++i) {
        quarters[i] = vld1q_u8_x4(table.data() + 64 * i);
    }
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        uint8x16_t x = vld1q_u8(from + i);
        uint8x16_t y = vqtbl4q_u8(quarters[0], x);
        for (int quarter = 1; quarter < 4; ++quarter) {
            x = vsubq_u8(x, vdupq_n_u8(64));
            y = vqtbx4q_u8(y, quarters[quarter], x);
        }
        vst1q_u8(to + i, y);
    }
    oneByOne(table, from + i, to + i, count - i);
}

#endif

}  // namespace

LookUpBytes lookUpBytes([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
    static const bool kHasVbmi = hasVbmi();
    if (set >= InstructionSet::AVX512 && set < InstructionSet::NEON && kHasVbmi) {
        return withVbmi;
    }
#elif defined(__aarch64__)
    if (set >= InstructionSet::NEON) {
        return withTables;
    }
#endif
    return oneByOne;
}

Result<std::unique_ptr<const StepKernel>> byteLookupKernel(const KernelArguments& arguments,
                                                           const ByteTable& table,
                                                           InstructionSet set) {
    return plainKernel(arguments, toString(set),
                       [table, form = lookUpBytes(set)](KernelCall& call) {
                           const auto* from = call.input(0).as<uint8_t>();
                           auto* to = call.output(0).as<uint8_t>();
                           return forEachChunk(call, kChunk / 8, [&](int64_t first, int64_t count) {
                               form(table, from + first, to + first, count);
                           });
                       });
}

}  // namespace halyard::engine::cpu
