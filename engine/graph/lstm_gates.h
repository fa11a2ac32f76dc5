// SPDX-License-Identifier: Apache-2.0
//
// Where the parts of each gate stand among the inputs of Lstm, LstmSequence and QuantizedLstm.

#pragma once

#include <cstddef>
#include <optional>

#include "engine/graph/recurrence.h"

namespace halyard::engine::lstm {

struct GateInputs {
    size_t weights = 0;
    size_t recurrentWeights = 0;
    std::optional<size_t> peephole;  // the gate of the cell's input has none
    size_t bias = 0;
    size_t layerNorm = 0;
    size_t auxWeights = 0;  // LstmSequence only
};

inline constexpr GateInputs kInputGate = {.weights = kInputToInputWeights,
                                          .recurrentWeights = kRecurrentToInputWeights,
                                          .peephole = kCellToInputWeights,
                                          .bias = kInputGateBias,
                                          .layerNorm = kInputLayerNormWeights,
                                          .auxWeights = kAuxToInputWeights};
inline constexpr GateInputs kForgetGate = {.weights = kInputToForgetWeights,
                                           .recurrentWeights = kRecurrentToForgetWeights,
                                           .peephole = kCellToForgetWeights,
                                           .bias = kForgetGateBias,
                                           .layerNorm = kForgetLayerNormWeights,
                                           .auxWeights = kAuxToForgetWeights};
inline constexpr GateInputs kCellGate = {.weights = kInputToCellWeights,
                                         .recurrentWeights = kRecurrentToCellWeights,
                                         .peephole = std::nullopt,
                                         .bias = kCellGateBias,
                                         .layerNorm = kCellLayerNormWeights,
                                         .auxWeights = kAuxToCellWeights};
inline constexpr GateInputs kOutputGate = {.weights = kInputToOutputWeights,
                                           .recurrentWeights = kRecurrentToOutputWeights,
                                           .peephole = kCellToOutputWeights,
                                           .bias = kOutputGateBias,
                                           .layerNorm = kOutputLayerNormWeights,
                                           .auxWeights = kAuxToOutputWeights};

}  // namespace halyard::engine::lstm
