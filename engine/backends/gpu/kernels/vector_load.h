// SPDX-License-Identifier: Apache-2.0
//
// VectorLoad: how elements along K are loaded: several neighbours at once, packed into words.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/graph/tensor.h"

namespace halyard::engine::gpu {

// How a row's elements become words. A word has an element of float32, two of float16 as the
// device's matrix unit reads them, or four of 8 bits.
struct VectorLoad {
    int32_t elements = 1;  // of a vector: what a row's length is a multiple of
    int32_t pack = 1;      // elements of a word
    // A vector is a word of elements that are fetched one by one, as rows are not of whole words.
    bool gathers = false;

    int32_t words() const { return elements < pack ? 1 : elements / pack; }
    std::string defines() const;
};

// The longest vectors for rows of this many elements; of one element where no longer one does.
// `packsHalves`: float16 stays as it is.
VectorLoad vectorLoadFor(DataType type, int32_t rowLength, bool packsHalves);

// For texts of kernels, behind kMultiplyAccumulateText: Vector; FETCH(T, p, i), the vector that
// starts at element i of p; KEEP(row, v, vector), which puts it at the v-th place of a row in local
// memory; and WORD_SUM(sum, x, w), to which the products of two words are added. Of bytes
// ROW_SUM(T, vector), the sum of a vector's elements.
inline constexpr std::string_view kVectorLoadText = R"(
#define VECTOR_1 uint
#define VECTOR_2 uint2
#define VECTOR_4 uint4
#define Vector PASTE(VECTOR_, VECTOR_WORDS)

#define BITS_F32 uint
#define BITS_F16 ushort
#define BITS_U8 uchar
#define BITS_S8 uchar
#define BITS(T) PASTE(BITS_, T)

#if PACK == 1 && VECTOR_ELEMENTS == 1
#define FETCH(T, p, i) as_uint((float)LOAD(T, p, i))
#elif PACK == 1
#define FETCH_F32(p, i) *(const __global uint4*)((p) + (i))
#define FETCH_F16(p, i) as_uint4(vload_half4(0, (p) + (i)))
#define FETCH(T, p, i) PASTE(FETCH_, T)(p, i)
#elif VECTOR_ELEMENTS == 1
#define FETCH(T, p, i) (uint)((const __global BITS(T)*)(p))[i]
#else
#define FETCH(T, p, i) *(const __global Vector*)((p) + (i))
#endif

#define KEEP(row, v, vector) *(__local Vector*)((row) + (v) * VECTOR_WORDS) = (vector)

#if defined(QUANTIZED)
#define BYTES_U8(word) as_uchar4(word)
#define BYTES_S8(word) as_char4(word)
#define BYTES(T, word) PASTE(BYTES_, T)(word)
#ifndef HAS_DOT4
uint dot4(const uint x, const uint w, const uint sum) {
    const int4 products = convert_int4(BYTES(X, x)) * convert_int4(BYTES(W, w));
    return sum + (uint)(products.s0 + products.s1 + products.s2 + products.s3);
}
#endif
#define WORD_SUM(sum, x, w) dot4(x, w, sum)
#define ONES 0x01010101u

#define WORD_BYTES(T, word) \
    (BYTES(T, word).s0 + BYTES(T, word).s1 + BYTES(T, word).s2 + BYTES(T, word).s3)
#if VECTOR_ELEMENTS == 1
#define ROW_SUM(T, v) (int)(ELEMENT(T))(v)
#elif VECTOR_WORDS == 1
#define ROW_SUM(T, v) WORD_BYTES(T, v)
#elif VECTOR_WORDS == 2
#define ROW_SUM(T, v) (WORD_BYTES(T, (v).s0) + WORD_BYTES(T, (v).s1))
#else
#define ROW_SUM(T, v) \
    (WORD_BYTES(T, (v).s0) + WORD_BYTES(T, (v).s1) + WORD_BYTES(T, (v).s2) + \
     WORD_BYTES(T, (v).s3))
#endif
// The sum of the products without their zero points to that with them.
#define WITH_ZEROS(sum, length, x_sum, w_sum) \
    ((sum) - (uint)numbers.x_zero * (uint)(w_sum) + \
     (uint)WEIGHT_ZERO * ((uint)(length) * (uint)numbers.x_zero - (uint)(x_sum)))
#else
#define WORD_SUM(sum, x, w) multiply_add(as_float(x), as_float(w), sum)
#endif
)";

}  // namespace halyard::engine::gpu
