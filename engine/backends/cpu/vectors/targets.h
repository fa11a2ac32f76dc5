// SPDX-License-Identifier: Apache-2.0
//
// Choosing between the forms of a kernel that one source is compiled to, once for each instruction
// set. Such a source starts with
//
//     #undef HWY_TARGET_INCLUDE
//     #define HWY_TARGET_INCLUDE "engine/backends/cpu/NAME.cc"
//     #include "engine/backends/cpu/vectors/targets.h"
//
// and defines its kernels in namespace HWY_NAMESPACE; what is to be compiled once stands in
// #if HWY_ONCE. Of Highway only the headers are used: its library chooses once per process, and
// here each backend has a choice of its own.

// No include guard around what follows: it is read again for each instruction set.

#ifndef HALYARD_ENGINE_BACKENDS_CPU_TARGETS_H_
#define HALYARD_ENGINE_BACKENDS_CPU_TARGETS_H_
#include "engine/backends/cpu/vectors/unroll.h"

// Little is gained from these over their neighbours. AVX3_DL of Highway 1.0.3 has a wrong
// TruncateTo() and lets the compiler use AVX-VNNI, which processors with AVX-512 may lack: what has
// dot products is compiled for AVX3 and names the instruction itself.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#define HWY_WANT_SSE4 1
#endif

#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#if HWY_ONCE && !defined(HALYARD_CPU_CHOOSE)
#include "engine/backends/cpu/vectors/instruction_set.h"

// The form of `function` for an instruction set: a pointer to it.
#define HALYARD_CPU_CHOOSE(set, function)                                                         \
    ((set) >= InstructionSet::AVX512 && (HWY_TARGETS & HWY_AVX3) != 0 ? HWY_CHOOSE_AVX3(function) \
     : (set) >= InstructionSet::AVX2 && (HWY_TARGETS & HWY_AVX2) != 0 ? HWY_CHOOSE_AVX2(function) \
     : (set) >= InstructionSet::SSE4 && (HWY_TARGETS & HWY_SSE4) != 0 ? HWY_CHOOSE_SSE4(function) \
     : (set) >= InstructionSet::NEON && (HWY_TARGETS & HWY_NEON) != 0                             \
             ? HWY_CHOOSE_NEON(function)                                                          \
             : HWY_CHOOSE_FALLBACK(function))
#endif
