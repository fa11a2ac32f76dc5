// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/nvidia/ptx_matrix_unit.h"

namespace halyard::engine::gpu {
namespace {

constexpr std::string_view kText = R"(
#ifdef HAS_DOT4
#define SIGN_U8 "u32"
#define SIGN_S8 "s32"
#define SIGN(T) PASTE(SIGN_, T)
uint dot4(const uint x, const uint w, const uint sum) {
    uint result;
    asm("dp4a." SIGN(X) "." SIGN(W) " %0, %1, %2, %3;"
        : "=r"(result) : "r"(x), "r"(w), "r"(sum));
    return result;
}
#endif

#if defined(ASYNC_COPY) || defined(MATRIX)
#define LocalAddress uint
#define LOCAL_ADDRESS(pointer) (uint)(size_t)(pointer)
#endif

#ifdef ASYNC_COPY
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

// A reader of what this work-item writes next sees what it has written to global memory before.
#define FENCE() asm volatile("membar.gl;" : : : "memory")
#endif

#ifdef MATRIX
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

#if PACK == 1
uint rounded(const uint bits) {
    uint result;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(result) : "f"(as_float(bits)));
    return result;
}
#define FACTOR(word) rounded(word)
#else
#define FACTOR(word) (word)
#endif
#endif
)";

constexpr MatrixUnit kUnit = {.name = "PTX", .text = kText};

}  // namespace

const MatrixUnit& ptxMatrixUnit() {
    return kUnit;
}

}  // namespace halyard::engine::gpu
