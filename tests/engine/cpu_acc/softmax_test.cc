// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/engine/cpu_acc/tuned.h"

namespace halyard::engine::cpu_test {
namespace {

constexpr DataType kReals[] = {DataType::FLOAT32, DataType::FLOAT16, DataType::QUANT8_ASYMM,
                               DataType::QUANT8_ASYMM_SIGNED};

double looser(DataType type) {
    return type == DataType::FLOAT32 ? 2e-5 : 4e-3;  // sums in another order
}

// Of every kind that normalises along an axis.
testing::AssertionResult normalizes(RandomValues& random, const Values& x, int32_t axis) {
    const TensorType& type = x.type;
    const TensorType output =
            isFloat(type.type) ? type : randomType(random, type.type, {}, 1.0F / 256);
    const float beta = random.real(0.1F, 3.0F);
    testing::AssertionResult result =
            agrees(Softmax{.beta = beta, .axis = axis}, {x}, {output}, looser(type.type));
    if (result) {
        result = agrees(L2Normalize{.axis = axis}, {x}, {output}, looser(type.type));
    }
    if (result && isFloat(type.type)) {
        result = agrees(LogSoftmax{.beta = beta, .axis = axis}, {x}, {output}, looser(type.type));
    }
    return result;
}

TEST(SoftmaxAcc, AgreesWithTheReferenceAlongAnyAxis) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : kReals) {
        for (int round = 0; round < 12; ++round) {
            TensorType x =
                    randomType(random, type, randomShape(random, 3, round == 0 ? 0 : 1, 40), 0.1F);
            const int32_t axis = random.integer(-3, 2);
            ASSERT_TRUE(normalizes(random, random.values(x), axis))
                    << x.toString() << " along " << axis;
        }
    }
}

TEST(SoftmaxAcc, TakesLongRows) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : kReals) {
        for (const int32_t length : {1, 1001, 5000}) {
            const TensorType x = randomType(random, type, {2, length}, 0.1F);
            ASSERT_TRUE(normalizes(random, random.values(x), 1)) << x.toString();
        }
    }
}

TEST(SoftmaxAcc, FindsTheLargestByteWhereverItIs) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    constexpr int32_t kLength = 150;
    for (const DataType type : {DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM_SIGNED}) {
        Values x = random.values(randomType(random, type, {kLength, kLength}, 0.1F));
        const bool isSigned = type == DataType::QUANT8_ASYMM_SIGNED;
        for (size_t row = 0; row < kLength; ++row) {
            for (size_t i = 0; i < kLength; ++i) {
                const int32_t value = i == row ? random.integer(60, 255) : random.integer(0, 50);
                x.bytes[row * kLength + i] = static_cast<uint8_t>(isSigned ? value - 128 : value);
            }
        }
        const TensorType output = randomType(random, type, {}, 1.0F / 256);
        ASSERT_TRUE(agrees(Softmax{.beta = 1.0F, .axis = 1}, {x}, {output}, 0.0));
    }
}

TEST(SoftmaxAcc, LeavesRowsOfMillionsToTheReference) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const TensorType x = randomType(random, DataType::FLOAT32, {1, (1 << 20) + 1});
    ASSERT_TRUE(agrees(L2Normalize(), {random.values(x)}, {x}, 0.0));
}

TEST(SoftmaxAcc, PassesOnWhatIsNoNumber) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    for (const float each : {nan, infinity, -infinity, 3e38F, 0.0F}) {
        const Values x = ref_test::floats({3, 2}, {1, each, each, each, 2, 3});
        ASSERT_TRUE(normalizes(random, x, 0)) << each;
        ASSERT_TRUE(normalizes(random, x, 1)) << each;
    }
}

}  // namespace
}  // namespace halyard::engine::cpu_test
