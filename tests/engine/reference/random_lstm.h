// SPDX-License-Identifier: Apache-2.0
//
// LSTMs of random sizes with any of their optional parts, for tests that compare backends with
// CpuRef.

#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/graph/recurrence.h"
#include "tests/engine/reference/evaluation.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine::ref_test {

using Inputs = std::vector<std::optional<Values>>;

// A bit for each input of an LSTM that is a weight.
inline constexpr uint64_t weightsOf() {
    uint64_t bits = (uint64_t{1} << lstm::kAux) - 1;
    for (const size_t input : {lstm::kX, lstm::kOutputState, lstm::kCellState}) {
        bits &= ~(uint64_t{1} << input);
    }
    return bits;
}

// The sizes and parts of a cell, by chance.
struct LstmCell {
    explicit LstmCell(RandomValues& random)
        : inputSize(random.integer(0, 40)),
          units(random.integer(1, 90)),
          coupled(random.coin()),
          peeps(random.coin()),
          normalizes(random.coin()),
          projects(random.coin()),
          projectionBias(random.coin()) {
        outputSize = projects ? random.integer(1, 70) : units;
    }

    bool has(size_t input) const {
        using namespace lstm;
        const bool inputGate = input == kInputToInputWeights || input == kRecurrentToInputWeights ||
                               input == kCellToInputWeights || input == kInputGateBias ||
                               input == kInputLayerNormWeights;
        if (inputGate && coupled) {
            return false;
        }
        if (input >= kCellToInputWeights && input <= kCellToOutputWeights) {
            return peeps;
        }
        if (input >= kInputLayerNormWeights && input <= kOutputLayerNormWeights) {
            return normalizes;
        }
        return input == kProjectionWeights ? projects
               : input == kProjectionBias  ? projects && projectionBias
                                           : input < kAux;
    }

    Shape shapeOf(size_t input) const {
        using namespace lstm;
        if (input <= kInputToOutputWeights) {
            return {units, inputSize};
        }
        if (input <= kRecurrentToOutputWeights) {
            return {units, outputSize};
        }
        return input == kProjectionWeights ? Shape{outputSize, units}
               : input == kProjectionBias  ? Shape{outputSize}
                                           : Shape{units};
    }

    int32_t inputSize;
    int32_t units;
    int32_t outputSize = 0;
    bool coupled;
    bool peeps;
    bool normalizes;
    bool projects;
    bool projectionBias;
};

inline Values scaled(const Values& values, float factor) {
    std::vector<float> elements;
    for (const double element : stored(values)) {
        elements.push_back(static_cast<float>(element) * factor);
    }
    return values.type.type == DataType::FLOAT16 ? halves(values.type.shape, elements)
                                                 : floats(values.type.shape, elements);
}

inline Inputs floatInputs(RandomValues& random, const LstmCell& cell, DataType type, const Shape& x,
                          int32_t batch, size_t count) {
    Inputs inputs(count);
    inputs[lstm::kX] = random.values(typeOf(type, x));
    inputs[lstm::kOutputState] = random.values(typeOf(type, {batch, cell.outputSize}));
    inputs[lstm::kCellState] = random.values(typeOf(type, {batch, cell.units}));
    for (size_t i = 0; i < lstm::kAux; ++i) {
        if (!inputs[i].has_value() && cell.has(i)) {
            // Small enough for errors not to grow from step to step.
            inputs[i] = scaled(random.values(typeOf(type, cell.shapeOf(i))), 0.2F);
        }
    }
    return inputs;
}

inline LstmAttributes randomAttributes(RandomValues& random) {
    using Function = LstmAttributes::Function;
    constexpr Function kFunctions[] = {Function::NONE,  Function::RELU, Function::RELU1,
                                       Function::RELU6, Function::TANH, Function::LOGISTIC};
    return {.activation = kFunctions[random.integer(0, 5)],
            .cellClip = random.coin() ? 0.0F : random.real(0.1F, 2.0F),
            .projectionClip = random.coin() ? 0.0F : random.real(0.1F, 2.0F)};
}

// ---- In fixed point -----------------------------------------------------------------------------

struct QuantizedLstmCase {
    QuantizedLstm node;
    Inputs inputs = Inputs(lstm::kAux);
};

// Such that gates neither all saturate nor all stay in the middle.
inline QuantizedLstmCase randomQuantizedCase(RandomValues& random, LstmCell cell, int32_t batch) {
    cell.normalizes = false;
    QuantizedLstmCase result;
    const TensorType state = random.quantization(DataType::QUANT8_ASYMM_SIGNED, 0.008F);
    const float cellScale = std::ldexp(1.0F, random.integer(-15, -9));
    const auto add = [&](size_t input, TensorType type, Shape shape) {
        type.shape = shape;
        result.inputs[input] = random.values(type);
    };
    add(lstm::kX, random.quantization(DataType::QUANT8_ASYMM_SIGNED, 0.02F),
        {batch, cell.inputSize});
    add(lstm::kOutputState, state, {batch, cell.outputSize});
    add(lstm::kCellState, typeOf(DataType::QUANT16_SYMM, {}, cellScale), {batch, cell.units});
    for (size_t i = 0; i < lstm::kAux; ++i) {
        if (result.inputs[i].has_value() || !cell.has(i)) {
            continue;
        }
        const bool isBias = (i >= lstm::kInputGateBias && i <= lstm::kOutputGateBias) ||
                            i == lstm::kProjectionBias;
        const bool isPeephole = i >= lstm::kCellToInputWeights && i <= lstm::kCellToOutputWeights;
        if (isBias) {
            std::vector<int32_t> biases(static_cast<size_t>(cell.shapeOf(i)[0]));
            for (int32_t& bias : biases) {
                bias = random.integer(-20000, 20000);
            }
            result.inputs[i] = ints(cell.shapeOf(i), biases);
        } else {
            add(i,
                isPeephole ? random.quantization(DataType::QUANT16_SYMM, 5e-5F)
                           : random.quantization(DataType::QUANT8_SYMM, 0.005F),
                cell.shapeOf(i));
        }
    }
    result.node.cellClip = random.coin() ? 0.0F : random.real(0.0F, 1e4F * cellScale);
    result.node.projectionClip = random.coin() ? 0.0F : random.real(0.05F, 2.0F);
    result.node.hiddenScale = 0.008F * random.real(0.5F, 2.0F);
    result.node.hiddenZeroPoint = random.integer(-128, 127);
    return result;
}

}  // namespace halyard::engine::ref_test
