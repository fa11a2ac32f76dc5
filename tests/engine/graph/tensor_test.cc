// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/tensor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace halyard::engine {
namespace {

constexpr DataType kAllTypes[] = {
        DataType::FLOAT32,      DataType::FLOAT16,
        DataType::INT32,        DataType::BOOL8,
        DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM_SIGNED,
        DataType::QUANT8_SYMM,  DataType::QUANT8_SYMM_PER_CHANNEL,
        DataType::QUANT16_SYMM, DataType::QUANT16_ASYMM,
};

TEST(Shape, CountsItsElements) {
    EXPECT_EQ(*Shape({2, 3, 4}).elementCount(), 24);
    EXPECT_EQ(*Shape().elementCount(), 1) << "a scalar";
    EXPECT_EQ(*Shape({std::numeric_limits<int32_t>::max()}).elementCount(), 2147483647);
}

TEST(Shape, WithAZeroExtentHasNoElementsHoweverLargeTheOthersAre) {
    EXPECT_EQ(*Shape({1 << 30, 1 << 30, 0}).elementCount(), 0);
}

TEST(Shape, RefusesToCountMoreElementsThanAnInt32Holds) {
    EXPECT_EQ(Shape({46341, 46341}).elementCount().status().code(), StatusCode::INVALID_ARGUMENT);
    const int32_t most = std::numeric_limits<int32_t>::max();
    EXPECT_FALSE(Shape({most, most, most, most, most, most, most, most}).elementCount().ok());
}

TEST(Shape, RefusesToCountWhatIsNotKnown) {
    EXPECT_FALSE(Shape({2, kUnknownDimension, 0}).elementCount().ok());
    EXPECT_FALSE(Shape::unknownRank().elementCount().ok());
}

TEST(Shape, KnowsWhetherItIsKnown) {
    EXPECT_TRUE(Shape().isFullyKnown());
    EXPECT_TRUE(Shape({0, 5}).isFullyKnown());
    EXPECT_FALSE(Shape({kUnknownDimension}).isFullyKnown());
    EXPECT_FALSE(Shape::unknownRank().isFullyKnown());
    EXPECT_FALSE(Shape::unknownRank().hasKnownRank());
}

TEST(Shape, OfUnknownRankIsNotAScalar) {
    EXPECT_FALSE(Shape::unknownRank() == Shape());
    EXPECT_TRUE(Shape::unknownRank() == Shape::unknownRank());
    EXPECT_FALSE(Shape({1}) == Shape({1, 1}));
    EXPECT_TRUE(Shape({1, kUnknownDimension}) == Shape({1, kUnknownDimension}));
}

TEST(Shape, PrintsItsExtents) {
    EXPECT_EQ(Shape({1, kUnknownDimension, 3}).toString(), "[1, ?, 3]");
    EXPECT_EQ(Shape().toString(), "[]");
    EXPECT_EQ(Shape::unknownRank().toString(), "[*]");
}

TEST(Shape, FromOutsideIsCheckedForRankAndSign) {
    const std::vector<int32_t> most(kMaxRank, 1);
    EXPECT_EQ(Shape::create(most)->rank(), kMaxRank);
    const std::vector<int32_t> tooMany(kMaxRank + 1, 1);
    EXPECT_EQ(Shape::create(tooMany).status().code(), StatusCode::UNSUPPORTED);
    const std::vector<int32_t> negative = {1, -2};
    EXPECT_EQ(Shape::create(negative).status().code(), StatusCode::INVALID_ARGUMENT);
}

TEST(DataType, LimitsAreThoseOfItsElements) {
    EXPECT_EQ(minValue(DataType::QUANT8_ASYMM), 0);
    EXPECT_EQ(maxValue(DataType::QUANT8_ASYMM), 255);
    EXPECT_EQ(minValue(DataType::QUANT8_ASYMM_SIGNED), -128);
    EXPECT_EQ(maxValue(DataType::QUANT8_SYMM_PER_CHANNEL), 127);
    EXPECT_EQ(minValue(DataType::QUANT16_SYMM), -32768);
    EXPECT_EQ(maxValue(DataType::QUANT16_ASYMM), 65535);
    EXPECT_EQ(maxValue(DataType::BOOL8), 1);
    EXPECT_EQ(minValue(DataType::INT32), std::numeric_limits<int32_t>::min());
}

TEST(DataType, IsEitherFloatOrQuantizedOrPlain) {
    for (const DataType type : kAllTypes) {
        EXPECT_FALSE(isFloat(type) && isQuantized(type)) << toString(type);
        EXPECT_EQ(isQuantized(type), toString(type).starts_with("QUANT")) << toString(type);
        if (!isFloat(type) && type != DataType::BOOL8) {
            const int64_t values = int64_t{maxValue(type)} - minValue(type) + 1;
            EXPECT_EQ(values, int64_t{1} << (8 * elementSize(type))) << toString(type);
        }
    }
}

TEST(TensorType, CountsItsBytes) {
    EXPECT_EQ(*(TensorType{.type = DataType::FLOAT16, .shape = {2, 3}, .quantization = {}})
                       .byteSize(),
              12U);
    EXPECT_FALSE((TensorType{.type = DataType::INT32, .shape = {-1}, .quantization = {}})
                         .byteSize()
                         .ok());
}

}  // namespace
}  // namespace halyard::engine
