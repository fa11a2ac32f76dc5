// SPDX-License-Identifier: Apache-2.0
//
// MatrixUnit: what a device has for GEMM beyond OpenCL C: instructions by which the work-items of a
// warp multiply small matrices, copy to local memory asynchronously, and sum products of bytes.
// Kernels are written against the macros of its text, and the chooser of GEMM forms against what it
// says of itself.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace halyard::engine::gpu {

struct MatrixUnit {
    std::string_view name;
    // Work-items of a warp, and the tile that one MATRIX_MULTIPLY computes: `rows` of x by
    // `columns` of w, of `words` of 32 bits each along K: one element of float32, two of float16,
    // or four of 8 bits. Kernels distribute tiles over a warp for these numbers alone.
    int32_t warp = 32;
    int32_t rows = 16;
    int32_t columns = 8;
    int32_t words = 8;
    // Stages of a pipeline of asynchronous copies, at the most.
    int32_t pipelineStages = 4;
    // Whether it is emulated in OpenCL C, and therefore needs no probe (kernels/matrix_probe.h).
    bool isEmulated = false;
    // OpenCL C, behind the preamble and before the texts of a family of kernels: the macros below.
    std::string_view text;
};

// The text of a unit. With HAS_DOT4: dot4(x, w, sum), to which the products of four bytes are
// added, of the types X and W.
//
// With MATRIX: MATRIX_MULTIPLY(sum, x0, x1, x2, x3, w0, w1) adds products of 16 rows by 8 of 8
// words each to sums that the 32 work-items of a warp have together. With four = work-item % 32 / 4
// and word = work-item % 4, x0 is word `word` of row `four`, x1 of the row 8 further, x2 and x3 are
// the words 4 further of the two, w0 and w1 the words `word` and 4 further of row `four` of w. The
// work-item's sums are those of row `four` of x by rows 2 * word and the next of w, and of the row
// 8 further by the same. FACTOR(word) is a word as it takes part: float32 is rounded to TF32.
//
// LOAD_FOUR(a, b, c, d, from) loads four matrices of 8 rows by 4 words each from local memory, of
// which each work-item gets word `word` of row `four`; eight work-items each tell where the rows of
// one are, by LOCAL_ADDRESS(). LOAD_TWO does so for two, and heeds the first 16 work-items alone.
//
// EXCHANGE stands among a kernel's declarations and is local memory of the unit's own; it may be
// undefined. All work-items of a work-group reach these macros together.
//
// With ASYNC_COPY: COPY_ASYNC(to, from, is_there, otherwise) copies a Vector from global to local
// memory, of which `to` is a LOCAL_ADDRESS(), while the work-item goes on, or makes it one of words
// `otherwise`. Copies until COMMIT_STAGE() are a stage of the pipeline; WAIT_FOR_STAGES(but) waits
// for all stages but the latest so many. FENCE() keeps what the work-item writes to global memory
// in its order.

// Features of a unit on a device, as the probe has shown, for the types of a model.
struct MatrixFeatures {
    bool dot4 = false;        // four products of bytes, and their sum
    bool asyncCopy = false;   // of float32; the types of a matrix instruction have it with that
    bool float16Mma = false;  // with sums of float32
    bool tf32Mma = false;     // float32 whose factors are rounded to eleven significant bits
    bool int8Mma = false;     // signed or not, with sums of int32

    // Whether any type has asynchronous copies, so that work-groups may share a tile by split-K.
    bool copiesAsync() const { return asyncCopy || float16Mma || tf32Mma || int8Mma; }
    bool any() const { return dot4 || copiesAsync(); }
    // For texts of kernels.
    std::string defines() const { return dot4 ? "#define HAS_DOT4 1\n" : ""; }
};

}  // namespace halyard::engine::gpu
