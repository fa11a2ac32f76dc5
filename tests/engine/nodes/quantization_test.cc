// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "tests/engine/nodes/inference.h"

namespace halyard::engine::nodes_test {
namespace {

TEST(DequantizeShapes, AreTheInputs) {
    EXPECT_TRUE(gives(infer(Dequantize(), {.inputs = {bytes({2, kUnknown})}}), {2, kUnknown}));
    EXPECT_TRUE(
            gives(infer(Dequantize(), {.inputs = {perChannel({3, 2}, {1.0F, 2.0F}, 1)}}), {3, 2}));
    EXPECT_TRUE(gives(infer(Dequantize(), {.inputs = {bytes(Shape::unknownRank())}}),
                      Shape::unknownRank()));
}

TEST(DequantizeShapes, RejectOtherTypes) {
    EXPECT_TRUE(rejects(infer(Dequantize(), {.inputs = {ints({2})}}), "quantised type"));
    EXPECT_TRUE(rejects(infer(Dequantize(), {.inputs = {bytes({2})}, .output = bytes({})}),
                        "quantised type"));
    EXPECT_TRUE(rejects(infer(Dequantize(), {.inputs = {}}), "takes 1 inputs"));
}

TEST(DequantizeShapes, RejectScalesThatDoNotFitTheChannels) {
    EXPECT_TRUE(rejects(infer(Dequantize(), {.inputs = {perChannel({3, 2}, {1.0F, 2.0F}, 0)}}),
                        "number of scales"));
    EXPECT_TRUE(rejects(infer(Dequantize(), {.inputs = {perChannel({3, 2}, {1.0F, 2.0F}, 2)}}),
                        "no such axis"));
}

TEST(QuantizeShapes, AreTheInputs) {
    EXPECT_TRUE(
            gives(infer(Quantize(), {.inputs = {floats({2, 3})}, .output = bytes({})}), {2, 3}));
}

TEST(QuantizeShapes, RejectOtherTypes) {
    EXPECT_TRUE(rejects(infer(Quantize(), {.inputs = {bytes({2})}, .output = bytes({})}),
                        "float type"));
    EXPECT_TRUE(rejects(infer(Quantize(), {.inputs = {floats({2})}}), "asymmetric 8-bit"));
    TensorType symmetric = bytes({2}, 0.5F, 0);
    symmetric.type = DataType::QUANT8_SYMM;
    EXPECT_TRUE(rejects(infer(Quantize(), {.inputs = {floats({2})}, .output = symmetric}),
                        "asymmetric 8-bit"));
    EXPECT_TRUE(rejects(infer(Quantize(), {.inputs = {}, .output = bytes({})}), "takes 1 inputs"));
}

TEST(CastShapes, AreTheInputs) {
    EXPECT_TRUE(gives(infer(Cast(), {.inputs = {ints({0, kUnknown})}, .output = floats({})}),
                      {0, kUnknown}));
}

TEST(CastShapes, ConvertBetweenTheTypesThatCHas) {
    for (const DataType to :
         {DataType::FLOAT32, DataType::FLOAT16, DataType::INT32, DataType::QUANT8_ASYMM}) {
        EXPECT_EQ(accepted([&](DataType from) {
                      return infer(Cast(), {.inputs = {typed(from, {2})}, .output = typed(to, {})});
                  }),
                  "FLOAT32 FLOAT16 INT32 QUANT8_ASYMM");
    }
}

TEST(CastShapes, ConvertToNoTypeThatNeedsItsScale) {
    EXPECT_EQ(accepted([](DataType to) {
                  return infer(Cast(), {.inputs = {ints({2})}, .output = typed(to, {})});
              }),
              "FLOAT32 FLOAT16 INT32 QUANT8_ASYMM");
}

TEST(CastShapes, CopyAnyTypeThatIsNotPerChannel) {
    EXPECT_EQ(acceptedAlone(Cast()), kMovableNames);
}

}  // namespace
}  // namespace halyard::engine::nodes_test
