// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "tests/engine/cpu_acc/tuned.h"

namespace halyard::engine::cpu_test {
namespace {

TEST(ResizeAcc, AgreesWithTheReference) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : {DataType::FLOAT32, DataType::FLOAT16, DataType::QUANT8_ASYMM,
                                DataType::QUANT8_ASYMM_SIGNED}) {
        for (int round = 0; round < 16; ++round) {
            TensorType x = randomType(random, type, randomShape(random, 4, 1, 9));
            x.shape[0] = random.integer(0, 2);
            x.shape[3] = random.integer(0, 40);
            Resize node = {.function = random.coin() ? Resize::Function::BILINEAR
                                                     : Resize::Function::NEAREST,
                           .height = random.integer(1, 20),
                           .width = round == 0 ? 150 : random.integer(1, 20)};
            node.alignCorners = random.coin();
            node.halfPixelCenters = !node.alignCorners && random.coin();
            ASSERT_TRUE(agrees(node, {random.values(x)}, {x}))
                    << toString(NodeDescriptor(node)) << " of " << x.toString();
        }
    }
}

TEST(ResizeAcc, TakesManyChannels) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : {DataType::FLOAT32, DataType::QUANT8_ASYMM}) {
        const TensorType x = randomType(random, type, {1, 2, 2, 2500});
        for (const Resize::Function function :
             {Resize::Function::BILINEAR, Resize::Function::NEAREST}) {
            const Resize node = {.function = function, .height = 3, .width = 3};
            ASSERT_TRUE(agrees(node, {random.values(x)}, {x}));
        }
    }
}

}  // namespace
}  // namespace halyard::engine::cpu_test
