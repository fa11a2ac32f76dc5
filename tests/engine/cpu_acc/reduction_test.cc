// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/engine/cpu_acc/tuned.h"

namespace halyard::engine::cpu_test {
namespace {

using ref_test::ints;

constexpr Reduce::Function kReductions[] = {Reduce::Function::MEAN, Reduce::Function::SUM,
                                            Reduce::Function::PROD, Reduce::Function::MAX,
                                            Reduce::Function::MIN};

// Sums of many elements in another order, which may cancel out.
testing::AssertionResult agreesOn(const Reduce& node, const Values& x,
                                  const std::vector<int32_t>& axes, const TensorType& output) {
    return agrees(node, {x, ints({static_cast<int32_t>(axes.size())}, axes)}, {output},
                  output.type == DataType::FLOAT32 ? 2e-4 : 5e-3);
}

TEST(ReduceAcc, AgreesWithTheReference) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const std::vector<std::vector<int32_t>> axes = {
            {1, 2}, {-1}, {0}, {0, 1}, {3, 2, 1, 0}, {}, {2}, {0, 2}, {0, 3}, {1, 3}, {0, 1, 3}};
    for (const DataType type : {DataType::FLOAT32, DataType::FLOAT16, DataType::QUANT8_ASYMM,
                                DataType::QUANT8_ASYMM_SIGNED}) {
        for (const Reduce::Function function : kReductions) {
            if (!isFloat(type) &&
                (function == Reduce::Function::SUM || function == Reduce::Function::PROD)) {
                continue;
            }
            for (const std::vector<int32_t>& each : axes) {
                const int32_t least = random.integer(0, 5) == 0 ? 0 : 1;
                TensorType x = randomType(random, type, randomShape(random, 4, least, 9));
                x.shape[3] = random.integer(least, 150);
                const Reduce node = {.function = function, .keepDims = random.coin()};
                const TensorType output = random.coin() ? x : randomType(random, type, {});
                ASSERT_TRUE(agreesOn(node, random.values(x), each, output))
                        << toString(NodeDescriptor(node)) << " of " << x.toString() << ", "
                        << testing::PrintToString(each);
            }
        }
    }
}

TEST(ReduceAcc, MeansOfMoreThanAPartAreExact) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const Shape& shape : {Shape{1, 200003, 3}, Shape{1, 200003, 1}}) {
        const TensorType x = randomType(random, DataType::QUANT8_ASYMM, shape);
        ASSERT_TRUE(agreesOn({}, random.values(x), {1}, randomType(random, x.type, {})));
    }
}

// Of more rows than several threads share, and columns that fill no vector.
TEST(ReduceAcc, AddsFeatureMapsInParts) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : {DataType::FLOAT32, DataType::FLOAT16, DataType::QUANT8_ASYMM,
                                DataType::QUANT8_ASYMM_SIGNED}) {
        for (const int32_t channels : {32, 33, 100, 150}) {
            const TensorType x = randomType(random, type, {random.integer(1, 2), 17, 19, channels});
            const Values values = random.values(x);
            ASSERT_TRUE(agreesOn({}, values, {1, 2}, randomType(random, type, {})));
            if (isFloat(type)) {
                ASSERT_TRUE(agreesOn({.function = Reduce::Function::SUM}, values, {1, 2}, x));
            }
        }
    }
}

TEST(ReduceAcc, ANanIsMaximumAndMinimum) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    const Values x = ref_test::floats({4, 2}, {1, nan, infinity, -infinity, nan, 2, -3, 4});
    for (const Reduce::Function function : kReductions) {
        for (const int32_t axis : {0, 1}) {
            ASSERT_TRUE(agreesOn({.function = function}, x, {axis}, x.type));
        }
    }
}

TEST(ReduceAcc, AllAndAny) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 20; ++round) {
        const Shape shape = randomShape(random, 3, round % 4 == 0 ? 0 : 1, 40);
        std::vector<uint8_t> elements(static_cast<size_t>(*shape.elementCount()));
        const bool mostly = random.coin();
        for (uint8_t& element : elements) {
            element = (random.integer(0, 30) == 0) != mostly ? uint8_t{2} : uint8_t{0};
        }
        for (const auto function : {Reduce::Function::ALL, Reduce::Function::ANY}) {
            for (const std::vector<int32_t>& axes :
                 {std::vector<int32_t>{0}, std::vector<int32_t>{2}, std::vector<int32_t>{0, 2},
                  std::vector<int32_t>{0, 1, 2}}) {
                ASSERT_TRUE(agreesOn({.function = function}, ref_test::bools(shape, elements), axes,
                                     typeOf(DataType::BOOL8, {})))
                        << shape.toString();
            }
        }
    }
}

}  // namespace
}  // namespace halyard::engine::cpu_test
