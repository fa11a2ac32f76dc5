// SPDX-License-Identifier: Apache-2.0

#pragma once

// Before a loop over an array of vectors, whose length is a constant: unless such loops are gone
// early, compilers keep the array in memory and not in registers.
#ifdef __clang__
#define HALYARD_UNROLL _Pragma("clang loop unroll(full)")
#else
#define HALYARD_UNROLL _Pragma("GCC unroll 32")
#endif
