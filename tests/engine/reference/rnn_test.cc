// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "tests/engine/reference/evaluation.h"
#include "tests/engine/reference/random_values.h"
#include "tests/engine/reference/sequence_values.h"

namespace halyard::engine::ref_test {
namespace {

using Inputs = std::vector<std::optional<Values>>;
using Numbers = std::vector<double>;

constexpr int32_t kBatch = 2;
constexpr int32_t kInput = 3;
constexpr int32_t kAuxSize = 4;
constexpr int32_t kUnits = 5;
enum Input : size_t { kX, kWeights, kRecurrentWeights, kBias, kHidden, kAux, kAuxWeights };

constexpr Activation kActivations[] = {Activation::NONE, Activation::RELU, Activation::RELU1,
                                       Activation::RELU6};

double apply(Activation activation, double x) {
    switch (activation) {
        case Activation::NONE:
            return x;
        case Activation::RELU:
            return std::max(x, 0.0);
        case Activation::RELU1:
            return std::clamp(x, -1.0, 1.0);
        case Activation::RELU6:
            return std::clamp(x, 0.0, 6.0);
    }
    return x;
}

// With weights large enough for every activation to clamp something.
Inputs randomInputs(DataType type, RandomValues& random, const Shape& x) {
    const auto tensor = [&](Shape shape, float scale) {
        Values values = random.values(typeOf(DataType::FLOAT32, shape));
        std::vector<float> scaled;
        for (const double number : reals(values)) {
            scaled.push_back(static_cast<float>(number) * scale);
        }
        return type == DataType::FLOAT16 ? halves(shape, scaled) : floats(shape, scaled);
    };
    return {tensor(x, 1), tensor({kUnits, kInput}, 4), tensor({kUnits, kUnits}, 1),
            tensor({kUnits}, 4), tensor({kBatch, kUnits}, 1)};
}

// The definition, in double precision.
Numbers expectedStep(Activation activation, const Inputs& inputs) {
    const Numbers x = reals(*inputs[kX]);
    const Numbers w = reals(*inputs[kWeights]);
    const Numbers r = reals(*inputs[kRecurrentWeights]);
    const Numbers bias = reals(*inputs[kBias]);
    const Numbers hidden = reals(*inputs[kHidden]);
    Numbers result;
    for (size_t row = 0; row < kBatch; ++row) {
        for (size_t unit = 0; unit < kUnits; ++unit) {
            double sum = bias[unit];
            for (size_t i = 0; i < kInput; ++i) {
                sum += w[unit * kInput + i] * x[row * kInput + i];
            }
            for (size_t i = 0; i < kUnits; ++i) {
                sum += r[unit * kUnits + i] * hidden[row * kUnits + i];
            }
            result.push_back(apply(activation, sum));
        }
    }
    return result;
}

Result<std::vector<Values>> run(const NodeDescriptor& node, Inputs inputs) {
    const DataType type = inputs[kX]->type.type;
    inputs.resize(signatureOf(node).inputs.size());
    return evaluateAll(node, inputs, std::vector<TensorType>(2, typeOf(type, {})));
}

TEST(Rnn, FollowsItsDefinition) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : {DataType::FLOAT32, DataType::FLOAT16}) {
        for (const Activation activation : kActivations) {
            const Inputs inputs = randomInputs(type, random, {kBatch, kInput});
            const Result<std::vector<Values>> outputs = run(Rnn{.activation = activation}, inputs);
            ASSERT_TRUE(outputs.ok()) << outputs.status().toString();
            EXPECT_TRUE(approximates((*outputs)[0], expectedStep(activation, inputs)));
            EXPECT_EQ((*outputs)[1].bytes, (*outputs)[0].bytes);
        }
    }
}

TEST(RnnSequence, IsStepsOneAfterTheOther) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    constexpr int32_t kTime = 4;
    const Inputs inputs = randomInputs(DataType::FLOAT32, random, {kTime, kBatch, kInput});
    const Result<std::vector<Values>> all =
            run(RnnSequence{.activation = Activation::RELU1, .timeMajor = true}, inputs);
    ASSERT_TRUE(all.ok()) << all.status().toString();
    Inputs single = inputs;
    for (int32_t i = 0; i < kTime; ++i) {
        single[kX] = stepOf(*inputs[kX], i);
        const Result<std::vector<Values>> one = run(Rnn{.activation = Activation::RELU1}, single);
        ASSERT_TRUE(one.ok()) << one.status().toString();
        EXPECT_EQ(stepOf((*all)[0], i).bytes, (*one)[0].bytes) << i;
        single[kHidden] = (*one)[0];
    }
    EXPECT_EQ((*all)[1].bytes, single[kHidden]->bytes);
}

// With aux inputs, whose weights are left out or not.
class RnnSequenceOrder : public testing::TestWithParam<bool> {
  protected:
    Inputs inputs() {
        Inputs inputs = randomInputs(DataType::FLOAT16, mRandom, {3, kBatch, kInput});
        const int32_t size = GetParam() ? kAuxSize : kInput;
        inputs.emplace_back(mRandom.values(typeOf(DataType::FLOAT16, {3, kBatch, size})));
        if (GetParam()) {
            inputs.emplace_back(mRandom.values(typeOf(DataType::FLOAT16, {kUnits, kAuxSize})));
        }
        return inputs;
    }
    RandomValues mRandom;
};

TEST_P(RnnSequenceOrder, MayBeBackwards) {
    SCOPED_TRACE(mRandom.seedText());
    Inputs given = inputs();
    const Result<std::vector<Values>> backward =
            run(RnnSequence{.timeMajor = true, .backward = true}, given);
    if (!GetParam()) {
        given[kX] = given[kAux];  // which forward reads nothing but x
    }
    given[kX] = reversed(*given[kX]);
    given[kAux] = reversed(*given[kAux]);
    const Result<std::vector<Values>> forward = run(RnnSequence{.timeMajor = true}, given);
    ASSERT_TRUE(backward.ok() && forward.ok()) << backward.status().toString();
    EXPECT_EQ((*backward)[0].bytes, reversed((*forward)[0]).bytes);
    EXPECT_EQ((*backward)[1].bytes, (*forward)[1].bytes);
}

TEST_P(RnnSequenceOrder, MayHaveTheBatchFirst) {
    SCOPED_TRACE(mRandom.seedText());
    for (const bool backward : {false, true}) {
        Inputs given = inputs();
        const Result<std::vector<Values>> timeMajor =
                run(RnnSequence{.timeMajor = true, .backward = backward}, given);
        given[kX] = exchanged(*given[kX]);
        given[kAux] = exchanged(*given[kAux]);
        const Result<std::vector<Values>> batchMajor =
                run(RnnSequence{.backward = backward}, given);
        ASSERT_TRUE(timeMajor.ok() && batchMajor.ok()) << batchMajor.status().toString();
        EXPECT_EQ((*batchMajor)[0].bytes, exchanged((*timeMajor)[0]).bytes);
        EXPECT_EQ((*batchMajor)[1].bytes, (*timeMajor)[1].bytes);
    }
}

INSTANTIATE_TEST_SUITE_P(Aux, RnnSequenceOrder, testing::Bool(), [](const auto& param) {
    return param.param ? "Weighed" : "InsteadOfTheInput";
});

// Aux adds what more bias adds, where it is the same in every step and row.
TEST(RnnSequence, AddsTheAuxiliaryInput) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    Inputs inputs = randomInputs(DataType::FLOAT32, random, {3, kBatch, kInput});
    const Numbers weights = reals(random.values(typeOf(DataType::FLOAT32, {kUnits, 1})));
    Inputs withAux = inputs;
    withAux.emplace_back(floats({3, kBatch, 1}, std::vector<float>(3 * kBatch, 2.0F)));
    withAux.emplace_back(floats({kUnits, 1}, {weights.begin(), weights.end()}));
    Numbers bias = reals(*inputs[kBias]);
    for (size_t unit = 0; unit < kUnits; ++unit) {
        bias[unit] += 2.0 * weights[unit];
    }
    inputs[kBias] = floats({kUnits}, {bias.begin(), bias.end()});
    const RnnSequence node = {.activation = Activation::RELU6, .timeMajor = true};
    const Result<std::vector<Values>> expected = run(node, inputs);
    const Result<std::vector<Values>> actual = run(node, withAux);
    ASSERT_TRUE(expected.ok() && actual.ok()) << actual.status().toString();
    for (size_t output = 0; output < 2; ++output) {
        EXPECT_TRUE(holds((*actual)[output], reals((*expected)[output]), 1e-4));
    }
}

// NNAPI's SVDF in double precision, as its golden cases have it: state [b, n, memory], filters of a
// unit side by side; the state's last elements are not read, and given away as zeros.
TEST(Svdf, FollowsItsDefinition) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    constexpr size_t kFilters = 6;
    constexpr size_t kMemory = 4;
    for (const DataType type : {DataType::FLOAT32, DataType::FLOAT16}) {
        for (const size_t rank : {1U, 2U, 3U}) {
            const bool hasBias = rank != 2;
            const size_t units = kFilters / rank;
            const auto tensor = [&](Shape shape) { return random.values(typeOf(type, shape)); };
            Inputs inputs(5);
            inputs[0] = tensor({kBatch, kInput});
            inputs[1] = tensor({kFilters, kInput});
            inputs[2] = tensor({kFilters, kMemory});
            if (hasBias) {
                inputs[3] = tensor({static_cast<int32_t>(units)});
            }
            inputs[4] = tensor({kBatch, kMemory * kFilters});
            const Numbers x = reals(*inputs[0]);
            const Numbers feature = reals(*inputs[1]);
            const Numbers time = reals(*inputs[2]);
            const Numbers bias = hasBias ? reals(*inputs[3]) : Numbers(units);
            const Numbers old = reals(*inputs[4]);
            Numbers state;
            Numbers output;
            for (size_t row = 0; row < kBatch; ++row) {
                Numbers sums = bias;
                for (size_t filter = 0; filter < kFilters; ++filter) {
                    const auto first =
                            static_cast<std::ptrdiff_t>((row * kFilters + filter) * kMemory);
                    Numbers memory(old.begin() + first, old.begin() + first + kMemory - 1);
                    memory.push_back(0);
                    for (size_t i = 0; i < kInput; ++i) {
                        memory.back() += feature[filter * kInput + i] * x[row * kInput + i];
                    }
                    for (size_t i = 0; i < kMemory; ++i) {
                        sums[filter / rank] += time[filter * kMemory + i] * memory[i];
                    }
                    state.insert(state.end(), memory.begin() + 1, memory.end());
                    state.push_back(0);
                }
                for (const double sum : sums) {
                    output.push_back(std::max(sum, 0.0));
                }
            }
            const Result<std::vector<Values>> outputs =
                    run(Svdf{.rank = static_cast<int32_t>(rank), .activation = Activation::RELU},
                        inputs);
            ASSERT_TRUE(outputs.ok()) << outputs.status().toString();
            EXPECT_TRUE(approximates((*outputs)[0], state)) << "rank " << rank;
            EXPECT_TRUE(approximates((*outputs)[1], output)) << "rank " << rank;
        }
    }
}

TEST(Svdf, WithoutMemoryIsItsBias) {
    const Inputs inputs = {floats({1, 2}, {1, 2}), floats({2, 2}, {1, 2, 3, 4}), floats({2, 0}, {}),
                           floats({2}, {5, -6}), floats({1, 0}, {})};
    const Result<std::vector<Values>> outputs = run(Svdf(), inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status().toString();
    EXPECT_TRUE(holds((*outputs)[1], {5, -6}));
}

}  // namespace
}  // namespace halyard::engine::ref_test
