// SPDX-License-Identifier: Apache-2.0
//
// Processors have instructions for tables of 64 bytes or so, which Highway has no word for.

#include "engine/backends/cpu/elementwise/byte_lookup.h"

#include <iterator>
#include <numeric>

#include "engine/backends/cpu/kernels/chunks.h"
#include "engine/backends/cpu/kernels/plain_kernel.h"

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

uint64_t sumOneByOne(const NumberTable& table, const uint8_t* from, int64_t count) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < count; ++i) {
        sum += table.numbers[from[i]];
    }
    return sum;
}

#if defined(__x86_64__)

#define HALYARD_VBMI [[gnu::target("avx512f,avx512bw,avx512vl,avx512vbmi")]]

constexpr int64_t kVbmiLanes = 64;

HALYARD_VBMI inline __mmask64 vbmiLanesOf(int64_t count) {
    return count >= kVbmiLanes ? ~__mmask64{0} : (__mmask64{1} << count) - 1;
}

struct VbmiTable {
    __m512i quarters[4];

    HALYARD_VBMI explicit VbmiTable(const ByteTable& table) {
        for (int i = 0; i < 4; ++i) {
            quarters[i] = _mm512_loadu_si512(table.data() + i * kVbmiLanes);
        }
    }
    // Two instructions look up the lower 7 bits in a half of the table each; the eighth bit
    // chooses.
    HALYARD_VBMI __m512i operator[](__m512i x) const {
        const __m512i low = _mm512_permutex2var_epi8(quarters[0], x, quarters[1]);
        const __m512i high = _mm512_permutex2var_epi8(quarters[2], x, quarters[3]);
        return _mm512_mask_blend_epi8(_mm512_movepi8_mask(x), low, high);
    }
};

HALYARD_VBMI void lookUpWithVbmi(const ByteTable& table, const uint8_t* from, uint8_t* to,
                                 int64_t count) {
    const VbmiTable values(table);
    for (int64_t i = 0; i < count; i += kVbmiLanes) {
        const __mmask64 there = vbmiLanesOf(count - i);
        const __m512i x = _mm512_maskz_loadu_epi8(there, from + i);
        _mm512_mask_storeu_epi8(to + i, there, values[x]);
    }
}

// Bytes of the numbers are summed apart, eight lanes to a sum.
HALYARD_VBMI uint64_t sumWithVbmi(const NumberTable& table, const uint8_t* from, int64_t count) {
    const VbmiTable bytes[4] = {VbmiTable(table.bytes[0]), VbmiTable(table.bytes[1]),
                                VbmiTable(table.bytes[2]), VbmiTable(table.bytes[3])};
    const __m512i zero = _mm512_setzero_si512();
    __m512i sums[4] = {zero, zero, zero, zero};
    for (int64_t i = 0; i < count; i += kVbmiLanes) {
        const __mmask64 there = vbmiLanesOf(count - i);
        const __m512i x = _mm512_maskz_loadu_epi8(there, from + i);
        for (int j = 0; j < 4; ++j) {
            const __m512i looked = _mm512_maskz_mov_epi8(there, bytes[j][x]);
            sums[j] = _mm512_add_epi64(sums[j], _mm512_sad_epu8(looked, zero));
        }
    }
    uint64_t sum = 0;
    for (int j = 0; j < 4; ++j) {
        alignas(64) uint64_t lanes[8];
        _mm512_store_si512(lanes, sums[j]);
        sum += std::accumulate(std::begin(lanes), std::end(lanes), uint64_t{0}) << (8 * j);
    }
    return sum;
}

bool hasVbmi(InstructionSet set) {
    static const bool kHasVbmi = [] {
        __builtin_cpu_init();
        return __builtin_cpu_supports("avx512vbmi") != 0;
    }();
    return set >= InstructionSet::AVX512 && set < InstructionSet::NEON && kHasVbmi;
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
    if (hasVbmi(set)) {
        return lookUpWithVbmi;
    }
#elif defined(__aarch64__)
    if (set >= InstructionSet::NEON) {
        return withTables;
    }
#endif
    return oneByOne;
}

NumberTable::NumberTable(const std::array<uint32_t, 256>& all) : numbers(all) {
    for (size_t i = 0; i < bytes.size(); ++i) {
        for (size_t j = 0; j < all.size(); ++j) {
            bytes[i][j] = static_cast<uint8_t>(all[j] >> (8 * i));
        }
    }
}

SumNumbers sumNumbers([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
    if (hasVbmi(set)) {
        return sumWithVbmi;
    }
#endif
    return sumOneByOne;
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
