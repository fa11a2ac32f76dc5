// SPDX-License-Identifier: Apache-2.0

#include "harness/device/counting/instruction_class.h"

// Groups and fields are those of the Arm Architecture Reference Manual's A64 encoding index.

namespace halyard::counting {

namespace {

constexpr uint32_t bits(uint32_t instruction, uint32_t high, uint32_t low) {
    return (instruction >> low) & ((2U << (high - low)) - 1);
}

constexpr bool bit(uint32_t instruction, uint32_t at) {
    return bits(instruction, at, at) != 0;
}

// ---- Loads and stores ---------------------------------------------------------------------------

bool isStoreOfMemoryTag(uint32_t instruction) {
    return bits(instruction, 31, 24) == 0b11011001 &&
           (bits(instruction, 11, 10) != 0 || bits(instruction, 23, 22) == 0);
}

InstructionClass ofScalarRegister(uint32_t instruction) {
    using enum InstructionClass;
    const uint32_t opcode = bits(instruction, 23, 22);
    if (!bit(instruction, 24) && bit(instruction, 21) && bits(instruction, 11, 10) != 2) {
        return SCALAR_LOAD;  // atomic, or by an authenticated pointer
    }
    if (bits(instruction, 31, 30) == 3 && opcode == 2) {
        return PREFETCH;
    }
    return opcode == 0 ? STORE : SCALAR_LOAD;
}

InstructionClass ofMemory(uint32_t instruction) {
    using enum InstructionClass;
    const bool isVector = bit(instruction, 26);
    const InstructionClass load = isVector ? VECTOR_LOAD : SCALAR_LOAD;
    switch (bits(instruction, 29, 28)) {
        case 0:  // structures of vectors; exclusive and ordered; compare and swap
            if (!isVector && bit(instruction, 23) && bit(instruction, 21)) {
                return SCALAR_LOAD;
            }
            return bit(instruction, 22) ? load : STORE;
        case 1:
            if (bit(instruction, 24)) {  // ordered and unscaled; memory tags
                return isStoreOfMemoryTag(instruction) || bits(instruction, 23, 22) == 0 ? STORE
                                                                                         : load;
            }
            return !isVector && bits(instruction, 31, 30) == 3 ? PREFETCH : load;  // of a literal
        case 2:                                                                    // pairs
            return bit(instruction, 22) ? load : STORE;
        default:
            if (!isVector) {
                return ofScalarRegister(instruction);
            }
            return bit(instruction, 22) ? VECTOR_LOAD : STORE;
    }
}

// ---- Scalar floats and Advanced SIMD ------------------------------------------------------------

bool isScalarFloatMultiply(uint32_t instruction) {
    if (bit(instruction, 24)) {  // FMADD and its like
        return true;
    }
    const uint32_t opcode = bits(instruction, 15, 12);
    return bit(instruction, 21) && bits(instruction, 11, 10) == 2 && (opcode == 0 || opcode == 8);
}

// "Three same": of vectors of equal lengths.
bool isMultiplyOfEqual(uint32_t instruction) {
    switch (bits(instruction, 15, 11)) {
        case 0b10010:  // MLA, MLS
        case 0b10011:  // MUL, PMUL
        case 0b10110:  // SQDMULH, SQRDMULH
        case 0b11001:  // FMLA, FMLS, FMLAL2, FMLSL2
        case 0b11011:  // FMUL, FMULX
            return true;
        case 0b11101:  // FMLAL, FMLSL; with bit 29 FACGE, FACGT
            return !bit(instruction, 29);
        default:
            return false;
    }
}

bool isVectorMultiply(uint32_t instruction) {
    if (bit(instruction, 24)) {  // by an element; shifts by a constant have bit 10
        return !bit(instruction, 10);
    }
    if (bit(instruction, 21)) {
        if (bit(instruction, 10)) {
            return isMultiplyOfEqual(instruction);
        }
        // "Three different": SMLAL to PMULL.
        const uint32_t opcode = bits(instruction, 15, 12);
        return !bit(instruction, 11) && opcode >= 0b1000 && opcode <= 0b1110;
    }
    if (!bit(instruction, 10)) {
        return false;
    }
    if (bit(instruction, 15)) {  // SDOT, SMMLA, BFMMLA, SQRDMLAH, FCMLA; FCADD adds alone
        const uint32_t opcode = bits(instruction, 14, 11);
        return opcode != 0b1100 && opcode != 0b1110;
    }
    // Of half precision: FMLA, FMUL.
    const uint32_t opcode = bits(instruction, 13, 11);
    return bit(instruction, 22) && !bit(instruction, 14) && (opcode == 0b001 || opcode == 0b011);
}

bool isMultiply(uint32_t instruction) {
    const bool isScalarFloat = !bit(instruction, 30) && bit(instruction, 28);
    return isScalarFloat ? isScalarFloatMultiply(instruction) : isVectorMultiply(instruction);
}

// ---- SVE and SME --------------------------------------------------------------------------------

bool isScalableIntegerMultiply(uint32_t instruction) {
    const uint32_t opcode = bits(instruction, 15, 13);
    if (bit(instruction, 24)) {
        return false;
    }
    if (bit(instruction, 21)) {  // MUL, SMULH, SQDMULH
        return opcode == 0b011;
    }
    const bool isPredicatedMultiply = opcode == 0 && bits(instruction, 20, 18) == 0b100;
    return bit(instruction, 14) || isPredicatedMultiply;  // MLA, MLS, MAD, MSB
}

bool isScalableDotOrWidening(uint32_t instruction) {
    if (!bit(instruction, 24)) {  // by an element; SDOT, SMLALB
        return bit(instruction, 21) || !bit(instruction, 15);
    }
    const bool isWidening = !bit(instruction, 21) && bits(instruction, 15, 13) == 0b011;
    return isWidening || bits(instruction, 15, 10) == 0b100110;  // SMULLB; SMMLA
}

bool isScalableFloatMultiply(uint32_t instruction) {
    if (!bit(instruction, 24)) {  // by an element, widening, matrices; FCADD and FADDP add alone
        return bit(instruction, 21) || !bit(instruction, 15);
    }
    if (bit(instruction, 21)) {  // FMLA
        return true;
    }
    const bool isPredicatedMultiply =
            bits(instruction, 15, 13) == 0b100 && bits(instruction, 18, 16) == 0b010;
    return bits(instruction, 15, 10) == 0b000010 || isPredicatedMultiply;
}

bool isScalablePrefetch(uint32_t instruction) {
    if (bits(instruction, 31, 25) != 0b1000010) {
        return false;
    }
    const bool byConstant = bits(instruction, 24, 22) == 0b111 && !bit(instruction, 15);
    const bool byRegister = bits(instruction, 22, 21) == 0 && bits(instruction, 15, 14) == 0b11;
    return byConstant || byRegister;
}

InstructionClass ofScalableVector(uint32_t instruction) {
    using enum InstructionClass;
    switch (bits(instruction, 31, 29)) {
        case 0b000:
            return isScalableIntegerMultiply(instruction) ? MULTIPLY : VECTOR;
        case 0b001:
            return VECTOR;
        case 0b010:
            return isScalableDotOrWidening(instruction) ? MULTIPLY : VECTOR;
        case 0b011:
            return isScalableFloatMultiply(instruction) ? MULTIPLY : VECTOR;
        case 0b111:
            return STORE;
        default:
            return isScalablePrefetch(instruction) ? PREFETCH : VECTOR_LOAD;
    }
}

InstructionClass ofMatrix(uint32_t instruction) {
    using enum InstructionClass;
    switch (bits(instruction, 30, 29)) {
        case 0b10:  // moves from and to the array, sums
            return VECTOR;
        case 0b11:
            return bit(instruction, 21) ? STORE : VECTOR_LOAD;
        default:  // outer products
            return MULTIPLY;
    }
}

}  // namespace

InstructionClass instructionClass(uint32_t instruction) {
    using enum InstructionClass;
    switch (bits(instruction, 28, 25)) {
        case 0b0000:
            return bit(instruction, 31) ? ofMatrix(instruction) : INTEGER;
        case 0b0010:
            return ofScalableVector(instruction);
        case 0b0100:
        case 0b0110:
        case 0b1100:
        case 0b1110:
            return ofMemory(instruction);
        case 0b0111:
        case 0b1111:
            return isMultiply(instruction) ? MULTIPLY : VECTOR;
        case 0b1010:
        case 0b1011:
            // Among the branches are exceptions, barriers, hints and system registers.
            return bits(instruction, 31, 25) == 0b1101010 ? INTEGER : BRANCH;
        default:
            return INTEGER;
    }
}

}  // namespace halyard::counting
