// SPDX-License-Identifier: Apache-2.0
//
// Instructions that a device has beyond OpenCL C. What a kernel that uses them does to a device
// that lacks them nobody says, so that each is tried first: in the compiler's process, with a check
// of what it computes.

#pragma once

#include <string>
#include <string_view>

#include "engine/backends/gpu/device/device.h"
#include "engine/backends/gpu/programs/programs.h"
#include "engine/plan/blobs.h"

namespace halyard::engine::gpu {

// All of them are NVIDIA's, as inline PTX.
struct Instructions {
    bool emulated = false;        // as the items of a group can do it by themselves: for tests
    bool dp4a = false;            // four products of bytes, and their sum
    bool copiesOfFloats = false;  // from global to local memory, while items go on
    bool halfMma = false;         // of float16, with sums of float32
    bool tf32Mma = false;         // of float32, whose factors are rounded to eleven bits
    bool int8Mma = false;         // of 8 bits, signed or not

    // Whether rows can go to local memory by themselves, so that groups may share a tile.
    bool copies() const { return copiesOfFloats || halfMma || tf32Mma || int8Mma; }
    bool any() const { return dp4a || copies(); }
    // For texts of kernels.
    std::string defines() const;
};

// What products a model has.
struct GemmTypes {
    bool bytes = false;
    bool halves = false;
    bool tf32 = false;
    bool exactFloats = false;
};

// What the trials have shown, of this process or of one that has kept it, for these types.
Instructions instructionsOf(const GemmTypes& types, const DeviceFacts& facts, Programs& programs,
                            const Blobs& blobs);

// Stands behind kVectorLoadText. Where MATRIX is defined: MATRIX_MULTIPLY(sum, x0, x1, x2, x3, w0,
// w1) adds products of 16 rows by 8 of 8 words each to sums that the 32 items of a warp have
// together. With four = item % 32 / 4 and word = item % 4, x0 is word `word` of row `four`, x1 of
// the row 8 further, x2 and x3 are the words 4 further of the two, w0 and w1 the words `word` and 4
// further of row `four` of w. The item's sums are those of row `four` of x by rows 2 * word and the
// next of w, and of the row 8 further by the same. FACTOR(word) is a word as it takes part.
//
// LOAD_FOUR(a, b, c, d, from) loads four matrices of 8 rows by 4 words each from local memory, of
// which each item gets word `word` of row `four`; eight items each tell where the rows of one are,
// by LOCAL_ADDRESS(). LOAD_TWO does so for two, and heeds the first 16 items alone.
//
// Where ASYNC_COPY is defined: COPY_ASYNC(to, from, is_there, otherwise) copies a Vector from
// global to local memory, of which `to` is a LOCAL_ADDRESS(), while the item goes on, or makes it
// one of words `otherwise`. Copies until COMMIT_STAGE() are a round; WAIT_FOR_STAGES(but) waits for
// all rounds but the latest so many. FENCE() keeps what the item writes to global memory in its
// order.
//
// With EMULATED items do without such instructions: they hand each other words through EXCHANGE,
// which a kernel has behind its parameters, so that all items of a group have to be at it together.
inline constexpr std::string_view kMatrixText = R"(
#if !defined(EMULATED) || !defined(MATRIX)
#define EXCHANGE
#endif

#if defined(ASYNC_COPY) || defined(MATRIX)
#ifdef EMULATED
#define LocalAddress size_t
#define LOCAL_ADDRESS(pointer) (size_t)(pointer)
#else
#define LocalAddress uint
#define LOCAL_ADDRESS(pointer) (uint)(size_t)(pointer)
#endif
#endif

#ifdef ASYNC_COPY
#ifdef EMULATED
#define COPY_ASYNC(to, from, is_there, otherwise)                                                       \
    for (int w = 0; w < VECTOR_WORDS; ++w) {                                                      \
        ((__local uint*)(to))[w] = (is_there) ? ((const __global uint*)(from))[w] : (otherwise);  \
    }
#define COMMIT_STAGE()
#define WAIT_FOR_STAGES(but)
#define FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)
#else
#if VECTOR_WORDS == 4
#define COPY_INSTRUCTION "cp.async.cg.shared.global [%0], [%1], 16;"
#define STORE_INSTRUCTION "st.shared.v4.b32 [%0], {%3, %3, %3, %3};"
#elif VECTOR_WORDS == 2
#define COPY_INSTRUCTION "cp.async.ca.shared.global [%0], [%1], 8;"
#define STORE_INSTRUCTION "st.shared.v2.b32 [%0], {%3, %3};"
#else
#define COPY_INSTRUCTION "cp.async.ca.shared.global [%0], [%1], 4;"
#define STORE_INSTRUCTION "st.shared.b32 [%0], %3;"
#endif
// Without a branch, so that what follows need not wait.
#define COPY_ASYNC(to, from, is_there, otherwise) \
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p " COPY_INSTRUCTION \
                 " @!p " STORE_INSTRUCTION " }" \
                 : : "r"(to), "l"((size_t)(from)), "r"((int)(is_there)), "r"((uint)(otherwise)) \
                 : "memory")
#define COMMIT_STAGE() asm volatile("cp.async.commit_group;" : : : "memory")
#define WAIT_FOR_STAGES(but) asm volatile("cp.async.wait_group %0;" : : "n"(but) : "memory")

// What this item has written to global memory is there for whoever sees what it writes next.
#define FENCE() asm volatile("membar.gl;" : : : "memory")
#endif
#endif

#ifdef MATRIX
#if PACK == 1
#define ROUNDS_FACTORS 1
#endif
#ifdef EMULATED
#define EXCHANGE                        \
    __local uint words_of[6][WORK_ITEMS]; \
    __local size_t rows_of[WORK_ITEMS]
#if PACK == 2
float word_sum(const float sum, const uint x, const uint w) {
    const half* const xs = (const half*)&x;
    const half* const ws = (const half*)&w;
    return sum + vload_half(0, xs) * vload_half(0, ws) + vload_half(1, xs) * vload_half(1, ws);
}
#else
#define word_sum(sum, x, w) WORD_SUM(sum, x, w)
#endif
#define MY_LANE (int)get_local_id(0)
#define WORD_OF(register, row, k) words_of[register][MY_LANE / 32 * 32 + (row) * 4 + (k) % 4]
#define MATRIX_MULTIPLY(sum, x0, x1, x2, x3, w0, w1)                                      \
    barrier(CLK_LOCAL_MEM_FENCE);                                                         \
    words_of[0][MY_LANE] = x0;                                                            \
    words_of[1][MY_LANE] = x1;                                                            \
    words_of[2][MY_LANE] = x2;                                                            \
    words_of[3][MY_LANE] = x3;                                                            \
    words_of[4][MY_LANE] = w0;                                                            \
    words_of[5][MY_LANE] = w1;                                                            \
    barrier(CLK_LOCAL_MEM_FENCE);                                                         \
    for (int c = 0; c < 4; ++c) {                                                         \
        for (int k = 0; k < 8; ++k) {                                                     \
            sum[c] = word_sum(sum[c], WORD_OF(c / 2 + k / 4 * 2, MY_LANE % 32 / 4, k),    \
                              WORD_OF(4 + k / 4, MY_LANE % 4 * 2 + c % 2, k));            \
        }                                                                                 \
    }
#define LOADED(which)                                                                     \
    ((const __local uint*)rows_of[MY_LANE / 32 * 32 + (which) * 8 + MY_LANE % 32 / 4])    \
            [MY_LANE % 4]
#define LOAD_TWO(a, b, from)      \
    barrier(CLK_LOCAL_MEM_FENCE); \
    rows_of[MY_LANE] = from;      \
    barrier(CLK_LOCAL_MEM_FENCE); \
    a = LOADED(0);                \
    b = LOADED(1)
#define LOAD_FOUR(a, b, c, d, from) \
    LOAD_TWO(a, b, from);           \
    c = LOADED(2);                  \
    d = LOADED(3)
#else
#if defined(QUANTIZED)
#define SHORT_U8 "u8"
#define SHORT_S8 "s8"
#define SHORT(T) PASTE(SHORT_, T)
#define MATRIX_INSTRUCTION \
    "mma.sync.aligned.m16n8k32.row.col.s32." SHORT(X) "." SHORT(W) ".s32"
#define IS_SUM(sum) "+r"(sum)
#elif PACK == 2
#define MATRIX_INSTRUCTION "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
#define IS_SUM(sum) "+f"(sum)
#else
#define MATRIX_INSTRUCTION "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
#define IS_SUM(sum) "+f"(sum)
#endif
#define MATRIX_MULTIPLY(sum, x0, x1, x2, x3, w0, w1) \
    asm volatile(MATRIX_INSTRUCTION \
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
                 : IS_SUM(sum[0]), IS_SUM(sum[1]), IS_SUM(sum[2]), IS_SUM(sum[3]) \
                 : "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(w0), "r"(w1))

#define LOAD_FOUR(a, b, c, d, from) \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" \
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(from) : "memory")
#define LOAD_TWO(a, b, from) \
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" \
                 : "=r"(a), "=r"(b) : "r"(from) : "memory")
#endif

#ifdef ROUNDS_FACTORS
uint rounded(const uint bits) {
    uint result;
#ifdef EMULATED
    result = (bits + 0x1000) & ~0x1fffu;
#else
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(result) : "f"(as_float(bits)));
#endif
    return result;
}
#define FACTOR(word) rounded(word)
#else
#define FACTOR(word) (word)
#endif
#endif
)";

}  // namespace halyard::engine::gpu
