// SPDX-License-Identifier: Apache-2.0
//
// Bytes through a table of all their results (numerics/byte_tables.h), or to the sum of what a
// table has for them.

#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/status.h"
#include "engine/numerics/byte_tables.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// to[i] = table[from[i]] for i below `count`.
using LookUpBytes = void (*)(const ByteTable& table, const uint8_t* from, uint8_t* to,
                             int64_t count);
LookUpBytes lookUpBytes(InstructionSet set);

// A number for each byte, and the numbers' own bytes: bytes[i][j] is the i-th of numbers[j], the
// lowest first.
struct NumberTable {
    explicit NumberTable(const std::array<uint32_t, 256>& all);

    std::array<uint32_t, 256> numbers;
    std::array<ByteTable, sizeof(uint32_t)> bytes;
};

// The sum of table.numbers[from[i]] for i below `count`.
using SumNumbers = uint64_t (*)(const NumberTable& table, const uint8_t* from, int64_t count);
SumNumbers sumNumbers(InstructionSet set);

// A kernel of one input and one output.
Result<std::unique_ptr<const StepKernel>> byteLookupKernel(const KernelArguments& arguments,
                                                           const ByteTable& table,
                                                           InstructionSet set);

}  // namespace halyard::engine::cpu
