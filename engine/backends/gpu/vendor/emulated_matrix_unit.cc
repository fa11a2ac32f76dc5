// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/vendor/emulated_matrix_unit.h"

namespace halyard::engine::gpu {
namespace {

constexpr std::string_view kText = R"(
#if defined(ASYNC_COPY) || defined(MATRIX)
#define LocalAddress size_t
#define LOCAL_ADDRESS(pointer) (size_t)(pointer)
#endif

#ifdef ASYNC_COPY
#define COPY_ASYNC(to, from, is_there, otherwise)                                                \
    for (int w = 0; w < VECTOR_WORDS; ++w) {                                                     \
        ((__local uint*)(to))[w] = (is_there) ? ((const __global uint*)(from))[w] : (otherwise); \
    }
#define COMMIT_STAGE()
#define WAIT_FOR_STAGES(but)
#define FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)
#endif

#ifdef MATRIX
#define EXCHANGE                          \
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
#define MATRIX_MULTIPLY(sum, x0, x1, x2, x3, w0, w1)                                   \
    barrier(CLK_LOCAL_MEM_FENCE);                                                      \
    words_of[0][MY_LANE] = x0;                                                         \
    words_of[1][MY_LANE] = x1;                                                         \
    words_of[2][MY_LANE] = x2;                                                         \
    words_of[3][MY_LANE] = x3;                                                         \
    words_of[4][MY_LANE] = w0;                                                         \
    words_of[5][MY_LANE] = w1;                                                         \
    barrier(CLK_LOCAL_MEM_FENCE);                                                      \
    for (int c = 0; c < 4; ++c) {                                                      \
        for (int k = 0; k < 8; ++k) {                                                  \
            sum[c] = word_sum(sum[c], WORD_OF(c / 2 + k / 4 * 2, MY_LANE % 32 / 4, k), \
                              WORD_OF(4 + k / 4, MY_LANE % 4 * 2 + c % 2, k));         \
        }                                                                              \
    }
#define LOADED(which)                                                                  \
    ((const __local uint*)rows_of[MY_LANE / 32 * 32 + (which) * 8 + MY_LANE % 32 / 4]) \
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

#if PACK == 1
uint rounded(const uint bits) {
    return (bits + 0x1000) & ~0x1fffu;
}
#define FACTOR(word) rounded(word)
#else
#define FACTOR(word) (word)
#endif
#endif
)";

constexpr MatrixUnit kUnit = {.name = "emulated", .isEmulated = true, .text = kText};

}  // namespace

const MatrixUnit& emulatedMatrixUnit() {
    return kUnit;
}

}  // namespace halyard::engine::gpu
