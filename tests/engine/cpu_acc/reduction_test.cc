// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/engine/cpu_acc/tuned.h"

namespace halyard::engine::cpu_test {
namespace {

using ref_test::ints;

constexpr Reduce::Function kFunctions[] = {Reduce::Function::MEAN, Reduce::Function::SUM,
                                           Reduce::Function::PROD, Reduce::Function::MAX,
                                           Reduce::Function::MIN};

// Settings with axes that are computed are CpuRef's.
testing::AssertionResult agreesOnConstantAxes(const Reduce& node, const Values& x,
                                              const std::vector<int32_t>& axes,
                                              const TensorType& output) {
    const std::vector<std::optional<Values>> inputs = {
            x, ints({static_cast<int32_t>(axes.size())}, axes)};
    const Result<std::vector<Values>> expected = ref_test::evaluateAll(node, inputs, {output});
    for (const cpu::InstructionSet set : cpu::availableInstructionSets()) {
        for (const size_t threads : {1, 3}) {
            const Result<std::vector<Values>> actual =
                    evaluateTuned(node, inputs, {output},
                                  {.set = set, .threads = threads, .shapesAreKnown = threads == 1});
            if (!actual.ok() || !expected.ok()) {
                return testing::AssertionFailure() << actual.status().toString();
            }
            // Sums of many elements in another order, which may cancel out.
            const double tolerance = output.type == DataType::FLOAT32 ? 2e-4 : 5e-3;
            const testing::AssertionResult same =
                    sameValues((*actual)[0], (*expected)[0], tolerance, 1.0);
            if (!same) {
                return testing::AssertionFailure() << cpu::toString(set) << ": " << same.message();
            }
        }
    }
    return testing::AssertionSuccess();
}

TEST(ReduceAcc, AgreesWithTheReference) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const std::vector<std::vector<int32_t>> axes = {{1, 2},       {-1}, {0}, {0, 1},
                                                    {3, 2, 1, 0}, {},   {2}};
    for (const DataType type : {DataType::FLOAT32, DataType::FLOAT16, DataType::QUANT8_ASYMM,
                                DataType::QUANT8_ASYMM_SIGNED}) {
        for (const Reduce::Function function : kFunctions) {
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
                ASSERT_TRUE(agreesOnConstantAxes(node, random.values(x), each, output))
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
        ASSERT_TRUE(
                agreesOnConstantAxes({}, random.values(x), {1}, randomType(random, x.type, {})));
    }
}

TEST(ReduceAcc, ANanIsMaximumAndMinimum) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    const Values x = ref_test::floats({4, 2}, {1, nan, infinity, -infinity, nan, 2, -3, 4});
    for (const Reduce::Function function : kFunctions) {
        for (const int32_t axis : {0, 1}) {
            ASSERT_TRUE(agreesOnConstantAxes({.function = function}, x, {axis}, x.type));
        }
    }
}

TEST(ReduceAcc, LeavesScatteredAxesToTheReference) {
    const Values x = ref_test::floats({1, 1, 1}, {1});
    EXPECT_EQ(evaluateTuned(Reduce(), {x, ints({2}, {0, 2})}, {x.type}, {}).status().code(),
              StatusCode::UNSUPPORTED);
}

}  // namespace
}  // namespace halyard::engine::cpu_test
