// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "tests/engine/reference/evaluation.h"

namespace halyard::engine::ref_test {
namespace {

TEST(PadRef, SurroundsTheInput) {
    EXPECT_TRUE(holds(
            evaluate(Pad(),
                     {floats({2, 2}, {1, 2, 3, 4}), ints({2, 2}, {1, 0, 0, 2}), floats({}, {9})},
                     kFloat),
            {9, 9, 9, 9, 1, 2, 9, 9, 3, 4, 9, 9}));
}

TEST(PadRef, FillsQuantisedTensorsWithTheZeroPoint) {
    const TensorType type = typeOf(DataType::QUANT8_ASYMM_SIGNED, {2}, 0.5F, -7);
    const Values x = quantized(type, {1, 2});
    EXPECT_TRUE(holds(evaluate(Pad(), {x, ints({1, 2}, {1, 1})}, type), {-7, 1, 2, -7}));
}

// The value is an element, not a real number.
TEST(PadRef, FillsQuantisedTensorsWithAnyElement) {
    const Values paddings = ints({1, 2}, {1, 1});
    for (const auto& [dataType, low, high] :
         {std::tuple{DataType::QUANT8_ASYMM, 0, 255}, {DataType::QUANT8_ASYMM_SIGNED, -128, 127}}) {
        const TensorType type = typeOf(dataType, {2}, 0.5F, 7);
        const Values x = quantized(type, {1, 2});
        for (const int32_t value : {low, -low / 2, high}) {
            const double element = value;
            EXPECT_TRUE(holds(evaluate(Pad(), {x, paddings, ints({}, {value})}, type),
                              {element, 1, 2, element}));
        }
        for (const int32_t value : {low - 1, high + 1, 512, -2147483647}) {
            EXPECT_TRUE(refused(evaluate(Pad(), {x, paddings, ints({}, {value})}, type),
                                "the padding value is " + std::to_string(value) + ", not " +
                                        std::to_string(low) + ".." + std::to_string(high)));
        }
    }
}

TEST(PadRef, FillsFloat16) {
    EXPECT_TRUE(holds(evaluate(Pad(), {halves({1}, {2}), ints({1, 2}, {1, 1}), halves({}, {-1.5F})},
                               typeOf(DataType::FLOAT16, {})),
                      {-1.5, 2, -1.5}));
}

TEST(PadRef, OfNothingIsTheValue) {
    EXPECT_TRUE(holds(
            evaluate(Pad(), {floats({0, 2}, {}), ints({2, 2}, {1, 0, 0, 0}), floats({1}, {3})},
                     kFloat),
            {3, 3}));
    EXPECT_TRUE(holds(evaluate(Pad(), {floats({0}, {}), ints({1, 2}, {0, 0})}, kFloat), {}));
    EXPECT_TRUE(holds(evaluate(Pad(), {floats({}, {4}), ints({0, 2}, {})}, kFloat), {4}));
}

// numpy.pad with "reflect" and "symmetric".
TEST(PadRef, Mirrors) {
    const Values x = ints({1, 3}, {1, 2, 3});
    const TensorType output = typeOf(DataType::INT32, {});
    EXPECT_TRUE(holds(
            evaluate(Pad{.mode = Pad::Mode::REFLECT}, {x, ints({2, 2}, {0, 0, 2, 1})}, output),
            {3, 2, 1, 2, 3, 2}));
    EXPECT_TRUE(holds(
            evaluate(Pad{.mode = Pad::Mode::SYMMETRIC}, {x, ints({2, 2}, {1, 0, 1, 3})}, output),
            {1, 1, 2, 3, 3, 2, 1, 1, 1, 2, 3, 3, 2, 1}));
}

TEST(PadRef, TakesIntegersAsTheyAre) {
    EXPECT_TRUE(holds(evaluate(Pad(), {ints({1}, {7}), ints({1, 2}, {1, 1}), ints({}, {-3})},
                               typeOf(DataType::INT32, {})),
                      {-3, 7, -3}));
}

TEST(SliceRef, TakesAPart) {
    const Values x = floats({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
    EXPECT_TRUE(holds(evaluate(Slice(), {x, ints({2}, {1, 0}), ints({2}, {-1, 2})}, kFloat),
                      {4, 5, 7, 8}));
    EXPECT_TRUE(holds(evaluate(Slice(), {x, ints({2}, {3, 0}), ints({2}, {0, 3})}, kFloat), {}));
    EXPECT_TRUE(
            holds(evaluate(Slice(), {floats({}, {4}), ints({0}, {}), ints({0}, {})}, kFloat), {4}));
}

// x[::-2, 1] and x[-2:, ::2] in numpy.
TEST(StridedSliceRef, WalksAsPythonDoes) {
    const Values x = floats({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
    EXPECT_TRUE(
            holds(evaluate(StridedSlice{.beginMask = 1, .endMask = 1, .shrinkMask = 2},
                           {x, ints({2}, {0, 1}), ints({2}, {0, 2}), ints({2}, {-2, 1})}, kFloat),
                  {8, 2}));
    EXPECT_TRUE(
            holds(evaluate(StridedSlice{.shrinkMask = 3},
                           {x, ints({2}, {-9, 1}), ints({2}, {1, 9}), ints({2}, {1, 2})}, kFloat),
                  {2}));
    EXPECT_TRUE(
            holds(evaluate(StridedSlice{.beginMask = 2, .endMask = 3},
                           {x, ints({2}, {-2, 0}), ints({2}, {0, 0}), ints({2}, {1, 2})}, kFloat),
                  {4, 6, 7, 9}));
}

TEST(TileRef, Repeats) {
    EXPECT_TRUE(holds(evaluate(Tile(), {ints({2, 1}, {1, 2}), ints({2}, {2, 3})},
                               typeOf(DataType::INT32, {})),
                      {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}));
    EXPECT_TRUE(holds(evaluate(Tile(), {floats({2}, {1, 2}), ints({1}, {0})}, kFloat), {}));
    EXPECT_TRUE(holds(evaluate(Tile(), {floats({}, {3}), ints({0}, {})}, kFloat), {3}));
}

}  // namespace
}  // namespace halyard::engine::ref_test
