// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/kernels/matrix_probe.h"

#include "engine/backends/gpu/kernels/multiply_accumulate.h"
#include "engine/backends/gpu/kernels/vector_load.h"
#include "engine/base/log.h"

namespace halyard::engine::gpu {
namespace {

// Small whole numbers, whose products and sums are exact in any type. The first word of what it
// writes is the number of work-items that found all as expected.
constexpr std::string_view kTrialText = R"(
#define NUMBER(row, k) (((row) * 7 + (k) * 3 + (row) * (k)) % 5 NEGATIVE)
#define WORDS 8
#if defined(QUANTIZED)
#define SET(row, k, v) ((__local BITS(X)*)(row))[k] = (BITS(X))(v)
#elif PACK == 2
#define SET(row, k, v) vstore_half((float)(v), k, (__local half*)(row))
#else
#define SET(row, k, v) ((__local float*)(row))[k] = (float)(v)
#endif

__kernel __attribute__((reqd_work_group_size(32, 1, 1))) void attempt(__global int* result) {
    __local uint xs[(16 + 8) * WORDS] __attribute__((aligned(128)));
    __local uint* const ws = xs + 16 * WORDS;
    __local int right;
    const int lane = (int)get_local_id(0);
    const int four = lane / 4;
    const int word = lane % 4;
    if (lane == 0) {
        right = 0;
    }
    for (int i = lane; i < 16 * WORDS * PACK; i += 32) {
        const int row = i / (WORDS * PACK);
        const int k = i % (WORDS * PACK);
        SET(xs + row * WORDS, k, NUMBER(row, k));
        if (row < 8) {
            SET(ws + row * WORDS, k, NUMBER(row + 3, k));
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    SUM sum[4];
    for (int i = 0; i < 4; ++i) {
        sum[i] = (SUM)i;
    }
    int is_right = 1;
#ifdef ASYNC_COPY
    // By way of global memory; first some of it as what is not there.
    __global uint* const there = (__global uint*)result + 4;
    for (int i = lane; i < (16 + 8) * WORDS; i += 32) {
        there[i] = xs[i];
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (int i = lane * VECTOR_WORDS; i < (16 + 8) * WORDS; i += 32 * VECTOR_WORDS) {
        COPY_ASYNC(LOCAL_ADDRESS(xs + i), there + i, i < 16 * WORDS, 7);
    }
    COMMIT_STAGE();
    WAIT_FOR_STAGES(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    is_right = ws[lane] == 7 && ws[lane + 32] == 7;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = lane * VECTOR_WORDS; i < 8 * WORDS; i += 32 * VECTOR_WORDS) {
        COPY_ASYNC(LOCAL_ADDRESS(ws + i), there + 16 * WORDS + i, 1, 0);
    }
    COMMIT_STAGE();
    WAIT_FOR_STAGES(0);
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
#ifdef MATRIX
    uint w[4];
    uint x[4];
    LOAD_TWO(w[0], w[1], LOCAL_ADDRESS(ws + lane % 8 * WORDS + lane / 8 % 2 * 4));
    LOAD_FOUR(x[0], x[1], x[2], x[3], LOCAL_ADDRESS(xs + lane % 16 * WORDS + lane / 16 * 4));
    MATRIX_MULTIPLY(sum, FACTOR(x[0]), FACTOR(x[1]), FACTOR(x[2]), FACTOR(x[3]), FACTOR(w[0]),
                    FACTOR(w[1]));
#else
    for (int i = 0; i < 4; ++i) {
        for (int at = 0; at < WORDS; ++at) {
            sum[i] = WORD_SUM(sum[i], xs[(four + i / 2 * 8) * WORDS + at],
                              ws[(2 * word + i % 2) * WORDS + at]);
        }
    }
#endif
    for (int i = 0; i < 4; ++i) {
        int expected = i;
        for (int k = 0; k < WORDS * PACK; ++k) {
            expected += NUMBER(four + i / 2 * 8, k) * NUMBER(2 * word + i % 2 + 3, k);
        }
        if (sum[i] != (SUM)expected) {
            is_right = 0;
        }
    }
    atomic_add(&right, is_right);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0) {
        result[0] = right;
    }
}
)";

constexpr KernelFamily kTrial = {.kernel = "attempt",
                                 .usesMatrixUnit = true,
                                 .shared = {kMultiplyAccumulateText, kVectorLoadText},
                                 .text = kTrialText,
                                 .local = {32, 1, 1}};
constexpr int32_t kAllWorkItems = 32;

struct Trial {
    std::string_view storage;
    int32_t pack = 1;
    bool isSigned = true;
    bool isMatrix = true;
    bool asyncCopy = true;
};

bool succeeds(const Trial& trial, Programs& programs, const Blobs& blobs) {
    std::string defines = define("EPILOGUES_PARAMETERS", "") + define("X", trial.storage) +
                          define("W", trial.storage) + define("R", trial.storage) +
                          define("NEGATIVE", trial.isSigned ? "- 2" : "") +
                          VectorLoad{.elements = 4 * trial.pack, .pack = trial.pack}.defines() +
                          (trial.pack == 4 ? define("HAS_DOT4") + define("QUANTIZED") : "");
    defines += trial.isMatrix ? define("MATRIX") : "";
    defines += trial.asyncCopy ? define("ASYNC_COPY") : "";
    return programs.attempt(kTrial, defines, blobs) == kAllWorkItems;
}

}  // namespace

MatrixFeatures probeMatrixUnit(const GemmTypes& types, const DeviceFacts& facts, Programs& programs,
                               const Blobs& blobs) {
    MatrixFeatures has;
    if (facts.matrixUnit == nullptr) {
        return has;
    }
    if (facts.matrixUnit->isEmulated) {
        return {.asyncCopy = true, .float16Mma = true, .tf32Mma = true, .int8Mma = true};
    }
    const auto can = [&](const Trial& trial) { return succeeds(trial, programs, blobs); };
    if (types.bytes) {
        has.dot4 = can({.storage = "S8", .pack = 4, .isMatrix = false, .asyncCopy = false}) &&
                   can({.storage = "U8",
                        .pack = 4,
                        .isSigned = false,
                        .isMatrix = false,
                        .asyncCopy = false});
        has.int8Mma = can({.storage = "S8", .pack = 4}) &&
                      can({.storage = "U8", .pack = 4, .isSigned = false});
    }
    has.asyncCopy = types.exactFloats && can({.storage = "F32", .isMatrix = false});
    has.float16Mma = types.halves && can({.storage = "F16", .pack = 2});
    has.tf32Mma = types.tf32 && can({.storage = "F32", .pack = 1});
    return has;
}

}  // namespace halyard::engine::gpu
