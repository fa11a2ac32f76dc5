// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "tests/importers/tflite/one_operator.h"

namespace halyard::tflite {
namespace {

TEST(ShapesTest, ShapeAndRankAreKnownBeforeARun) {
    for (const ElementType type : {ElementType::INT32, ElementType::INT64}) {
        OfOne model({2, 3}, 0);
        model.addOutput(type);
        model.builder.add(OperatorCode::SHAPE, {model.x}, model.outputs,
                          {{ShapeOptions::kOutType, integer(static_cast<int64_t>(type))}});
        EXPECT_TRUE(isFolded(model.builder.model()));
        EXPECT_EQ(model.run().ints(model.outputs[0]), (Ints{2, 3}));
    }
    OfOne rank({2, 3}, 0);
    rank.addOutput(ElementType::INT32);
    rank.builder.add(OperatorCode::RANK, {rank.x}, rank.outputs);
    EXPECT_TRUE(isFolded(rank.builder.model()));
    EXPECT_EQ(rank.run()[rank.outputs[0]].shape, Extents{});
    EXPECT_EQ(rank.run().ints(rank.outputs[0]), (Ints{2}));
}

TEST(ShapesTest, AShapeThatOnlyARunTellsIsRefused) {
    OfOne model({engine::kUnknownDimension, 3}, 0);
    model.addOutput(ElementType::INT32);
    model.builder.add(OperatorCode::SHAPE, {model.x}, model.outputs);
    EXPECT_TRUE(has(model.reason(), "which only a run tells")) << model.reason();
}

// The shape of x, its first extent, and x reshaped to that and whatever is left.
TEST(ShapesTest, ArithmeticOnShapesInInt64IsFoldedIntoReshape) {
    OfOne model({2, 3, 4});
    ModelBuilder& builder = model.builder;
    const int32_t shape = builder.tensor(ElementType::INT64, {3});
    builder.add(OperatorCode::SHAPE, {model.x}, {shape});
    const int32_t first = builder.tensor(ElementType::INT64, {});
    const int32_t zero = builder.ints({1}, {0});
    const int32_t one = builder.ints({1}, {1});
    builder.add(OperatorCode::STRIDED_SLICE, {shape, zero, one, one}, {first},
                {{StridedSliceOptions::kShrinkAxisMask, integer(1)}});
    const int32_t open = builder.longs({}, {-1});
    const int32_t wide = builder.tensor(ElementType::INT64, {2});
    builder.add(OperatorCode::PACK, {first, open}, {wide},
                {{PackOptions::kValuesCount, integer(2)}});
    const int32_t narrow = builder.tensor(ElementType::INT32, {2});
    builder.add(OperatorCode::CAST, {wide}, {narrow});
    builder.add(OperatorCode::RESHAPE, {model.x, narrow}, model.outputs);
    const Outcome found = model.run();
    ASSERT_TRUE(found.status.ok()) << found.status.toString();
    EXPECT_EQ(found[model.outputs[0]].shape, (Extents{2, 12}));
}

TEST(ShapesTest, RangeCountsBothWaysInIntegersAndFloats) {
    const auto ranged = [](ElementType type, const auto& make) {
        ModelBuilder builder;
        const std::vector<int32_t> inputs = make(builder);
        const int32_t output = builder.tensor(type, {});
        builder.add(OperatorCode::RANGE, inputs, {output});
        builder.output(output);
        return std::pair(builder, output);
    };
    const auto [up, upOutput] = ranged(ElementType::INT32, [](ModelBuilder& builder) {
        return std::vector{builder.ints({}, {1}), builder.ints({}, {6}), builder.ints({}, {2})};
    });
    EXPECT_TRUE(isFolded(up.model()));
    EXPECT_EQ(run(up.model()).ints(upOutput), (Ints{1, 3, 5}));
    const auto [down, downOutput] = ranged(ElementType::INT64, [](ModelBuilder& builder) {
        return std::vector{builder.longs({}, {3}), builder.longs({}, {0}), builder.longs({}, {-2})};
    });
    EXPECT_EQ(run(down.model()).ints(downOutput), (Ints{3, 1}));
    const auto [real, realOutput] = ranged(ElementType::FLOAT32, [](ModelBuilder& builder) {
        return std::vector{builder.floats({}, {0}), builder.floats({}, {1}),
                           builder.floats({}, {0.5F})};
    });
    EXPECT_EQ(run(real.model()).floats(realOutput), (Floats{0, 0.5F}));
    for (const Ints& wrong : {Ints{0, 3, 0}, Ints{0, 3, -1}, Ints{0, 2000000000, 1}}) {
        const auto refused = ranged(ElementType::INT32, [&](ModelBuilder& builder) {
            return std::vector{builder.ints({}, {wrong[0]}), builder.ints({}, {wrong[1]}),
                               builder.ints({}, {wrong[2]})};
        });
        EXPECT_NE(reasonOf(refused.first.model()), "");
    }
    for (const Floats& wrong : {Floats{0, 3, 0}, Floats{0, 3, -1}, Floats{0, 1e9F, 1}}) {
        const auto refused = ranged(ElementType::FLOAT32, [&](ModelBuilder& builder) {
            return std::vector{builder.floats({}, {wrong[0]}), builder.floats({}, {wrong[1]}),
                               builder.floats({}, {wrong[2]})};
        });
        EXPECT_NE(reasonOf(refused.first.model()), "");
    }
}

TEST(ShapesTest, FillRepeatsNumbersAndBytes) {
    OfOne floats({1});
    const int32_t shape = floats.builder.longs({2}, {1, 2});
    const int32_t value = floats.builder.floats({}, {4});
    floats.builder.add(OperatorCode::FILL, {shape, value}, floats.outputs);
    EXPECT_EQ(floats.run().floats(floats.outputs[0]), (Floats{4, 4}));
    const TensorQuantization quantization = {.scales = {0.5F}, .zeroPoints = {1}};
    ModelBuilder bytes;
    const int32_t extents = bytes.ints({1}, {3});
    const int32_t element = bytes.constant(ElementType::INT8, {}, {0xFE}, quantization);
    const int32_t output = bytes.tensor(ElementType::INT8, {3}, quantization);
    bytes.add(OperatorCode::FILL, {extents, element}, {output});
    bytes.output(output);
    EXPECT_EQ(run(bytes.model())[output].bytes, (Bytes{0xFE, 0xFE, 0xFE}));
}

TEST(ShapesTest, FillRefusesBytesOfAnotherScaleAndTooMany) {
    const auto reason = [](int32_t count, float scale) {
        ModelBuilder bytes;
        const int32_t extents = bytes.ints({1}, {count});
        const int32_t element =
                bytes.constant(ElementType::INT8, {}, {1}, {.scales = {0.5F}, .zeroPoints = {1}});
        const int32_t output =
                bytes.tensor(ElementType::INT8, {}, {.scales = {scale}, .zeroPoints = {1}});
        bytes.add(OperatorCode::FILL, {extents, element}, {output});
        return reasonOf(bytes.model());
    };
    EXPECT_TRUE(has(reason(3, 0.25F), "its value is"));
    EXPECT_TRUE(has(reason(1 << 21, 0.5F), "elements"));
    EXPECT_NE(reason(-1, 0.5F), "");
}

TEST(ShapesTest, ZerosLikeHasTheShapeOfItsInput) {
    OfOne model({2, 1});
    model.builder.add(OperatorCode::ZEROS_LIKE, {model.x}, model.outputs);
    const Outcome found = model.run();
    ASSERT_TRUE(found.status.ok()) << found.status.toString();
    EXPECT_EQ(found[model.outputs[0]].shape, (Extents{2, 1}));
    EXPECT_EQ(found.floats(model.outputs[0]), (Floats{0, 0}));
    ModelBuilder quantised;
    const int32_t x =
            quantised.input(ElementType::INT8, {1}, {.scales = {1.0F}, .zeroPoints = {3}});
    const int32_t output =
            quantised.tensor(ElementType::INT8, {1}, {.scales = {1.0F}, .zeroPoints = {3}});
    quantised.add(OperatorCode::ZEROS_LIKE, {x}, {output});
    EXPECT_TRUE(has(reasonOf(quantised.model()), "quantised numbers"));
}

}  // namespace
}  // namespace halyard::tflite
