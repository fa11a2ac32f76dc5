// SPDX-License-Identifier: Apache-2.0
//
// Recurrent nodes of floats: GEMM of inputs and weights, for all steps of a sequence before the
// first of them or in a step, and the cell that takes the sums. States are float32 between the
// steps, whatever type stores them outside.

#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/backends/gpu/planning/step_plan.h"
#include "engine/graph/nodes.h"

namespace halyard::engine::gpu {

// Elements on the device, and how they are stored.
struct Stored {
    Operand operand = {};
    std::string_view storage = "F32";
};

// Rows of `size` elements, `stride` elements from an element of the batch to the next.
struct StoredRows {
    Stored elements;
    int64_t size = 0;
    int64_t stride = 0;
};

// result = bias + rows * weights, or result += rows * weights: [rows, columns] of float32 with
// `stride` elements from a row to the next.
struct InputGemm {
    Stored x;
    Operand weights;  // [columns, depth], stored as x, as is the bias
    std::optional<Operand> bias = {};
    Operand result;
    bool adds = false;
    int64_t rows = 0;
    int64_t columns = 0;
    int64_t depth = 0;
    int64_t stride = 0;
};
Status addInputGemm(StepPlan& step, const InputGemm& product);

// The gates of an LSTM, or what takes the place of one. Weights, biases and all that belongs to a
// gate are stored as `storage` says.
struct GateOperands {
    Operand recurrentWeights;               // [units, state]
    std::optional<Operand> weights = {};    // [units, x]; where a step multiplies x
    std::optional<Operand> bias = {};       // added in the step
    std::optional<Operand> peephole = {};   // of a cell
    std::optional<Operand> layerNorm = {};  // of a cell: all gates or none
};

// The cell of an LSTM, whose gates are those of the input (left out: 1 minus the next), what is
// forgotten, the cell's input and the output.
struct CellOperands {
    LstmAttributes attributes = {};
    Stored before;
    Stored after;
};

// For each element of the batch and each unit: the sum of each gate, and what a cell makes of
// these, or, of one gate without a cell, the sum between the limits.
struct RecurrentStep {
    std::string_view storage = "F32";
    std::vector<GateOperands> gates;  // 1, or 3 or 4 of a cell
    int64_t batch = 0;
    int64_t units = 0;
    StoredRows state;
    std::optional<StoredRows> x = {};
    // Sums over other inputs that a GEMM has computed already: [element, gate, unit].
    std::optional<StoredRows> sums = {};
    std::optional<CellOperands> cell = {};
    // Where gates are normalised: scratch memory for a float32 of each element, gate and unit.
    std::optional<Operand> gateScratch = {};
    float low = -std::numeric_limits<float>::infinity();
    float high = std::numeric_limits<float>::infinity();
    // Where the results go: to one or both, [element, unit].
    std::optional<Stored> result = {};
    std::optional<StoredRows> output = {};
};
Status addRecurrentStep(StepPlan& step, const RecurrentStep& recurrent);

}  // namespace halyard::engine::gpu
