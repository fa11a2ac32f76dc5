// SPDX-License-Identifier: Apache-2.0
//
// The text that stands before every kernel's.

#pragma once

#include <string_view>

namespace halyard::engine::gpu {

// A tensor comes as the number of a block of memory and an offset in it, as every block that a
// kernel has among its arguments costs the processor as much as a tenth of what launching it does:
// IN(x), OUT(y) among a kernel's parameters, and BIND_IN(T, x) or BIND_OUT(T, y) in its body. T is
// how elements are stored (F32, F16, I32, U8, S8, U16, S16, B8); arithmetic has VALUE(T), and LOAD
// and STORE go between the two. NARROW(T, v) is an element as LOAD would have it, of whose bits v
// has the lowest. REAL(T, ...) is the number that an element stands for, FROM_REAL(T, ...) goes
// back.
//
// Results of 8 bits have to be those of every other backend (engine/numerics), so that nothing is
// contracted, and a quotient is an IEEE one.
inline constexpr std::string_view kPreamble = R"(
#pragma OPENCL FP_CONTRACT OFF
#ifdef HAS_DOUBLES
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifdef UNROLLS
#define UNROLL _Pragma("unroll")
#else
#define UNROLL
#endif
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)

#define ELEMENT_F32 float
#define ELEMENT_F16 half
#define ELEMENT_I32 int
#define ELEMENT_U8 uchar
#define ELEMENT_B8 uchar
#define ELEMENT_S8 char
#define ELEMENT_U16 ushort
#define ELEMENT_S16 short
#define ELEMENT(T) PASTE(ELEMENT_, T)
#define VALUE_F32 float
#define VALUE_F16 float
#define VALUE_I32 int
#define VALUE_U8 int
#define VALUE_B8 int
#define VALUE_S8 int
#define VALUE_U16 int
#define VALUE_S16 int
#define VALUE(T) PASTE(VALUE_, T)

#define IN(x) const ulong x##_at
#define OUT(x) const ulong x##_at
#define PLACE(x) (BLOCK(x##_at >> 59) + (x##_at & 0x07ffffffffffffff))
#define BIND_IN(T, x) const __global ELEMENT(T)* const x = (const __global ELEMENT(T)*)PLACE(x)
#define BIND_OUT(T, x) __global ELEMENT(T)* const x = (__global ELEMENT(T)*)PLACE(x)

#define LOAD_F32(p, i) (p)[i]
#define LOAD_F16(p, i) vload_half((size_t)(i), p)
#define LOAD_I32(p, i) (p)[i]
#define LOAD_U8(p, i) (int)(p)[i]
#define LOAD_B8(p, i) (int)(p)[i]
#define LOAD_S8(p, i) (int)(p)[i]
#define LOAD_U16(p, i) (int)(p)[i]
#define LOAD_S16(p, i) (int)(p)[i]
#define LOAD(T, p, i) PASTE(LOAD_, T)(p, i)
#define STORE_F32(p, i, v) (p)[i] = (v)
#define STORE_F16(p, i, v) vstore_half_rte(v, (size_t)(i), p)
#define STORE_I32(p, i, v) (p)[i] = (v)
#define STORE_U8(p, i, v) (p)[i] = (uchar)(v)
#define STORE_B8(p, i, v) (p)[i] = (uchar)(v)
#define STORE_S8(p, i, v) (p)[i] = (char)(v)
#define STORE_U16(p, i, v) (p)[i] = (ushort)(v)
#define STORE_S16(p, i, v) (p)[i] = (short)(v)
#define STORE(T, p, i, v) PASTE(STORE_, T)(p, i, v)

#define NARROW_F32(v) (v)
#define NARROW_F16(v) (v)
#define NARROW_I32(v) (v)
#define NARROW_U8(v) (int)(uchar)(v)
#define NARROW_B8(v) (int)(uchar)(v)
#define NARROW_S8(v) (int)(char)(v)
#define NARROW(T, v) PASTE(NARROW_, T)(v)

#define DEQUANTIZE(v, scale, zero) ((scale) * (float)((v) - (zero)))
#define REAL_F32(v, scale, zero) (v)
#define REAL_F16(v, scale, zero) (v)
#define REAL_I32(v, scale, zero) ((float)(v))
#define REAL_B8(v, scale, zero) ((v) != 0 ? 1.0f : 0.0f)
#define REAL_U8(v, scale, zero) DEQUANTIZE(v, scale, zero)
#define REAL_S8(v, scale, zero) DEQUANTIZE(v, scale, zero)
#define REAL_U16(v, scale, zero) DEQUANTIZE(v, scale, zero)
#define REAL_S16(v, scale, zero) DEQUANTIZE(v, scale, zero)
#define REAL(T, v, scale, zero) PASTE(REAL_, T)(v, scale, zero)

float between(float x, float low, float high) {
    return x < low ? low : (x > high ? high : x);
}

int round_and_clamp(float value, int zero, int low, int high) {
    if (isnan(value)) {
        return clamp(zero, low, high);
    }
    return (int)rint(between(value, (float)(low - zero), (float)(high - zero))) + zero;
}

#if defined(DIVIDES_EXACTLY)
float divide(float a, float b) {
    return a / b;
}
#elif defined(HAS_DOUBLES)
float divide(float a, float b) {
    return (float)((double)a / (double)b);
}
#endif

#define FROM_REAL_F32(v, scale, zero) (v)
#define FROM_REAL_F16(v, scale, zero) (v)
#define FROM_REAL_B8(v, scale, zero) ((v) != 0.0f ? 1 : 0)
#define FROM_REAL_U8(v, scale, zero) round_and_clamp(divide(v, scale), zero, 0, 255)
#define FROM_REAL_S8(v, scale, zero) round_and_clamp(divide(v, scale), zero, -128, 127)
#define FROM_REAL_U16(v, scale, zero) round_and_clamp(divide(v, scale), zero, 0, 65535)
#define FROM_REAL_S16(v, scale, zero) round_and_clamp(divide(v, scale), zero, -32768, 32767)
#define FROM_REAL(T, v, scale, zero) PASTE(FROM_REAL_, T)(v, scale, zero)

// NaN stays NaN.
float multiply_add(float a, float b, float c) {
#ifdef FP_FAST_FMAF
    return fma(a, b, c);
#else
    return a * b + c;
#endif
}
)";

}  // namespace halyard::engine::gpu
