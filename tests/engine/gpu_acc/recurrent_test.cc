// SPDX-License-Identifier: Apache-2.0
//
// LSTM, RNN and SVDF with floats, and their sequences.

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "engine/graph/recurrence.h"
#include "tests/engine/gpu_acc/on_device.h"
#include "tests/engine/reference/random_lstm.h"

namespace halyard::engine::gpu_test {
namespace {

using ref_test::floatInputs;
using ref_test::Inputs;
using ref_test::LstmCell;
using ref_test::randomAttributes;
using ref_test::weightsOf;

constexpr Activation kActivations[] = {Activation::NONE, Activation::RELU, Activation::RELU1,
                                       Activation::RELU6};

double toleranceOfSteps(DataType type) {
    return type == DataType::FLOAT16 ? 2e-2 : 1e-3;
}

// Small enough for errors not to grow from step to step.
Values weights(RandomValues& random, DataType type, const Shape& shape) {
    return ref_test::scaled(random.values(typeOf(type, shape)), 0.2F);
}

Shape sequenceOf(bool timeMajor, int32_t steps, int32_t batch, int32_t size) {
    return timeMajor ? Shape{steps, batch, size} : Shape{batch, steps, size};
}

TEST(GpuAccRecurrent, StepsAnLstmInEveryForm) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 10; ++round) {
        const LstmCell cell(random);
        const int32_t batch = round == 2 ? 0 : random.integer(1, round == 0 ? 70 : 6);
        const DataType type = kFloats[round % 4 == 3 ? 1 : 0];
        const Lstm node = {.attributes = randomAttributes(random)};
        const Inputs inputs =
                floatInputs(random, cell, type, {batch, cell.inputSize}, batch, lstm::kAux);
        const TensorType output = typeOf(type, {});
        const TensorType scratch =
                typeOf(type, {batch, (random.coin() && cell.coupled ? 3 : 4) * cell.units});
        ASSERT_TRUE(agrees(node, inputs, {scratch, output, output, output}, toleranceOfSteps(type),
                           random.coin() ? weightsOf() : 0))
                << toString(NodeDescriptor(node)) << " of " << batch << ", " << cell.units
                << " units";
    }
}

TEST(GpuAccRecurrent, StepsThroughSequencesOfLstms) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 10; ++round) {
        LstmCell cell(random);
        cell.inputSize += 1;
        const int32_t batch = round == 2 ? 0 : random.integer(1, 6);
        const int32_t steps = random.integer(round == 0 ? 0 : 1, round == 1 ? 70 : 6);
        const DataType type = kFloats[round % 4 == 3 ? 1 : 0];
        const LstmSequence node = {.attributes = randomAttributes(random),
                                   .timeMajor = random.coin(),
                                   .backward = random.coin()};
        Inputs inputs = floatInputs(random, cell, type,
                                    sequenceOf(node.timeMajor, steps, batch, cell.inputSize), batch,
                                    std::size(LstmSequence::kInputs));
        const int32_t auxSize = random.integer(1, 20);
        const int form = random.integer(0, 2);
        if (form == 1) {  // instead of x where backward
            inputs[lstm::kAux] = random.values(inputs[lstm::kX]->type);
        } else if (form == 2) {
            inputs[lstm::kAux] =
                    random.values(typeOf(type, sequenceOf(node.timeMajor, steps, batch, auxSize)));
            for (size_t i = lstm::kAuxToInputWeights; i <= lstm::kAuxToOutputWeights; ++i) {
                if (i != lstm::kAuxToInputWeights || !cell.coupled) {
                    inputs[i] = weights(random, type, {cell.units, auxSize});
                }
            }
        }
        const TensorType output = typeOf(type, {});
        ASSERT_TRUE(agreesIn({.constantInputs = random.coin() ? weightsOf() : 0}, node, inputs,
                             {output, output, output}, toleranceOfSteps(type)))
                << toString(NodeDescriptor(node)) << inputs[lstm::kX]->type.toString() << ", "
                << cell.units << " units, aux " << form;
    }
}

TEST(GpuAccRecurrent, StepsThroughRnns) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 8; ++round) {
        const DataType type = kFloats[round % 4 == 3 ? 1 : 0];
        const int32_t batch = random.integer(round == 1 ? 0 : 1, 6);
        const int32_t size = random.integer(0, 40);
        const int32_t units = random.integer(1, 90);
        const Activation activation = kActivations[round % 4];
        const TensorType output = typeOf(type, {});
        Inputs inputs = {random.values(typeOf(type, {batch, size})),
                         weights(random, type, {units, size}),
                         weights(random, type, {units, units}), weights(random, type, {units}),
                         random.values(typeOf(type, {batch, units}))};
        ASSERT_TRUE(agrees(Rnn{.activation = activation}, inputs, {output, output},
                           toleranceOfSteps(type)));
        const RnnSequence node = {
                .activation = activation, .timeMajor = random.coin(), .backward = random.coin()};
        const int32_t steps = random.integer(round == 0 ? 0 : 1, 7);
        const int32_t auxSize = random.integer(1, 20);
        const Shape x = sequenceOf(node.timeMajor, steps, batch, size);
        inputs[0] = random.values(typeOf(type, x));
        inputs.resize(std::size(RnnSequence::kInputs));
        const int form = random.integer(0, 2);
        if (form == 1) {
            inputs[5] = random.values(typeOf(type, x));
        } else if (form == 2) {
            inputs[5] =
                    random.values(typeOf(type, sequenceOf(node.timeMajor, steps, batch, auxSize)));
            inputs[6] = weights(random, type, {units, auxSize});
        }
        ASSERT_TRUE(agreesIn({}, node, inputs, {output, output}, toleranceOfSteps(type)))
                << toString(NodeDescriptor(node)) << x.toString() << ", " << units << " units, aux "
                << form;
    }
}

TEST(GpuAccRecurrent, RemembersWithSvdf) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 12; ++round) {
        const DataType type = kFloats[round % 2];
        const int32_t batch = random.integer(1, 6);
        const int32_t size = random.integer(0, 80);
        const int32_t memory = round == 0 ? 0 : random.integer(1, 12);
        const Svdf node = {.rank = random.integer(1, 3), .activation = kActivations[round % 4]};
        const int32_t units = random.integer(1, 40);
        const int32_t filters = units * node.rank;
        const TensorType output = typeOf(type, {});
        ASSERT_TRUE(agrees(
                node,
                {random.values(typeOf(type, {batch, size})), weights(random, type, {filters, size}),
                 weights(random, type, {filters, memory}),
                 random.coin() ? std::optional(weights(random, type, {units})) : std::nullopt,
                 random.values(typeOf(type, {batch, memory * filters}))},
                {output, output}, toleranceOfSteps(type)))
                << toString(NodeDescriptor(node)) << " of " << batch << ", " << units << " units";
    }
}

TEST(GpuAccRecurrent, RefusesWhatOnlyARunTells) {
    HALYARD_NEEDS_DEVICE();
    const TensorType any = typeOf(DataType::FLOAT32, Shape::unknownRank());
    RandomValues random;
    const LstmCell cell(random);
    EXPECT_EQ(refusal(Lstm(),
                      floatInputs(random, cell, DataType::FLOAT32, {1, cell.inputSize}, 1,
                                  lstm::kAux),
                      {any, any, any, any}),
              "has no scratch whose size only a run tells");
    const Values x = ref_test::floats({4097, 1, 0}, {});
    EXPECT_EQ(
            refusal(RnnSequence{.timeMajor = true},
                    {x, random.values(typeOf(DataType::FLOAT32, {1, 0})),
                     random.values(typeOf(DataType::FLOAT32, {1, 1})),
                     random.values(typeOf(DataType::FLOAT32, {1})),
                     random.values(typeOf(DataType::FLOAT32, {1, 1})), std::nullopt, std::nullopt},
                    {any, any}),
            "takes no more than 4096 steps");
}

}  // namespace
}  // namespace halyard::engine::gpu_test
