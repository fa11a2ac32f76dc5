// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/peak_loops.h"

#include <cstddef>
#include <span>

#include "engine/backends/cpu/vectors/instruction_set.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#include <sys/auxv.h>
#endif

namespace halyard::runner {

namespace {

// Enough sums side by side that none waits for the one before: two units, four to five cycles each.
constexpr int kSums = 12;

#if defined(__x86_64__) || defined(__aarch64__)
// An instruction for each of twelve sums, which the compiler has to keep in registers and can
// neither merge nor leave out: what goes in and out of each round passes the assembler.
#define HALYARD_PEAK_LOOP(NAME, TARGET, VECTOR, ZERO, STEP)                                        \
    TARGET void NAME(uint64_t rounds) {                                                            \
        VECTOR a = ZERO, b = a, c = a, d = a, e = a, f = a, g = a, h = a, i = a, j = a, k = a,     \
               l = a;                                                                              \
        VECTOR x = a, y = a;                                                                       \
        asm volatile("" : HALYARD_IN_REGISTER(x), HALYARD_IN_REGISTER(y));                         \
        for (uint64_t round = 0; round < rounds; ++round) {                                        \
            a = STEP(a, x, y), b = STEP(b, x, y), c = STEP(c, x, y), d = STEP(d, x, y);            \
            e = STEP(e, x, y), f = STEP(f, x, y), g = STEP(g, x, y), h = STEP(h, x, y);            \
            i = STEP(i, x, y), j = STEP(j, x, y), k = STEP(k, x, y), l = STEP(l, x, y);            \
            asm volatile(""                                                                        \
                         : HALYARD_IN_REGISTER(a), HALYARD_IN_REGISTER(b), HALYARD_IN_REGISTER(c), \
                           HALYARD_IN_REGISTER(d), HALYARD_IN_REGISTER(e), HALYARD_IN_REGISTER(f), \
                           HALYARD_IN_REGISTER(g), HALYARD_IN_REGISTER(h), HALYARD_IN_REGISTER(i), \
                           HALYARD_IN_REGISTER(j), HALYARD_IN_REGISTER(k),                         \
                           HALYARD_IN_REGISTER(l));                                                \
        }                                                                                          \
    }
#endif

#if defined(__x86_64__)
#define HALYARD_IN_REGISTER(V) "+v"(V)

#define HALYARD_FMA512(SUM, X, Y) _mm512_fmadd_ps(X, Y, SUM)
#define HALYARD_FMA256(SUM, X, Y) _mm256_fmadd_ps(X, Y, SUM)
#define HALYARD_DOT512(SUM, X, Y) _mm512_dpbusd_epi32(SUM, X, Y)
// A multiply-add of bytes without an instruction for it. Which values are multiplied does not
// matter, but that the sum is among them keeps products from being computed once for all.
#define HALYARD_DOT256(SUM, X, Y) \
    _mm256_add_epi32(SUM, _mm256_madd_epi16(_mm256_maddubs_epi16(SUM, Y), X))

HALYARD_PEAK_LOOP(fma512, __attribute__((target("avx512f"))), __m512, _mm512_setzero_ps(),
                  HALYARD_FMA512)
HALYARD_PEAK_LOOP(fma256, __attribute__((target("avx2,fma"))), __m256, _mm256_setzero_ps(),
                  HALYARD_FMA256)
HALYARD_PEAK_LOOP(dot512, __attribute__((target("avx512f,avx512vnni"))), __m512i,
                  _mm512_setzero_si512(), HALYARD_DOT512)
HALYARD_PEAK_LOOP(dot256, __attribute__((target("avx2"))), __m256i, _mm256_setzero_si256(),
                  HALYARD_DOT256)

// Products of tiles of 16 rows by 64 bytes with 64 by 16, on four sums. Bytes that differ: with
// zeros the processor is faster than it ever is with others.
void tiles(uint64_t rounds) {
    struct Configuration {
        uint8_t palette = 1;
        uint8_t rest[15] = {};
        uint16_t rowBytes[16] = {64, 64, 64, 64, 64, 64};
        uint8_t rows[16] = {16, 16, 16, 16, 16, 16};
    };
    static constexpr Configuration kConfiguration;
    alignas(64) uint8_t bytes[1024];
    uint32_t state = 1;
    for (uint8_t& byte : bytes) {
        state = state * 1664525 + 1013904223;
        byte = static_cast<uint8_t>(state >> 24);
    }
    constexpr ptrdiff_t kRow = 64;
    asm volatile(
            "ldtilecfg %2\n\t"
            "tilezero %%tmm0\n\t"
            "tilezero %%tmm1\n\t"
            "tilezero %%tmm2\n\t"
            "tilezero %%tmm3\n\t"
            "tileloadd (%0,%1,1), %%tmm4\n\t"
            "tileloadd (%0,%1,1), %%tmm5"
            :
            : "r"(bytes), "r"(kRow), "m"(kConfiguration)
            : "memory");
    for (uint64_t round = 0; round < rounds; ++round) {
        asm volatile(
                "tdpbusd %tmm5, %tmm4, %tmm0\n\t"
                "tdpbusd %tmm5, %tmm4, %tmm1\n\t"
                "tdpbusd %tmm5, %tmm4, %tmm2\n\t"
                "tdpbusd %tmm5, %tmm4, %tmm3");
    }
    asm volatile("tilerelease");
}

const PeakLoop kFloat32[] = {{"avx512f", fma512, 2.0 * kSums * 16},
                             {"fma", fma256, 2.0 * kSums * 8}};
const PeakLoop kInt8[] = {{"avx512amx", tiles, 2.0 * 4 * 16 * 16 * 64},
                          {"avx512vnni", dot512, 2.0 * kSums * 64},
                          {"avx2", dot256, 2.0 * kSums * 32}};

// __builtin_cpu_supports takes nothing but literals.
bool supports(const PeakLoop& loop) {
    if (loop.run == tiles) {
        using engine::cpu::InstructionSet;
        return engine::cpu::bestInstructionSet() == InstructionSet::AVX512_AMX;
    }
    if (loop.run == fma512) {
        return __builtin_cpu_supports("avx512f") != 0;
    }
    if (loop.run == fma256) {
        return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
    }
    return loop.run == dot512 ? __builtin_cpu_supports("avx512vnni") != 0
                              : __builtin_cpu_supports("avx2") != 0;
}
#elif defined(__aarch64__)
#define HALYARD_IN_REGISTER(V) "+w"(V)

#define HALYARD_FMA128(SUM, X, Y) vfmaq_f32(SUM, X, Y)
#define HALYARD_DOT128(SUM, X, Y) vdotq_s32(SUM, vreinterpretq_s8_s32(X), vreinterpretq_s8_s32(Y))
// Without dot products: two widening multiplications of eight bytes, and their sums by pairs.
#define HALYARD_PAIRS128(SUM, X, Y)                                                  \
    vpadalq_s16(SUM, vmlal_high_s8(vmull_s8(vget_low_s8(vreinterpretq_s8_s32(X)),    \
                                            vget_low_s8(vreinterpretq_s8_s32(SUM))), \
                                   vreinterpretq_s8_s32(X), vreinterpretq_s8_s32(SUM)))

HALYARD_PEAK_LOOP(fma128, , float32x4_t, vdupq_n_f32(0), HALYARD_FMA128)
HALYARD_PEAK_LOOP(dot128, __attribute__((target("arch=armv8.2-a+dotprod"))), int32x4_t,
                  vdupq_n_s32(0), HALYARD_DOT128)
HALYARD_PEAK_LOOP(pairs128, , int32x4_t, vdupq_n_s32(0), HALYARD_PAIRS128)

const PeakLoop kFloat32[] = {{"neon", fma128, 2.0 * kSums * 4}};
const PeakLoop kInt8[] = {{"dotprod", dot128, 2.0 * kSums * 16},
                          {"neon", pairs128, 2.0 * kSums * 16}};

bool supports(const PeakLoop& loop) {
    constexpr unsigned long kDotProduct = 1UL << 20;  // HWCAP_ASIMDDP
    return loop.run != dot128 || (getauxval(AT_HWCAP) & kDotProduct) != 0;
}
#else
constexpr std::span<const PeakLoop> kFloat32;
constexpr std::span<const PeakLoop> kInt8;

bool supports(const PeakLoop& /*loop*/) {
    return false;
}
#endif

const PeakLoop* firstSupported(std::span<const PeakLoop> loops) {
    for (const PeakLoop& loop : loops) {
        if (supports(loop)) {
            return &loop;
        }
    }
    return nullptr;
}

}  // namespace

const PeakLoop* findFloat32Loop() {
    return firstSupported(kFloat32);
}

const PeakLoop* findInt8Loop() {
    return firstSupported(kInt8);
}

}  // namespace halyard::runner
