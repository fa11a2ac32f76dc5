// SPDX-License-Identifier: Apache-2.0
//
// The cell updates of QUANTIZED_LSTM and QUANTIZED_16BIT_LSTM from their gates' sums, in the
// reference's fixed point, bit for bit. Sums lie by turns, `together` units of each gate and then
// the next units; the gates are those of the input, unless it is coupled to that of forgetting, of
// forgetting, of the cell and of the output.

#pragma once

#include <cstdint>
#include <optional>

#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/numerics/fixed_point.h"

namespace halyard::engine::cpu {

struct QuantizedGate {
    fixed_point::Multiplier weights;  // from sums to Q3.12
    fixed_point::Multiplier recurrent;
    fixed_point::Multiplier peephole;
};

struct QuantizedCell {
    bool coupled = false;  // without an input gate
    QuantizedGate gates[4];
    int cellLog2 = 0;  // of the cell state's scale
    std::optional<int16_t> cellClip;
    fixed_point::Multiplier hidden;
    int32_t hiddenZeroPoint = 0;
};

// One element of the batch.
struct QuantizedCellRow {
    int64_t units = 0;
    int64_t together = 1;  // a multiple of a vector's lanes
    int64_t begin = 0;     // the vectors of units that are computed
    int64_t end = 0;
    const int32_t* sums = nullptr;  // of x
    const int32_t* recurrent = nullptr;
    const int32_t* peepholes = nullptr;  // of all gates, zeros for the cell's; null: none
    const int16_t* previousCell = nullptr;
    int16_t* cell = nullptr;
    int8_t* hidden = nullptr;
};

// The same of QUANTIZED_16BIT_LSTM, whose gates have one product and one factor.
struct Quantized16BitCellRow {
    int64_t units = 0;
    int64_t together = 1;
    int64_t begin = 0;
    int64_t end = 0;
    fixed_point::Multiplier factor;
    const int32_t* sums = nullptr;
    const int16_t* previousCell = nullptr;
    int16_t* cell = nullptr;
    uint8_t* output = nullptr;
};

struct QuantizedCells {
    int64_t lanes = 1;  // units of a vector
    void (*compute)(const QuantizedCell& cell, const QuantizedCellRow& row) = nullptr;
    void (*compute16Bit)(const Quantized16BitCellRow& row) = nullptr;
};

const QuantizedCells& quantizedCells(InstructionSet set);

}  // namespace halyard::engine::cpu
