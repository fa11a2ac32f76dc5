// SPDX-License-Identifier: Apache-2.0
//
// The float cell update of an LSTM, from its gates' sums. Sums, and what the gates are made
// with, lie by turns: a vector of units of each gate, then the next units. The gates are those of
// the input, unless it is coupled to that of forgetting, of forgetting, of the cell and of the
// output. Behind the last unit there is room for a whole vector, with zeros or anything in it.

#pragma once

#include <cstdint>

#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/graph/nodes.h"

namespace halyard::engine::cpu {

// One element of the batch.
struct LstmCellRow {
    LstmAttributes attributes;
    bool coupled = false;  // without an input gate
    int64_t units = 0;
    int64_t begin = 0;      // the vectors of units that are computed; all of them where the
    int64_t end = 0;        // gates are normalised
    float* sums = nullptr;  // of x; where gates are normalised, they become those of all
    const float* recurrent = nullptr;  // of the output state
    const float* peepholes = nullptr;  // of all gates, zeros for the cell's; null: none
    const float* layerNorm = nullptr;  // factors of all gates; null: not normalised
    const float* biases = nullptr;     // what is added to normalised gates
    float* cellState = nullptr;        // replaced
    float* hidden = nullptr;           // what the output gate lets through
};

struct LstmCell {
    int64_t lanes = 1;  // units of a vector
    void (*compute)(const LstmCellRow& row) = nullptr;
};

const LstmCell& lstmCell(InstructionSet set);

}  // namespace halyard::engine::cpu
