// SPDX-License-Identifier: Apache-2.0

#include "engine/passes/move_dequantize.h"

#include <gtest/gtest.h>

#include "tests/engine/passes/pass_testing.h"

namespace halyard::engine::pass_test {
namespace {

TensorId dequantize(TestGraph& test, TensorId x, DataType type = DataType::FLOAT32) {
    return test.node(Dequantize(), {x}, typeOf(type, {}));
}

TEST(MoveDequantize, RunsMovesOnQuantizedElements) {
    for (const DataType type : {DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM_SIGNED}) {
        for (const DataType real : {DataType::FLOAT32, DataType::FLOAT16}) {
            TestGraph test;
            TensorType quantized = test.random().quantization(type, 0.02F);
            quantized.shape = {1, 4, 4, 2};
            const TensorId x = test.node(Activate(), {test.input(quantized)});
            TensorId y = dequantize(test, x, real);
            y = test.node(Pool2d{.function = Pool2d::Function::MAX, .filterH = 2, .filterW = 2},
                          {y});
            const TensorId other = dequantize(test, test.input(quantized), real);
            y = test.node(
                    Concat{.axis = 3},
                    {
                            test.node(Reshape(), {y, test.ints({1, 1, 9, 2})}),
                            test.node(Slice(),
                                      {test.node(Reshape(), {other, test.ints({1, 1, 16, 2})}),
                                       test.ints({0, 0, 3, 0}), test.ints({1, 1, 9, 2})}),
                    });
            y = test.node(Transpose(), {y, test.ints({0, 3, 1, 2})});
            const Graph before = test.build({test.node(Quantize(), {y}, quantized)});
            const Graph graph = after(moveDequantize, before);
            EXPECT_TRUE(computeTheSame(before, graph, test.random()));
            for (const std::string& kind : kindsOf(graph)) {
                EXPECT_NE(kind, "Dequantize");
                EXPECT_NE(kind, "Quantize");
            }
        }
    }
}

TEST(MoveDequantize, LeavesWhatComputes) {
    TestGraph test;
    const TensorType type = typeOf(DataType::QUANT8_ASYMM, {1, 4, 4, 2}, 0.5F, 3);
    const TensorId x =
            test.node(Pool2d{.function = Pool2d::Function::AVERAGE, .filterH = 2, .filterW = 2},
                      {dequantize(test, test.input(type))});
    const TensorId y = test.node(Activate(), {dequantize(test, test.input(type))});
    const Graph before =
            test.build({test.node(Quantize(), {x}, type), test.node(Quantize(), {y}, type)});
    EXPECT_EQ(kindsOf(after(moveDequantize, before)), kindsOf(before));
}

TEST(MoveDequantize, KeepsAPairOfTwoScales) {
    TestGraph test;
    const TensorType type = typeOf(DataType::QUANT8_ASYMM, {8}, 0.5F, 3);
    const TensorId x = test.node(Activate(), {test.input(type)});
    const TensorId y = test.node(Quantize(), {dequantize(test, x)},
                                 typeOf(DataType::QUANT8_ASYMM, {}, 0.5F, 4));
    const Graph before = test.build({y});
    EXPECT_EQ(kindsOf(after(moveDequantize, before)), kindsOf(before));
}

TEST(MoveDequantize, KeepsAPairThatLosesValues) {
    TestGraph test;  // beyond what FLOAT16 holds
    const TensorType type = typeOf(DataType::QUANT8_ASYMM, {256}, 1000.0F, 0);
    const TensorId x = test.node(Activate(), {test.input(type)});
    const TensorId y = test.node(Quantize(), {dequantize(test, x, DataType::FLOAT16)}, type);
    const Graph before = test.build({y});
    const Graph graph = after(moveDequantize, before);
    EXPECT_EQ(kindsOf(graph), kindsOf(before));
}

TEST(MoveDequantize, KeepsPartsOfDifferentScales) {
    TestGraph test;
    const TensorId a = dequantize(test, test.input(typeOf(DataType::QUANT8_ASYMM, {4}, 0.5F, 3)));
    const TensorId b = dequantize(test, test.input(typeOf(DataType::QUANT8_ASYMM, {4}, 0.25F, 3)));
    const Graph before = test.build({test.node(Concat(), {a, b})});
    EXPECT_EQ(kindsOf(after(moveDequantize, before)), kindsOf(before));
}

TEST(MoveDequantize, KeepsWhatSomebodyElseReads) {
    TestGraph test;
    const TensorId x =
            dequantize(test, test.input(typeOf(DataType::QUANT8_ASYMM, {2, 2}, 0.5F, 3)));
    const Graph before =
            test.build({test.node(Reshape(), {x, test.ints({4})}), test.node(Unary(), {x})});
    EXPECT_EQ(kindsOf(after(moveDequantize, before)), kindsOf(before));
}

}  // namespace
}  // namespace halyard::engine::pass_test
