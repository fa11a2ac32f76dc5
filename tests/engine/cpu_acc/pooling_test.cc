// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/engine/cpu_acc/tuned.h"

namespace halyard::engine::cpu_test {
namespace {

constexpr Pool2d::Function kPoolings[] = {Pool2d::Function::AVERAGE, Pool2d::Function::MAX,
                                          Pool2d::Function::L2};

TEST(Pool2dAcc, AgreesWithTheReference) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : {DataType::FLOAT32, DataType::FLOAT16, DataType::QUANT8_ASYMM,
                                DataType::QUANT8_ASYMM_SIGNED}) {
        for (int round = 0; round < 40; ++round) {
            Pool2d node = {.function = kPoolings[random.integer(0, isFloat(type) ? 2 : 1)]};
            node.filterH = random.integer(1, 4);
            node.filterW = random.integer(1, 4);
            node.activation = static_cast<Activation>(random.integer(0, 3));
            node.window = {.padding = static_cast<PaddingScheme>(random.integer(0, 2)),
                           .top = random.integer(0, node.filterH - 1),
                           .bottom = random.integer(0, node.filterH - 1),
                           .left = random.integer(0, node.filterW - 1),
                           .right = random.integer(0, node.filterW - 1),
                           .strideH = random.integer(1, 3),
                           .strideW = random.integer(1, 3)};
            const TensorType x =
                    randomType(random, type,
                               {random.integer(0, 2), random.integer(4, 9), random.integer(4, 9),
                                random.coin() ? random.integer(0, 40) : random.integer(250, 300)});
            TensorType output = x;
            if (!isFloat(type) && node.function == Pool2d::Function::AVERAGE && random.coin()) {
                output = randomType(random, type, {});
            }
            ASSERT_TRUE(agrees(node, {random.values(x)}, {output}))
                    << toString(NodeDescriptor(node)) << " of " << x.toString();
        }
    }
}

TEST(Pool2dAcc, AveragesWholeFeatureMapsOfExtremeBytes) {
    for (const int32_t byte : {0, 255}) {
        const TensorType type = typeOf(DataType::QUANT8_ASYMM, {1, 256, 256, 3}, 0.5F, 7);
        const Values x = ref_test::quantized(type, std::vector<int32_t>(256 * 256 * 3, byte));
        ASSERT_TRUE(agrees(Pool2d{.filterH = 256, .filterW = 256}, {x}, {type}));
        ASSERT_TRUE(agrees(Pool2d{.filterH = 256, .filterW = 256}, {x},
                           {typeOf(DataType::QUANT8_ASYMM, {}, 0.3F, 100)}));
    }
}

TEST(Pool2dAcc, ANanIsTheMaximumOfItsWindow) {
    const float infinity = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const Values x = ref_test::floats({1, 1, 6, 1}, {1, nan, infinity, 2, -infinity, 3});
    for (const Pool2d::Function function : kPoolings) {
        ASSERT_TRUE(agrees(Pool2d{.function = function, .filterW = 2}, {x}, {x.type}));
    }
}

TEST(Pool2dAcc, LeavesWindowsOfMillionsToTheReference) {
    const Values x = ref_test::floats({1, 1, 1, 1}, {1});
    const Pool2d node = {
            .window = {.padding = PaddingScheme::SAME}, .filterH = 1 << 10, .filterW = 1 << 10};
    EXPECT_EQ(evaluateTuned(node, {x}, {x.type}, {}).status().code(), StatusCode::UNSUPPORTED);
}

}  // namespace
}  // namespace halyard::engine::cpu_test
