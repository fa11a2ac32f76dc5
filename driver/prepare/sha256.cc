// SPDX-License-Identifier: Apache-2.0

#include "driver/prepare/sha256.h"

#include <algorithm>
#include <bit>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace halyard::driver {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes (4.2.2).
alignas(16) constexpr std::array<uint32_t, 64> kConstants = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
        0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
        0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
        0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
        0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
        0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
        0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
        0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
        0xc67178f2};

uint32_t bigEndian(const uint8_t* at) {
    return uint32_t{at[0]} << 24U | uint32_t{at[1]} << 16U | uint32_t{at[2]} << 8U | at[3];
}

// 6.2.2, with a schedule of the last 16 words.
void compressPortably(Sha256::State& state, std::span<const uint8_t> blocks) {
    for (; !blocks.empty(); blocks = blocks.subspan(Sha256::kBlock)) {
        std::array<uint32_t, 16> w = {};
        auto [a, b, c, d, e, f, g, h] = state;
        for (size_t t = 0; t < kConstants.size(); ++t) {
            uint32_t& word = w[t % 16];
            if (t < 16) {
                word = bigEndian(blocks.data() + 4 * t);
            } else {
                const uint32_t near = w[(t - 2) % 16];
                const uint32_t far = w[(t - 15) % 16];
                word += (std::rotr(near, 17) ^ std::rotr(near, 19) ^ near >> 10U) +
                        w[(t - 7) % 16] + (std::rotr(far, 7) ^ std::rotr(far, 18) ^ far >> 3U);
            }
            const uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                                   ((e & f) ^ (~e & g)) + kConstants[t] + word;
            const uint32_t second = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) +
                                    ((a & b) ^ (a & c) ^ (b & c));
            h = g;
            g = f;
            f = e;
            e = d + first;
            d = c;
            c = b;
            b = a;
            a = first + second;
        }
        const Sha256::State worked = {a, b, c, d, e, f, g, h};
        for (size_t i = 0; i < state.size(); ++i) {
            state[i] += worked[i];
        }
    }
}

#if defined(__x86_64__)

__m128i load(const void* at) {
    return _mm_loadu_si128(static_cast<const __m128i*>(at));
}

// Intel's SHA extensions have the state in two registers, A B E F and C D G H from the top down,
// and work on four words of the schedule at a time.
__attribute__((target("sha,sse4.1"))) void compressBySha(Sha256::State& state,
                                                         std::span<const uint8_t> blocks) {
    const __m128i toBigEndian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    const __m128i cdab = _mm_shuffle_epi32(load(state.data()), 0xb1);
    const __m128i efgh = _mm_shuffle_epi32(load(state.data() + 4), 0x1b);
    __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
    __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
    for (; !blocks.empty(); blocks = blocks.subspan(Sha256::kBlock)) {
        const __m128i abefBefore = abef;
        const __m128i cdghBefore = cdgh;
        __m128i w[4];
        for (size_t i = 0; i < 16; ++i) {
            __m128i& words = w[i % 4];
            if (i < 4) {
                words = _mm_shuffle_epi8(load(blocks.data() + 16 * i), toBigEndian);
            } else {
                const __m128i last = w[(i + 3) % 4];
                const __m128i sevenBack = _mm_alignr_epi8(last, w[(i + 2) % 4], 4);
                words = _mm_sha256msg2_epu32(
                        _mm_add_epi32(_mm_sha256msg1_epu32(words, w[(i + 1) % 4]), sevenBack),
                        last);
            }
            const __m128i sums = _mm_add_epi32(words, load(kConstants.data() + 4 * i));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sums);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sums, 0x0e));
        }
        abef = _mm_add_epi32(abef, abefBefore);
        cdgh = _mm_add_epi32(cdgh, cdghBefore);
    }
    const __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
    const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data()), _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data() + 4), _mm_alignr_epi8(dchg, feba, 8));
}

bool hasInstructions() {
    constexpr unsigned kOlder = bit_SSSE3 | bit_SSE4_1;
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & kOlder) == kOlder &&
           __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_SHA) != 0;
}

#elif defined(__aarch64__)

#if defined(__clang__)
#define HALYARD_SHA2 __attribute__((target("sha2")))
#else
#define HALYARD_SHA2 __attribute__((target("+crypto")))
#endif

HALYARD_SHA2 void compressBySha(Sha256::State& state, std::span<const uint8_t> blocks) {
    uint32x4_t abcd = vld1q_u32(state.data());
    uint32x4_t efgh = vld1q_u32(state.data() + 4);
    for (; !blocks.empty(); blocks = blocks.subspan(Sha256::kBlock)) {
        const uint32x4_t abcdBefore = abcd;
        const uint32x4_t efghBefore = efgh;
        uint32x4_t w[4];
        for (size_t i = 0; i < 16; ++i) {
            uint32x4_t& words = w[i % 4];
            if (i < 4) {
                words = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(blocks.data() + 16 * i)));
            } else {
                words = vsha256su1q_u32(vsha256su0q_u32(words, w[(i + 1) % 4]), w[(i + 2) % 4],
                                        w[(i + 3) % 4]);
            }
            const uint32x4_t sums = vaddq_u32(words, vld1q_u32(kConstants.data() + 4 * i));
            const uint32x4_t abcdOfStep = abcd;
            abcd = vsha256hq_u32(abcd, efgh, sums);
            efgh = vsha256h2q_u32(efgh, abcdOfStep, sums);
        }
        abcd = vaddq_u32(abcd, abcdBefore);
        efgh = vaddq_u32(efgh, efghBefore);
    }
    vst1q_u32(state.data(), abcd);
    vst1q_u32(state.data() + 4, efgh);
}

bool hasInstructions() {
    return (getauxval(AT_HWCAP) & HWCAP_SHA2) != 0;
}

#else

constexpr Sha256::Compress compressBySha = &compressPortably;

bool hasInstructions() {
    return false;
}

#endif

}  // namespace

Sha256::Compress Sha256::portable() {
    return &compressPortably;
}

Sha256::Compress Sha256::fastest() {
    static const Compress compress = hasInstructions() ? &compressBySha : &compressPortably;
    return compress;
}

void Sha256::add(std::span<const uint8_t> bytes) {
    const size_t filled = mLength % kBlock;
    mLength += bytes.size();
    if (filled > 0) {
        const size_t taken = std::min(bytes.size(), kBlock - filled);
        std::ranges::copy(bytes.first(taken), mRest.begin() + static_cast<ptrdiff_t>(filled));
        if (filled + taken < kBlock) {
            return;
        }
        mCompress(mState, mRest);
        bytes = bytes.subspan(taken);
    }
    const size_t whole = bytes.size() / kBlock * kBlock;
    mCompress(mState, bytes.first(whole));
    std::ranges::copy(bytes.subspan(whole), mRest.begin());
}

Sha256::Digest Sha256::finish() {
    // 5.1.1: a bit of one, zeros, and the length in bits, which end a block together.
    std::array<uint8_t, 2 * kBlock> padding = {0x80};
    const size_t filled = mLength % kBlock;
    const size_t end = filled < kBlock - 8 ? kBlock - filled : 2 * kBlock - filled;
    const uint64_t bits = mLength * 8;
    for (size_t i = 0; i < 8; ++i) {
        padding[end - 1 - i] = static_cast<uint8_t>(bits >> 8U * i);
    }
    add(std::span(padding).first(end));
    Digest digest = {};
    for (size_t i = 0; i < digest.size(); ++i) {
        digest[i] = static_cast<uint8_t>(mState[i / 4] >> (24U - 8U * (i % 4)));
    }
    return digest;
}

}  // namespace halyard::driver
