// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "engine/graph/recurrence.h"
#include "tests/engine/reference/evaluation.h"
#include "tests/engine/reference/random_values.h"
#include "tests/engine/reference/sequence_values.h"

namespace halyard::engine::ref_test {
namespace {

using CellFunction = LstmAttributes::Function;
using Inputs = std::vector<std::optional<Values>>;
using Numbers = std::vector<double>;

constexpr int32_t kBatch = 2;
constexpr int32_t kInput = 3;
constexpr int32_t kUnits = 5;
constexpr int32_t kAux = 4;

struct Variant {
    bool inputGate = true;
    bool peepholes = false;
    bool projection = false;
    bool projectionBias = false;
    bool layerNorm = false;
    bool aux = false;
    LstmAttributes attributes = {};

    int32_t outputSize() const { return projection ? 3 : kUnits; }
    std::string toString() const {
        return std::string(inputGate ? "" : "CIFG ") + (peepholes ? "peepholes " : "") +
               (projection ? "projection " : "") + (projectionBias ? "with bias " : "") +
               (layerNorm ? "layer norm " : "") + (aux ? "aux " : "") +
               engine::toString(NodeDescriptor(Lstm{.attributes = attributes}));
    }
};

Variant randomVariant(RandomValues& random) {
    constexpr CellFunction kFunctions[] = {CellFunction::NONE,  CellFunction::RELU,
                                           CellFunction::RELU1, CellFunction::RELU6,
                                           CellFunction::TANH,  CellFunction::LOGISTIC};
    Variant variant = {.inputGate = random.coin(),
                       .peepholes = random.coin(),
                       .projection = random.coin(),
                       .layerNorm = random.coin()};
    variant.projectionBias = variant.projection && random.coin();
    variant.attributes.activation = kFunctions[random.integer(0, 5)];
    variant.attributes.cellClip = random.coin() ? 0.3F : 0.0F;
    variant.attributes.projectionClip = random.coin() ? 0.2F : 0.0F;
    return variant;
}

// The first 24 inputs, or all 29 for a sequence; x has the given shape.
Inputs randomInputs(const Variant& variant, DataType type, const Shape& x, RandomValues& random,
                    bool sequence) {
    const int32_t output = variant.outputSize();
    const auto tensor = [&](Shape shape) { return random.values(typeOf(type, shape)); };
    const auto when = [&](bool present, Shape shape) {
        return present ? std::optional(tensor(shape)) : std::nullopt;
    };
    Inputs inputs = {tensor(x)};
    inputs.push_back(when(variant.inputGate, {kUnits, kInput}));
    for (int i = 0; i < 3; ++i) {
        inputs.emplace_back(tensor({kUnits, kInput}));
    }
    inputs.push_back(when(variant.inputGate, {kUnits, output}));
    for (int i = 0; i < 3; ++i) {
        inputs.emplace_back(tensor({kUnits, output}));
    }
    inputs.push_back(when(variant.peepholes && variant.inputGate, {kUnits}));
    inputs.push_back(when(variant.peepholes, {kUnits}));
    inputs.push_back(when(variant.peepholes, {kUnits}));
    inputs.push_back(when(variant.inputGate, {kUnits}));
    for (int i = 0; i < 3; ++i) {
        inputs.emplace_back(tensor({kUnits}));
    }
    inputs.push_back(when(variant.projection, {output, kUnits}));
    inputs.push_back(when(variant.projectionBias, {output}));
    inputs.emplace_back(tensor({kBatch, output}));
    inputs.emplace_back(tensor({kBatch, kUnits}));
    inputs.push_back(when(variant.layerNorm && variant.inputGate, {kUnits}));
    for (int i = 0; i < 3; ++i) {
        inputs.push_back(when(variant.layerNorm, {kUnits}));
    }
    if (sequence) {
        Shape aux = x;
        aux[2] = kAux;
        inputs.push_back(when(variant.aux, aux));
        inputs.push_back(when(variant.aux && variant.inputGate, {kUnits, kAux}));
        for (int i = 0; i < 3; ++i) {
            inputs.push_back(when(variant.aux, {kUnits, kAux}));
        }
    }
    return inputs;
}

double apply(CellFunction function, double x) {
    switch (function) {
        case CellFunction::NONE:
            return x;
        case CellFunction::RELU:
            return std::max(x, 0.0);
        case CellFunction::RELU1:
            return std::clamp(x, -1.0, 1.0);
        case CellFunction::RELU6:
            return std::clamp(x, 0.0, 6.0);
        case CellFunction::TANH:
            return std::tanh(x);
        case CellFunction::LOGISTIC:
            return 1.0 / (1.0 + std::exp(-x));
    }
    return x;
}

Numbers numbers(const std::optional<Values>& values) {
    return values.has_value() ? reals(*values) : Numbers();
}

// The product of matrix [rows, columns] and the vector; zeros without a matrix.
Numbers product(const Numbers& matrix, const Numbers& vector, size_t rows) {
    Numbers result(rows);
    for (size_t i = 0; i < matrix.size(); ++i) {
        result[i / vector.size()] += matrix[i] * vector[i % vector.size()];
    }
    return result;
}

Numbers clipped(Numbers vector, double limit) {
    for (double& element : vector) {
        element = limit > 0 ? std::clamp(element, -limit, limit) : element;
    }
    return vector;
}

// The definition, in double precision, of one row of the batch.
struct Expected {
    Numbers output;
    Numbers cell;
};

Expected expectedRow(const LstmAttributes& attributes, const Inputs& inputs, const Numbers& x,
                     const Numbers& state, const Numbers& cell) {
    // Gate 0 to 3: input, forget, cell, output.
    const auto gate = [&](size_t which, const Numbers& seen, CellFunction function) {
        const Numbers w = product(numbers(inputs[1 + which]), x, kUnits);
        const Numbers r = product(numbers(inputs[5 + which]), state, kUnits);
        const size_t peephole = which == 3 ? 11 : 9 + which;
        const Numbers p = which == 2 ? Numbers() : numbers(inputs[peephole]);
        const Numbers bias = numbers(inputs[12 + which]);
        const Numbers norm = numbers(inputs[20 + which]);
        Numbers sum(kUnits);
        double mean = 0;
        for (size_t i = 0; i < kUnits; ++i) {
            sum[i] = w[i] + r[i] + (p.empty() ? 0.0 : p[i] * seen[i]);
            mean += sum[i] / kUnits;
        }
        double variance = 0;
        for (const double element : sum) {
            variance += (element - mean) * (element - mean) / kUnits;
        }
        for (size_t i = 0; i < kUnits; ++i) {
            if (!norm.empty()) {
                sum[i] = (sum[i] - mean) / std::sqrt(variance + 1e-8) * norm[i];
            }
            sum[i] = apply(function, sum[i] + bias[i]);
        }
        return sum;
    };
    const Numbers f = gate(1, cell, CellFunction::LOGISTIC);
    const Numbers g = gate(2, cell, attributes.activation);
    Numbers i(kUnits);
    for (size_t unit = 0; unit < kUnits; ++unit) {
        i[unit] = 1.0 - f[unit];
    }
    if (inputs[lstm::kInputToInputWeights].has_value()) {
        i = gate(0, cell, CellFunction::LOGISTIC);
    }
    Expected result;
    for (size_t unit = 0; unit < kUnits; ++unit) {
        result.cell.push_back(f[unit] * cell[unit] + i[unit] * g[unit]);
    }
    result.cell = clipped(result.cell, static_cast<double>(attributes.cellClip));
    const Numbers o = gate(3, result.cell, CellFunction::LOGISTIC);
    for (size_t unit = 0; unit < kUnits; ++unit) {
        result.output.push_back(o[unit] * apply(attributes.activation, result.cell[unit]));
    }
    if (inputs[lstm::kProjectionWeights].has_value()) {
        const size_t rows = state.size();
        Numbers projected = product(numbers(inputs[lstm::kProjectionWeights]), result.output, rows);
        const Numbers bias = numbers(inputs[lstm::kProjectionBias]);
        for (size_t row = 0; row < bias.size(); ++row) {
            projected[row] += bias[row];
        }
        result.output = clipped(projected, static_cast<double>(attributes.projectionClip));
    }
    return result;
}

Numbers rowOf(const Numbers& matrix, size_t row, size_t rows) {
    const auto length = static_cast<std::ptrdiff_t>(matrix.size() / rows);
    const auto first = matrix.begin() + static_cast<std::ptrdiff_t>(row) * length;
    return {first, first + length};
}

Expected expectedStep(const LstmAttributes& attributes, const Inputs& inputs) {
    Expected result;
    for (size_t row = 0; row < kBatch; ++row) {
        const auto of = [&](size_t input) { return rowOf(numbers(inputs[input]), row, kBatch); };
        const Expected one = expectedRow(attributes, inputs, of(lstm::kX), of(lstm::kOutputState),
                                         of(lstm::kCellState));
        result.output.insert(result.output.end(), one.output.begin(), one.output.end());
        result.cell.insert(result.cell.end(), one.cell.begin(), one.cell.end());
    }
    return result;
}

Result<std::vector<Values>> step(const LstmAttributes& attributes, const Inputs& inputs) {
    return evaluateAll(Lstm{.attributes = attributes}, inputs,
                       std::vector<TensorType>(4, typeOf(inputs[0]->type.type, {})));
}

Result<std::vector<Values>> sequence(const LstmSequence& node, const Inputs& inputs) {
    return evaluateAll(node, inputs, std::vector<TensorType>(3, typeOf(inputs[0]->type.type, {})));
}

TEST(Lstm, FollowsTheDefinitionInEveryVariant) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 200; ++round) {
        const Variant variant = randomVariant(random);
        SCOPED_TRACE(variant.toString());
        const DataType type = random.coin() ? DataType::FLOAT32 : DataType::FLOAT16;
        const Inputs inputs = randomInputs(variant, type, {kBatch, kInput}, random, false);
        const Result<std::vector<Values>> outputs = step(variant.attributes, inputs);
        ASSERT_TRUE(outputs.ok()) << outputs.status().toString();
        const Expected expected = expectedStep(variant.attributes, inputs);
        // A normalisation divides by what may be small, and enlarges errors.
        const double tolerance = type == DataType::FLOAT16 ? 4e-3 : 2e-5;
        EXPECT_TRUE(holds((*outputs)[1], expected.output, tolerance));
        EXPECT_TRUE(holds((*outputs)[2], expected.cell, tolerance));
        EXPECT_EQ((*outputs)[3].bytes, (*outputs)[1].bytes);
        ASSERT_FALSE(testing::Test::HasFailure());
    }
}

// From NNAPI's own tests of LSTM.
TEST(Lstm, GivesTheGoldenOutput) {
    const Inputs inputs = {
            floats({1, 2}, {2.0F, 3.0F}),
            floats({4, 2}, {-0.45018822F, -0.02338299F, -0.0870589F, -0.34550029F, 0.04266912F,
                            -0.1568057F, -0.34856534F, 0.43890524F}),
            floats({4, 2}, {0.09701663F, 0.20334584F, -0.50592935F, -0.31343272F, -0.40032279F,
                            0.44781327F, 0.01387155F, -0.35593212F}),
            floats({4, 2}, {-0.50013041F, 0.1370284F, 0.11810488F, 0.2013163F, -0.20583314F,
                            0.44344562F, 0.22077113F, -0.29909778F}),
            floats({4, 2}, {-0.25065863F, -0.28290087F, 0.04613829F, 0.40525138F, 0.44272184F,
                            0.03897077F, -0.1556896F, 0.19487578F}),
            floats({4, 4}, std::vector<float>(16)),
            floats({4, 4}, std::vector<float>(16)),
            floats({4, 4}, std::vector<float>(16)),
            floats({4, 4}, std::vector<float>(16)),
            std::nullopt,
            std::nullopt,
            std::nullopt,
            floats({4}, {0, 0, 0, 0}),
            floats({4}, {1, 1, 1, 1}),
            floats({4}, {0, 0, 0, 0}),
            floats({4}, {0, 0, 0, 0}),
            std::nullopt,
            std::nullopt,
            floats({1, 4}, {0, 0, 0, 0}),
            floats({1, 4}, {0, 0, 0, 0}),
            std::nullopt,
            std::nullopt,
            std::nullopt,
            std::nullopt,
    };
    const Result<std::vector<Values>> outputs = step({}, inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status().toString();
    EXPECT_TRUE(holds((*outputs)[2], {-0.145439, 0.157475, 0.293663, -0.277353}, 1e-5));
    EXPECT_TRUE(holds((*outputs)[3], {-0.02973187, 0.1229473, 0.20885126, -0.15358765}, 1e-5));
}

TEST(Lstm, LeavesZerosInTheScratchOutput) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const bool inputGate : {false, true}) {
        const Inputs inputs = randomInputs({.inputGate = inputGate}, DataType::FLOAT32,
                                           {kBatch, kInput}, random, false);
        const Result<std::vector<Values>> outputs = step({}, inputs);
        ASSERT_TRUE(outputs.ok()) << outputs.status().toString();
        EXPECT_TRUE(holds((*outputs)[0], Numbers(kBatch * kUnits * (inputGate ? 4U : 3U))));
    }
}

TEST(Lstm, NormalisesEqualSumsToTheBias) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    Inputs inputs =
            randomInputs({.layerNorm = true}, DataType::FLOAT32, {kBatch, kInput}, random, false);
    std::fill(inputs[lstm::kX]->bytes.begin(), inputs[lstm::kX]->bytes.end(), uint8_t{0});
    std::fill(inputs[lstm::kOutputState]->bytes.begin(), inputs[lstm::kOutputState]->bytes.end(),
              uint8_t{0});
    const Result<std::vector<Values>> outputs = step({}, inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status().toString();
    EXPECT_TRUE(holds((*outputs)[2], expectedStep({}, inputs).cell, 1e-6));
}

TEST(LstmSequence, IsStepsOneAfterTheOther) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    constexpr int32_t kTime = 4;
    for (int round = 0; round < 20; ++round) {
        const Variant variant = randomVariant(random);
        SCOPED_TRACE(variant.toString());
        const Inputs inputs =
                randomInputs(variant, DataType::FLOAT32, {kTime, kBatch, kInput}, random, true);
        const Result<std::vector<Values>> all =
                sequence({.attributes = variant.attributes, .timeMajor = true}, inputs);
        ASSERT_TRUE(all.ok()) << all.status().toString();
        Inputs single(inputs.begin(), inputs.begin() + lstm::kAux);
        for (int32_t i = 0; i < kTime; ++i) {
            single[lstm::kX] = stepOf(*inputs[lstm::kX], i);
            const Result<std::vector<Values>> one = step(variant.attributes, single);
            ASSERT_TRUE(one.ok()) << one.status().toString();
            EXPECT_EQ(stepOf((*all)[0], i).bytes, (*one)[3].bytes) << i;
            single[lstm::kOutputState] = (*one)[1];
            single[lstm::kCellState] = (*one)[2];
        }
        EXPECT_EQ((*all)[1].bytes, single[lstm::kOutputState]->bytes);
        EXPECT_EQ((*all)[2].bytes, single[lstm::kCellState]->bytes);
        ASSERT_FALSE(testing::Test::HasFailure());
    }
}

TEST(LstmSequence, GoesBackwardFromTheEnd) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    Inputs inputs =
            randomInputs({.aux = true}, DataType::FLOAT32, {3, kBatch, kInput}, random, true);
    const Result<std::vector<Values>> backward =
            sequence({.timeMajor = true, .backward = true}, inputs);
    inputs[lstm::kX] = reversed(*inputs[lstm::kX]);
    inputs[lstm::kAux] = reversed(*inputs[lstm::kAux]);
    const Result<std::vector<Values>> forward = sequence({.timeMajor = true}, inputs);
    ASSERT_TRUE(backward.ok() && forward.ok()) << backward.status().toString();
    EXPECT_EQ((*backward)[0].bytes, reversed((*forward)[0]).bytes);
    EXPECT_EQ((*backward)[1].bytes, (*forward)[1].bytes);
    EXPECT_EQ((*backward)[2].bytes, (*forward)[2].bytes);
}

TEST(LstmSequence, TakesTheBatchFirst) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const bool backward : {false, true}) {
        Inputs inputs =
                randomInputs({.aux = true}, DataType::FLOAT16, {3, kBatch, kInput}, random, true);
        const Result<std::vector<Values>> timeMajor =
                sequence({.timeMajor = true, .backward = backward}, inputs);
        inputs[lstm::kX] = exchanged(*inputs[lstm::kX]);
        inputs[lstm::kAux] = exchanged(*inputs[lstm::kAux]);
        const Result<std::vector<Values>> batchMajor = sequence({.backward = backward}, inputs);
        ASSERT_TRUE(timeMajor.ok() && batchMajor.ok()) << batchMajor.status().toString();
        EXPECT_EQ((*batchMajor)[0].bytes, exchanged((*timeMajor)[0]).bytes);
        EXPECT_EQ((*batchMajor)[1].bytes, (*timeMajor)[1].bytes);
        EXPECT_EQ((*batchMajor)[2].bytes, (*timeMajor)[2].bytes);
    }
}

// Two inputs with weights of their own are one input that is both.
TEST(LstmSequence, AddsTheAuxiliaryInput) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    Inputs inputs =
            randomInputs({.aux = true}, DataType::FLOAT32, {2, kBatch, kInput}, random, true);
    const Result<std::vector<Values>> separate = sequence({.timeMajor = true}, inputs);
    const auto join = [&](size_t left, size_t right) {
        const auto elements = [&](size_t input) {
            const Values& values = *inputs[input];
            const auto* const first = reinterpret_cast<const float*>(values.bytes.data());
            return std::vector<float>(first, first + values.bytes.size() / sizeof(float));
        };
        const std::vector<float> a = elements(left);
        const std::vector<float> b = elements(right);
        std::vector<float> joined;
        for (size_t row = 0; row < a.size() / kInput; ++row) {
            const auto index = static_cast<std::ptrdiff_t>(row);
            joined.insert(joined.end(), a.begin() + index * kInput,
                          a.begin() + (index + 1) * kInput);
            joined.insert(joined.end(), b.begin() + index * kAux, b.begin() + (index + 1) * kAux);
        }
        Shape shape = inputs[left]->type.shape;
        shape[shape.rank() - 1] = kInput + kAux;
        inputs[left] = floats(shape, joined);
        inputs[right] = std::nullopt;
    };
    join(lstm::kX, lstm::kAux);
    for (size_t gate = 0; gate < 4; ++gate) {
        join(lstm::kInputToInputWeights + gate, lstm::kAuxToInputWeights + gate);
    }
    const Result<std::vector<Values>> joined = sequence({.timeMajor = true}, inputs);
    ASSERT_TRUE(separate.ok() && joined.ok()) << joined.status().toString();
    for (size_t output = 0; output < 3; ++output) {
        EXPECT_TRUE(holds((*separate)[output], reals((*joined)[output]), 1e-6)) << output;
    }
}

// The states of a FLOAT16 sequence are rounded at its end only.
TEST(LstmSequence, KeepsStatesInFloat32) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const Inputs narrow = randomInputs({}, DataType::FLOAT16, {16, kBatch, kInput}, random, true);
    Inputs wide = narrow;
    for (std::optional<Values>& input : wide) {
        if (input.has_value()) {
            const Numbers exact = reals(*input);
            input = floats(input->type.shape, {exact.begin(), exact.end()});
        }
    }
    const Result<std::vector<Values>> halfs = sequence({.timeMajor = true}, narrow);
    const Result<std::vector<Values>> singles = sequence({.timeMajor = true}, wide);
    ASSERT_TRUE(halfs.ok() && singles.ok()) << halfs.status().toString();
    for (size_t output = 0; output < 3; ++output) {
        const Numbers exact = reals((*singles)[output]);
        EXPECT_EQ((*halfs)[output].bytes,
                  halves((*singles)[output].type.shape, {exact.begin(), exact.end()}).bytes)
                << output;
    }
}

TEST(LstmSequence, StopsWhenItMust) {
    RandomValues random;
    const std::atomic<bool> cancelled = true;
    const Inputs inputs = randomInputs({}, DataType::FLOAT32, {4096, kBatch, kInput}, random, true);
    const Result<std::vector<Values>> outputs = evaluateAll(
            LstmSequence{.timeMajor = true}, inputs,
            std::vector<TensorType>(3, typeOf(DataType::FLOAT32, {})), Checkpoint({}, &cancelled));
    ASSERT_FALSE(outputs.ok());
    EXPECT_EQ(outputs.status().code(), StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace halyard::engine::ref_test
