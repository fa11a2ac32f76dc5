// SPDX-License-Identifier: Apache-2.0
//
// The promise of getSupportedOperations, on random models: what it calls supported prepares, alone
// or together, and what it does not, does not. And models damaged at random never do worse than
// fail. Both print their seed.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "driver/model/verdicts.h"
#include "driver/ops/operation.h"
#include "tests/driver/device_fixture.h"
#include "tests/driver/model_builder.h"

namespace halyard::driver {
namespace {

class Random {
  public:
    explicit Random(uint32_t seed) : mEngine(seed) {}
    // In [0, count).
    uint32_t below(uint32_t count) { return static_cast<uint32_t>(mEngine() % count); }
    bool oneIn(uint32_t count) { return below(count) == 0; }

  private:
    std::mt19937 mEngine;
};

// Chains of operations over [1, 4, 4, 2] tensors, some of which Halyard can't run: operations that
// it lacks, scalars that are inputs, ranks that come too late.
class RandomModel {
  public:
    explicit RandomModel(Random& random) : mRandom(random) {
        const uint32_t count = 1 + random.below(6);
        mValues.push_back(mBuilder.input(spec()));
        for (uint32_t i = 0; i < count; ++i) {
            addOperation(i + 1 == count);
        }
    }
    Model build() { return mBuilder.build(); }

  private:
    OperandSpec spec() {
        std::vector<uint32_t> dimensions = {1, 4, 4, 2};
        if (mRandom.oneIn(6)) {
            dimensions[mRandom.below(4)] = 0;
        } else if (mRandom.oneIn(12)) {
            dimensions.clear();
        }
        return floats(dimensions);
    }
    uint32_t value() { return mValues[mRandom.below(static_cast<uint32_t>(mValues.size()))]; }
    uint32_t scalar(int32_t number) {
        return mRandom.oneIn(15) ? mBuilder.input({OperandType::INT32, {}})
                                 : mBuilder.int32(number);
    }

    void addOperation(bool last) {
        const uint32_t choice = mRandom.below(7);
        std::vector<uint32_t> inputs = {value()};
        OperationType type = OperationType::RELU;
        switch (choice) {
            case 0:
                type = OperationType::OEM_OPERATION;  // never one of Halyard's
                break;
            case 1:
                type = OperationType::ADD;
                inputs.push_back(value());
                inputs.push_back(scalar(static_cast<int32_t>(mRandom.below(4))));
                break;
            case 2:
                type = OperationType::MAX_POOL_2D;
                for (const int32_t number : {1, 1, 1, 3, 3, 0}) {
                    inputs.push_back(scalar(number));
                }
                break;
            case 3:
                type = OperationType::SOFTMAX;
                inputs.push_back(mBuilder.float32(1.0F));
                inputs.push_back(scalar(mRandom.oneIn(2) ? -1 : 1));
                break;
            case 4:
                type = OperationType::DEPTHWISE_CONV_2D;
                inputs.push_back(
                        mBuilder.constant(floats({1, 3, 3, 2}), std::vector<float>(18, 0.125F)));
                inputs.push_back(mBuilder.pooled(floats({2}), std::vector<float>(2, 1.0F)));
                for (const int32_t number : {1, 1, 1, 1, 0}) {
                    inputs.push_back(scalar(number));
                }
                break;
            case 5:
                type = OperationType::LOGISTIC;
                break;
            default:
                break;
        }
        const uint32_t output = last ? mBuilder.output(spec()) : mBuilder.temporary(spec());
        mBuilder.operation(type, inputs, {output});
        mValues.push_back(output);
    }

    Random& mRandom;
    ModelBuilder mBuilder;
    std::vector<uint32_t> mValues;
};

// The model of some of its operations, as the framework cuts it: what they read from outside
// becomes an input, what they write becomes an output.
Model cut(const Model& model, const std::vector<bool>& taken) {
    Model part = model;
    part.main.operations.clear();
    part.main.inputIndexes.clear();
    part.main.outputIndexes.clear();
    std::vector<bool> written(model.main.operands.size());
    std::vector<bool> read(model.main.operands.size());
    for (Operand& operand : part.main.operands) {
        operand.numberOfConsumers = 0;
    }
    for (size_t i = 0; i < taken.size(); ++i) {
        if (!taken[i]) {
            continue;
        }
        part.main.operations.push_back(model.main.operations[i]);
        for (const uint32_t input : model.main.operations[i].inputs) {
            read[input] = true;
            ++part.main.operands[input].numberOfConsumers;
        }
        for (const uint32_t output : model.main.operations[i].outputs) {
            written[output] = true;
        }
    }
    for (uint32_t i = 0; i < part.main.operands.size(); ++i) {
        Operand& operand = part.main.operands[i];
        if (operand.location.length != 0) {
            continue;  // a constant
        }
        if (written[i]) {
            operand.lifetime = OperandLifeTime::SUBGRAPH_OUTPUT;
            part.main.outputIndexes.push_back(i);
        } else if (read[i]) {
            operand.lifetime = OperandLifeTime::SUBGRAPH_INPUT;
            part.main.inputIndexes.push_back(i);
        } else {
            operand.lifetime = OperandLifeTime::NO_VALUE;
        }
    }
    return part;
}

Model only(const Model& model, size_t operation) {
    std::vector<bool> taken(model.main.operations.size());
    taken[operation] = true;
    return cut(model, taken);
}

bool allOf(const std::vector<bool>& flags) {
    return std::ranges::count(flags, false) == 0;
}

bool noneOf(const std::vector<bool>& flags) {
    return std::ranges::count(flags, true) == 0;
}

// Of a valid model: what contradicts itself beyond structure and signatures is valid too.
std::vector<bool> supportedBy(const Device& device, const Model& model) {
    const Result<std::vector<bool>> flags = device.supportedOperations(model, HalVersion::V1_3);
    EXPECT_TRUE(flags.ok()) << flags.status().toString();
    return flags.ok() ? *flags : std::vector<bool>(model.main.operations.size());
}

TEST(Support, IsWhatPrepares) {
    const std::unique_ptr<Device> device = makeDevice();
    const uint32_t seed = std::random_device()();
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    int supportedCount = 0;
    int unsupportedCount = 0;
    for (int round = 0; round < 300; ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        const Model model = RandomModel(random).build();
        // A temporary without a reader is valid, so any chain is; shapes may still contradict.
        const std::vector<bool> supported = supportedBy(*device, model);
        const Status whole = device->prepare(model, HalVersion::V1_3, {}).status();
        EXPECT_EQ(allOf(supported), whole.ok()) << whole.toString();
        for (size_t i = 0; i < supported.size(); ++i) {
            const Model alone = only(model, i);
            const Status status = device->prepare(alone, HalVersion::V1_3, {}).status();
            EXPECT_EQ(allOf(supportedBy(*device, alone)), status.ok())
                    << labelOf(model.main.operations[i], i) << ": " << status.toString();
            EXPECT_TRUE(!supported[i] || status.ok()) << status.toString();
            ++(supported[i] ? supportedCount : unsupportedCount);
        }
        // The framework cuts the supported ones out together, as far as they are next to each
        // other.
        if (!noneOf(supported)) {
            const Status together =
                    device->prepare(cut(model, supported), HalVersion::V1_3, {}).status();
            EXPECT_TRUE(together.ok()) << together.toString();
        }
        for (int part = 0; part < 3; ++part) {
            std::vector<bool> taken = supported;
            for (size_t i = 0; part > 0 && i < taken.size(); ++i) {
                taken[i] = !random.oneIn(3);
            }
            if (noneOf(taken)) {
                continue;
            }
            const Model cutOut = cut(model, taken);
            const Status status = device->prepare(cutOut, HalVersion::V1_3, {}).status();
            EXPECT_EQ(allOf(supportedBy(*device, cutOut)), status.ok()) << status.toString();
        }
    }
    EXPECT_GT(supportedCount, 100);
    EXPECT_GT(unsupportedCount, 100);
}

uint32_t damagedNumber(Random& random, uint32_t number) {
    switch (random.below(5)) {
        case 0:
            return 0xFFFFFFFF - random.below(3);
        case 1:
            return 0x80000000 - random.below(2);
        case 2:
            return number + 1;
        case 3:
            return number - 1;
        default:
            return random.below(20);
    }
}

void damage(Random& random, uint32_t& number) {
    number = damagedNumber(random, number);
}

void damage(Random& random, uint64_t& number) {
    const uint64_t high = random.oneIn(4) ? damagedNumber(random, 0) : 0;
    number = high << 32U | damagedNumber(random, static_cast<uint32_t>(number));
}

void damage(Random& random, std::vector<uint32_t>& numbers) {
    if (numbers.empty() || random.oneIn(4)) {
        numbers.insert(numbers.begin() + random.below(static_cast<uint32_t>(numbers.size()) + 1),
                       damagedNumber(random, 1));
    } else if (random.oneIn(4)) {
        numbers.pop_back();
    } else {
        damage(random, numbers[random.below(static_cast<uint32_t>(numbers.size()))]);
    }
}

void damage(Random& random, Operand& operand) {
    switch (random.below(8)) {
        case 0:
            operand.type = static_cast<OperandType>(damagedNumber(random, 5));
            break;
        case 1:
            damage(random, operand.dimensions);
            break;
        case 2:
            damage(random, operand.numberOfConsumers);
            break;
        case 3:
            operand.zeroPoint = static_cast<int32_t>(damagedNumber(random, 0));
            break;
        case 4:
            operand.lifetime = static_cast<OperandLifeTime>(damagedNumber(random, 4));
            break;
        case 5:
            damage(random, operand.location.poolIndex);
            break;
        case 6:
            damage(random, operand.location.offset);
            break;
        default:
            damage(random, operand.location.length);
    }
}

void damage(Random& random, Model& model, std::vector<uint8_t>& values) {
    Subgraph& main = model.main;
    switch (random.below(6)) {
        case 0:
            damage(random,
                   main.operations[random.below(static_cast<uint32_t>(main.operations.size()))]
                           .inputs);
            break;
        case 1:
            damage(random,
                   main.operations[random.below(static_cast<uint32_t>(main.operations.size()))]
                           .outputs);
            break;
        case 2:
            damage(random, random.oneIn(2) ? main.inputIndexes : main.outputIndexes);
            break;
        case 3:
            // Where the scalars are: paddings, strides, activations, axes.
            if (!values.empty()) {
                values[random.below(static_cast<uint32_t>(values.size()))] =
                        static_cast<uint8_t>(damagedNumber(random, 0));
            }
            break;
        default:
            damage(random,
                   main.operands[random.below(static_cast<uint32_t>(main.operands.size()))]);
    }
}

// Asking for verdicts changes no answer. Of a valid model each operation that is not supported has
// one, unless the model is refused as a whole.
void expectVerdicts(const Device& device, const Model& model, HalVersion version,
                    const Result<std::vector<bool>>& supported) {
    Verdicts verdicts(model);
    const Result<std::vector<bool>> told =
            device.supportedOperations(model, version, nullptr, &verdicts);
    EXPECT_EQ(told.status().toString(), supported.status().toString());
    if (!told.ok() || !supported.ok()) {
        return;
    }
    EXPECT_EQ(*told, *supported);
    for (size_t i = 0; !verdicts.empty() && i < told->size(); ++i) {
        EXPECT_NE((*told)[i], verdicts.has(i)) << i;
    }
    EXPECT_TRUE(!verdicts.empty() || allOf(*told) || noneOf(*told));
}

TEST(Support, IsDeniedToDamagedModelsWithoutHarm) {
    const std::unique_ptr<Device> device = makeDevice();
    const uint32_t seed = std::random_device()();
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    int rejected = 0;
    for (int round = 0; round < 3000; ++round) {
        Model model = RandomModel(random).build();
        std::vector<uint8_t> values = *model.operandValues;
        for (uint32_t i = 0; i <= random.below(3); ++i) {
            damage(random, model, values);
        }
        model.operandValues = std::make_shared<const std::vector<uint8_t>>(values);
        const HalVersion version = kVersions[random.below(kVersions.size())];
        const Result<std::vector<bool>> supported = device->supportedOperations(model, version);
        const Status prepared = device->prepare(model, version, {}).status();
        const bool promised = supported.ok() && std::ranges::count(*supported, false) == 0;
        expectVerdicts(*device, model, version, supported);
        EXPECT_EQ(promised, prepared.ok()) << "round " << round << ": " << prepared.toString()
                                           << " after " << supported.status().toString();
        rejected += prepared.ok() ? 0 : 1;
    }
    EXPECT_GT(rejected, 1000);
}

}  // namespace
}  // namespace halyard::driver
