// SPDX-License-Identifier: Apache-2.0
//
// The compiled form of a float LSTM, next to its packed weights.

#pragma once

#include <cstdint>
#include <optional>

#include "engine/backends/cpu/hardware/l1d_sets.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/status.h"
#include "engine/graph/nodes.h"
#include "engine/plan/constant_store.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// Properties of the weights, wherever they are read from.
struct LstmDefinition {
    LstmAttributes attributes;
    bool coupled = false;
    bool halves = false;
    bool projects = false;
    int64_t inputSize = 0;   // k
    int64_t units = 0;       // n
    int64_t outputSize = 0;  // m
    int64_t lanes = 1;
    L1dSets l1d = {};
    bool bfloats = false;       // the columns of the recurrent weights and the projection's are
    bool inputBfloats = false;  // and so are those of x's
    // Packed: the gates' columns as lstm_cell.h has them.
    PackedConstant input;
    PackedConstant recurrent;
    PackedConstant projection;
    std::optional<PackedConstant> peepholes;
    std::optional<PackedConstant> layerNorm;
    std::optional<PackedConstant> biases;  // of normalised gates

    int64_t gates() const { return coupled ? 3 : 4; }
    int64_t vectors() const { return (units + lanes - 1) / lanes; }  // of units
    int64_t paddedUnits() const { return vectors() * lanes; }
    int64_t columns() const { return vectors() * gates() * lanes; }
};

// Whether bfloat16 has all of the node's weights, whose sizes the definition has.
Result<bool> areBfloats(const KernelArguments& arguments, const LstmDefinition& definition);

// Adds the node's weights to the store as panels of floatGemm(set), once for all nodes that have
// the same ones, and says in the definition, of which the rest is there, where they are.
// RESOURCE_EXHAUSTED where they could not be addressed.
Status packWeights(const KernelArguments& arguments, InstructionSet set,
                   LstmDefinition& definition);

}  // namespace halyard::engine::cpu
