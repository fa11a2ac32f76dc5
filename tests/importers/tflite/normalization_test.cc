// SPDX-License-Identifier: Apache-2.0
//
// Resizing, normalisation, look-ups.

#include <gtest/gtest.h>

#include "tests/importers/tflite/one_operator.h"

namespace halyard::tflite {
namespace {

TEST(ResizingTest, BilinearAndNearestHaveTheirFlags) {
    const auto resized = [](OperatorCode code, bool corners, bool centres) {
        OfOne model({1, 1, 2, 1});
        const int32_t size = model.builder.ints({2}, {1, 4});
        model.builder.add(code, {model.x, size}, model.outputs,
                          {{ResizeBilinearOptions::kAlignCorners, integer(corners ? 1 : 0)},
                           {ResizeBilinearOptions::kHalfPixelCenters, integer(centres ? 1 : 0)}});
        const Outcome found = model.run();
        return found.status.ok() ? found.floats(model.outputs[0]) : Floats();
    };
    using enum OperatorCode;
    EXPECT_EQ(resized(RESIZE_BILINEAR, false, false), (Floats{0, 0.5F, 1, 1}));
    EXPECT_EQ(resized(RESIZE_BILINEAR, false, true), (Floats{0, 0.25F, 0.75F, 1}));
    EXPECT_FLOAT_EQ(resized(RESIZE_BILINEAR, true, false)[1], 1.0F / 3);
    EXPECT_EQ(resized(RESIZE_NEAREST_NEIGHBOR, false, false), (Floats{0, 0, 1, 1}));
    EXPECT_EQ(resized(RESIZE_NEAREST_NEIGHBOR, true, false), (Floats{0, 0, 1, 1}));
    EXPECT_EQ(resized(RESIZE_BILINEAR, true, true), Floats());
}

TEST(ResizingTest, RefusesASizeThatIsNoPairOrIsComputed) {
    OfOne model({1, 1, 2, 1});
    const int32_t size = model.builder.ints({3}, {1, 4, 1});
    model.builder.add(OperatorCode::RESIZE_BILINEAR, {model.x, size}, model.outputs);
    EXPECT_TRUE(has(model.reason(), "two are wanted")) << model.reason();
    OfOne computed({1, 1, 2, 1});
    const int32_t given = computed.builder.input(ElementType::INT32, {2});
    computed.builder.add(OperatorCode::RESIZE_NEAREST_NEIGHBOR, {computed.x, given},
                         computed.outputs);
    EXPECT_TRUE(has(computed.reason(), "its size is computed")) << computed.reason();
}

TEST(NormalizationTest, L2NormalizationHasTheLengthOfOne) {
    ModelBuilder builder;
    const int32_t x = builder.input(ElementType::FLOAT32, {1, 2});
    const int32_t output = builder.tensor(ElementType::FLOAT32, {1, 2});
    builder.add(OperatorCode::L2_NORMALIZATION, {x}, {output});
    builder.output(output);
    EXPECT_EQ(run(builder.model(), {{x, bytesOf(Floats{3, 4})}}).floats(output),
              (Floats{0.6F, 0.8F}));
}

TEST(NormalizationTest, L2NormalizationRefusesAnActivationAndAnotherScale) {
    OfOne model({1, 2});
    model.builder.add(OperatorCode::L2_NORMALIZATION, {model.x}, model.outputs,
                      {{L2NormOptions::kFusedActivationFunction, integer(1)}});
    EXPECT_TRUE(has(model.reason(), "fused activation")) << model.reason();
    ModelBuilder builder;
    const int32_t x =
            builder.input(ElementType::UINT8, {1, 2}, {.scales = {1.0F}, .zeroPoints = {}});
    const int32_t output =
            builder.tensor(ElementType::UINT8, {}, {.scales = {1.0F / 128}, .zeroPoints = {127}});
    builder.add(OperatorCode::L2_NORMALIZATION, {x}, {output});
    EXPECT_TRUE(has(reasonOf(builder.model()), "has to be 1/128"));
}

TEST(NormalizationTest, LocalResponseNormalizationReadsItsOptions) {
    using Options = LocalResponseNormalizationOptions;
    OfOne model({1, 1, 1, 3});
    model.builder.add(OperatorCode::LOCAL_RESPONSE_NORMALIZATION, {model.x}, model.outputs,
                      {{Options::kRadius, integer(1)},
                       {Options::kBias, real(1)},
                       {Options::kAlpha, real(2)},
                       {Options::kBeta, real(1)}});
    // 1 / (1 + 2 * (0 + 1 + 4)), 2 / (1 + 2 * (1 + 4))
    EXPECT_EQ(model.run().floats(model.outputs[0]), (Floats{0, 1.0F / 11, 2.0F / 11}));
    OfOne flat({3});
    flat.builder.add(OperatorCode::LOCAL_RESPONSE_NORMALIZATION, {flat.x}, flat.outputs,
                     {{Options::kBias, real(1)}});
    EXPECT_TRUE(has(flat.reason(), "it is of 1 axes")) << flat.reason();
}

TEST(LookupTest, EmbeddingsAreRowsByNumber) {
    ModelBuilder builder;
    const int32_t lookups = builder.input(ElementType::INT32, {2});
    const int32_t table = builder.floats({3, 2}, {0, 1, 2, 3, 4, 5});
    const int32_t output = builder.tensor(ElementType::FLOAT32, {2, 2});
    builder.add(OperatorCode::EMBEDDING_LOOKUP, {lookups, table}, {output});
    builder.output(output);
    EXPECT_EQ(run(builder.model(), {{lookups, bytesOf(Ints{2, 0})}}).floats(output),
              (Floats{4, 5, 0, 1}));
}

TEST(LookupTest, HybridEmbeddingsAreMultipliedByTheirScale) {
    for (const bool perRow : {false, true}) {
        ModelBuilder builder;
        const int32_t lookups = builder.input(ElementType::INT32, {1});
        const int32_t table = builder.constant(
                ElementType::INT8, {2, 2}, {1, 2, 3, 0xFF},
                {.scales = perRow ? Floats{1, 0.25F} : Floats{0.5F}, .zeroPoints = {}, .axis = 0});
        const int32_t output = builder.tensor(ElementType::FLOAT32, {1, 2});
        builder.add(OperatorCode::EMBEDDING_LOOKUP, {lookups, table}, {output});
        builder.output(output);
        const Outcome found = run(builder.model(), {{lookups, bytesOf(Ints{1})}});
        ASSERT_TRUE(found.status.ok()) << found.status.toString();
        EXPECT_EQ(found.floats(output), perRow ? (Floats{0.75F, -0.25F}) : (Floats{1.5F, -0.5F}));
    }
}

TEST(LookupTest, HybridEmbeddingsRefuseAZeroPointAndUnsignedRows) {
    const auto reason = [](ElementType type, int64_t zeroPoint, const Extents& lookups) {
        ModelBuilder builder;
        const int32_t rows = builder.input(ElementType::INT32, lookups);
        const int32_t table = builder.constant(type, {2, 1}, {1, 2},
                                               {.scales = {0.5F}, .zeroPoints = {zeroPoint}});
        const int32_t output = builder.tensor(ElementType::FLOAT32, {});
        builder.add(OperatorCode::EMBEDDING_LOOKUP, {rows, table}, {output});
        return reasonOf(builder.model());
    };
    EXPECT_TRUE(has(reason(ElementType::INT8, 1, {1}), "has a zero point"));
    EXPECT_TRUE(has(reason(ElementType::UINT8, 0, {1}), "its table is UINT8"));
    EXPECT_TRUE(has(reason(ElementType::INT8, 0, {1, 1}), "are no list"));
    EXPECT_EQ(reason(ElementType::INT8, 0, {1}), "");
}

TEST(LookupTest, HashtablesSayWhetherAKeyWasThere) {
    ModelBuilder builder;
    const int32_t lookups = builder.input(ElementType::INT32, {2});
    const int32_t keys = builder.ints({2}, {3, 7});
    const int32_t values = builder.floats({2, 1}, {30, 70});
    const int32_t output = builder.tensor(ElementType::FLOAT32, {2, 1});
    const int32_t hits = builder.tensor(ElementType::UINT8, {2});
    builder.add(OperatorCode::HASHTABLE_LOOKUP, {lookups, keys, values}, {output, hits});
    builder.output(output);
    builder.output(hits);
    const Outcome found = run(builder.model(), {{lookups, bytesOf(Ints{7, 5})}});
    ASSERT_TRUE(found.status.ok()) << found.status.toString();
    EXPECT_EQ(found.floats(output), (Floats{70, 0}));
    EXPECT_EQ(found[hits].bytes, (Bytes{1, 0}));
}

// The bits of a dense projection, of which a sparse one makes a number for each function: that of
// function 1 lies above those of function 0.
TEST(LookupTest, SparseProjectionsAreTheBitsOfDenseOnesAndTheirFunction) {
    const auto projected = [](int32_t type) {
        ModelBuilder builder;
        const int32_t hash = builder.floats({2, 2}, {0.1F, 0.2F, 0.3F, 0.4F});
        const int32_t x = builder.input(ElementType::INT32, {3});
        const int32_t output = builder.tensor(ElementType::INT32, {});
        builder.add(OperatorCode::LSH_PROJECTION, {hash, x}, {output},
                    {{LshProjectionOptions::kType, integer(type)}});
        builder.output(output);
        const Outcome found = run(builder.model(), {{x, bytesOf(Ints{1, 2, 3})}});
        return found.status.ok() ? found.ints(output) : Ints();
    };
    const Ints dense = projected(2);
    ASSERT_EQ(dense.size(), 4U);
    EXPECT_EQ(projected(1), (Ints{2 * dense[0] + dense[1], 4 + 2 * dense[2] + dense[3]}));
    EXPECT_EQ(projected(0), Ints());
}

}  // namespace
}  // namespace halyard::tflite
