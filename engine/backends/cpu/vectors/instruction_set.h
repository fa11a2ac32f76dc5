// SPDX-License-Identifier: Apache-2.0
//
// The instruction sets that CpuAcc's kernels are compiled for. A kernel has one form for each of
// them, or for those where it makes a difference, and a program takes the best that the processor
// has and the user allows.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace halyard::engine::cpu {

// Of one processor family each contains those before it.
enum class InstructionSet : uint8_t {
    PORTABLE,  // what every processor that can start the program has
    SSE4,
    AVX2,  // with FMA and F16C
    AVX512,
    AVX512_VNNI,  // integer dot products
    AVX512_AMX,   // products of tiles of bytes and of bfloat16, which the system has to permit
    NEON,
    NEON_DOT,   // integer dot products, and arithmetic of binary16
    NEON_I8MM,  // integer matrix products as well
};

// Whether a processor of the x86 family has integer dot products for 8-bit types.
constexpr bool hasByteProducts(InstructionSet set) {
    return set == InstructionSet::AVX512_VNNI || set == InstructionSet::AVX512_AMX;
}

// Whether a processor adds and multiplies binary16 without widening it.
constexpr bool hasHalfArithmetic(InstructionSet set) {
    return set == InstructionSet::NEON_DOT || set == InstructionSet::NEON_I8MM;
}

// "avx2": what --cpu-features takes and profiles say.
std::string_view toString(InstructionSet set);

// Whether Linux may be asked to permit tiles to this process. LEAVE: tiles are as if the processor
// had none, for callers that know this; nothing is asked.
enum class Tiles : uint8_t { ASK, LEAVE };

// Of those that this processor has. INVALID_ARGUMENT lists their names.
Result<InstructionSet> parseInstructionSet(std::string_view name, Tiles tiles = Tiles::ASK);

// The best that this processor, and the system on it, can run. A caller that asks for it or for the
// list for the first time asks Linux to permit tiles to this process, for good: threads whose
// alternate signal stacks have no room for tiles have the request fail, and are refused such stacks
// after it. So, before threads are started, and before system calls are filtered. Refused, which
// the log tells, is as if the processor had none.
InstructionSet bestInstructionSet(Tiles tiles = Tiles::ASK);
// All that it can run, the best last.
std::span<const InstructionSet> availableInstructionSets();
// Of a set without tiles nothing is asked.
bool isAvailable(InstructionSet set);
// The features of a processor that LEAVE gives up, and why, in a sentence; empty: none.
std::string_view withheldInstructionSet();

// The sets, and AVX512_AMX with them if they have all else that its kernels use, the processor has
// such tiles and ask() gives 0 for the system's permission; else it gives an error of errno's.
std::vector<InstructionSet> withTiles(std::vector<InstructionSet> sets, bool processorHasTiles,
                                      int (*ask)());

}  // namespace halyard::engine::cpu
