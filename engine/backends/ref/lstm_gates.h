// SPDX-License-Identifier: Apache-2.0
//
// Where the parts of each gate stand among the inputs of Lstm, LstmSequence and QuantizedLstm.

#pragma once

#include <cstddef>
#include <optional>

#include "engine/graph/recurrence.h"

namespace halyard::engine::ref {

struct GateInputs {
    size_t weights = 0;
    size_t recurrentWeights = 0;
    std::optional<size_t> peephole;  // the gate of the cell's input has none
    size_t bias = 0;
    size_t layerNorm = 0;
    size_t auxWeights = 0;  // LstmSequence only
};

inline constexpr GateInputs kInputGate = {.weights = lstm::kInputToInputWeights,
                                          .recurrentWeights = lstm::kRecurrentToInputWeights,
                                          .peephole = lstm::kCellToInputWeights,
                                          .bias = lstm::kInputGateBias,
                                          .layerNorm = lstm::kInputLayerNormWeights,
                                          .auxWeights = lstm::kAuxToInputWeights};
inline constexpr GateInputs kForgetGate = {.weights = lstm::kInputToForgetWeights,
                                           .recurrentWeights = lstm::kRecurrentToForgetWeights,
                                           .peephole = lstm::kCellToForgetWeights,
                                           .bias = lstm::kForgetGateBias,
                                           .layerNorm = lstm::kForgetLayerNormWeights,
                                           .auxWeights = lstm::kAuxToForgetWeights};
inline constexpr GateInputs kCellGate = {.weights = lstm::kInputToCellWeights,
                                         .recurrentWeights = lstm::kRecurrentToCellWeights,
                                         .peephole = std::nullopt,
                                         .bias = lstm::kCellGateBias,
                                         .layerNorm = lstm::kCellLayerNormWeights,
                                         .auxWeights = lstm::kAuxToCellWeights};
inline constexpr GateInputs kOutputGate = {.weights = lstm::kInputToOutputWeights,
                                           .recurrentWeights = lstm::kRecurrentToOutputWeights,
                                           .peephole = lstm::kCellToOutputWeights,
                                           .bias = lstm::kOutputGateBias,
                                           .layerNorm = lstm::kOutputLayerNormWeights,
                                           .auxWeights = lstm::kAuxToOutputWeights};

}  // namespace halyard::engine::ref
