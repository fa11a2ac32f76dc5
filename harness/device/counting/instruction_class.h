// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace halyard::counting {

enum class InstructionClass : uint8_t {
    MULTIPLY,     // of vectors, floats and matrices: products, and products that are added up
    VECTOR,       // all else that computes or moves vectors, floats and predicates
    VECTOR_LOAD,  // to vector registers
    SCALAR_LOAD,  // to general registers; atomic operations, which load as well
    STORE,        // of registers of either kind
    PREFETCH,
    BRANCH,
    INTEGER,  // all else: general registers, barriers, hints, system registers
};

constexpr size_t kInstructionClasses = 8;

// Of an A64 instruction, by its encoding. Any word has a class.
InstructionClass instructionClass(uint32_t instruction);

}  // namespace halyard::counting
