// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "tests/importers/tflite/one_operator.h"

namespace halyard::tflite {
namespace {

Outcome reduced(OperatorCode code, const Extents& shape, const Ints& axes, bool keepDims,
                int32_t& output) {
    OfOne model(shape);
    const int32_t list = model.builder.ints({static_cast<int32_t>(axes.size())}, axes);
    model.builder.add(code, {model.x, list}, model.outputs,
                      {{ReducerOptions::kKeepDims, integer(keepDims ? 1 : 0)}});
    output = model.outputs[0];
    return model.run();
}

TEST(ReductionTest, EachReducesItsAxes) {
    int32_t output = 0;
    EXPECT_EQ(reduced(OperatorCode::MEAN, {2, 3}, {-1}, false, output).floats(output),
              (Floats{1, 4}));
    EXPECT_EQ(reduced(OperatorCode::SUM, {2, 3}, {0}, false, output).floats(output),
              (Floats{3, 5, 7}));
    EXPECT_EQ(reduced(OperatorCode::REDUCE_PROD, {2, 3}, {1}, false, output).floats(output),
              (Floats{0, 60}));
    EXPECT_EQ(reduced(OperatorCode::REDUCE_MAX, {2, 3}, {1, 1}, false, output).floats(output),
              (Floats{2, 5}));
    EXPECT_EQ(reduced(OperatorCode::REDUCE_MIN, {2, 3}, {1}, false, output).floats(output),
              (Floats{0, 3}));
}

TEST(ReductionTest, EveryAxisLeavesAScalarOrOnes) {
    int32_t output = 0;
    const Outcome gone = reduced(OperatorCode::SUM, {2, 2}, {0, 1}, false, output);
    EXPECT_EQ(gone[output].shape, Extents{});
    EXPECT_EQ(gone.floats(output), (Floats{6}));
    const Outcome kept = reduced(OperatorCode::SUM, {2, 2}, {0, 1}, true, output);
    EXPECT_EQ(kept[output].shape, (Extents{1, 1}));
}

TEST(ReductionTest, TruthValuesAreAllOrAny) {
    for (const OperatorCode code : {OperatorCode::REDUCE_ALL, OperatorCode::REDUCE_ANY}) {
        ModelBuilder builder;
        const int32_t x = builder.input(ElementType::BOOL, {2, 2});
        const int32_t axes = builder.ints({1}, {1});
        const int32_t output = builder.tensor(ElementType::BOOL, {2});
        builder.add(code, {x, axes}, {output});
        builder.output(output);
        const Bytes expected = code == OperatorCode::REDUCE_ALL ? Bytes{0, 1} : Bytes{1, 1};
        EXPECT_EQ(run(builder.model(), {{x, Bytes{0, 1, 1, 1}}})[output].bytes, expected);
    }
}

// Reals 1, 2 and 3 of a scale of a half; the sum has a scale of 2.
TEST(ReductionTest, SumsOfEightBitsAreThoseOfTheirReals) {
    for (const bool every : {false, true}) {
        ModelBuilder builder;
        const int32_t x =
                builder.input(ElementType::INT8, {1, 3}, {.scales = {0.5F}, .zeroPoints = {1}});
        const int32_t axes = every ? builder.ints({2}, {0, 1}) : builder.ints({}, {1});
        const int32_t output =
                builder.tensor(ElementType::INT8, {}, {.scales = {2.0F}, .zeroPoints = {-1}});
        builder.add(OperatorCode::SUM, {x, axes}, {output});
        builder.output(output);
        const Outcome found = run(builder.model(), {{x, Bytes{3, 5, 7}}});
        ASSERT_TRUE(found.status.ok()) << found.status.toString();
        EXPECT_EQ(found[output].shape, every ? Extents{} : Extents{1});
        EXPECT_EQ(found[output].bytes, (Bytes{2}));
    }
}

TEST(ReductionTest, IntegersThatAreKnownAreReducedBeforeARun) {
    ModelBuilder builder;
    const int32_t x = builder.longs({2, 2}, {2, 3, 4, 5});
    const int32_t axes = builder.ints({1}, {0});
    const int32_t output = builder.tensor(ElementType::INT64, {2});
    builder.add(OperatorCode::REDUCE_PROD, {x, axes}, {output});
    builder.output(output);
    EXPECT_TRUE(isFolded(builder.model()));
    EXPECT_EQ(run(builder.model()).ints(output), (Ints{8, 15}));
}

TEST(ReductionTest, IntegersAreRefusedWhereTheyAreComputedOrDoNotFit) {
    const auto reason = [](OperatorCode code, bool isKnown) {
        ModelBuilder builder;
        const int32_t x = isKnown ? builder.ints({2}, {1 << 20, 1 << 20})
                                  : builder.input(ElementType::INT32, {2});
        const int32_t axes = builder.ints({1}, {0});
        const int32_t output = builder.tensor(ElementType::INT32, {});
        builder.add(code, {x, axes}, {output});
        return reasonOf(builder.model());
    };
    EXPECT_TRUE(has(reason(OperatorCode::REDUCE_PROD, true), "more than 32 bits"));
    EXPECT_TRUE(has(reason(OperatorCode::MEAN, true), "32 bits"));
    EXPECT_TRUE(has(reason(OperatorCode::SUM, false), "INT32"));
}

TEST(ReductionTest, AxesThatAreComputedAreTakenWhereTheyAreKept) {
    for (const bool keeps : {false, true}) {
        OfOne model({2, 2});
        const int32_t axes = model.builder.input(ElementType::INT32, {1});
        model.builder.add(OperatorCode::MEAN, {model.x, axes}, model.outputs,
                          {{ReducerOptions::kKeepDims, integer(keeps ? 1 : 0)}});
        EXPECT_EQ(model.reason(), keeps ? "" : "its axes are computed, and none is kept");
    }
}

TEST(ReductionTest, AnAxisThatIsNotThereIsRefused) {
    OfOne model({2, 2});
    const int32_t axes = model.builder.ints({1}, {2});
    model.builder.add(OperatorCode::MEAN, {model.x, axes}, model.outputs);
    EXPECT_TRUE(has(model.reason(), "its axis is 2, of 2")) << model.reason();
}

TEST(ReductionTest, ArgMaxOfAListIsAScalar) {
    for (const Extents& shape : {Extents{3}, Extents{2, 3}}) {
        OfOne model(shape, 0);
        model.addOutput(ElementType::INT32);
        const int32_t axis = model.builder.longs({}, {-1});
        model.builder.add(OperatorCode::ARG_MAX, {model.x, axis}, model.outputs,
                          {{ArgMaxOptions::kOutputType, integer(2)}});
        const Outcome found = model.run();
        ASSERT_TRUE(found.status.ok()) << found.status.toString();
        EXPECT_EQ(found[model.outputs[0]].shape, shape.size() == 1 ? Extents{} : Extents{2});
        EXPECT_EQ(found.ints(model.outputs[0]), Ints(shape.size() == 1 ? 1 : 2, 2));
    }
    OfOne least({3}, 0);
    least.addOutput(ElementType::INT32);
    const int32_t axis = least.builder.ints({1}, {0});
    least.builder.add(OperatorCode::ARG_MIN, {least.x, axis}, least.outputs);
    EXPECT_EQ(least.run().ints(least.outputs[0]), (Ints{0}));
}

TEST(ReductionTest, ArgMaxRefusesAResultOfInt64) {
    OfOne model({3}, 0);
    model.addOutput(ElementType::INT64);
    const int32_t axis = model.builder.ints({}, {0});
    model.builder.add(OperatorCode::ARG_MAX, {model.x, axis}, model.outputs);
    EXPECT_TRUE(has(model.reason(), "INT64, which the engine has for constants only"));
}

TEST(ReductionTest, TopKHasTheLargestFirstAndOfEqualsTheFirst) {
    ModelBuilder builder;
    const int32_t x = builder.input(ElementType::FLOAT32, {4});
    const int32_t count = builder.ints({}, {3});
    const int32_t values = builder.tensor(ElementType::FLOAT32, {3});
    const int32_t indices = builder.tensor(ElementType::INT32, {3});
    builder.add(OperatorCode::TOPK_V2, {x, count}, {values, indices});
    builder.output(values);
    builder.output(indices);
    const Outcome found = run(builder.model(), {{x, bytesOf(Floats{1, 3, 2, 3})}});
    ASSERT_TRUE(found.status.ok()) << found.status.toString();
    EXPECT_EQ(found.floats(values), (Floats{3, 3, 2}));
    EXPECT_EQ(found.ints(indices), (Ints{1, 3, 2}));
}

TEST(ReductionTest, TopKRefusesMoreThanThereAre) {
    OfOne model({2});
    const int32_t indices = model.addOutput(ElementType::INT32);
    const int32_t count = model.builder.ints({}, {3});
    model.builder.add(OperatorCode::TOPK_V2, {model.x, count}, {model.outputs[0], indices});
    EXPECT_TRUE(has(model.reason(), "k (3)")) << model.reason();
}

}  // namespace
}  // namespace halyard::tflite
