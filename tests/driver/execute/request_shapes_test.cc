// SPDX-License-Identifier: Apache-2.0
//
// Shapes that only the request knows, and those that it is told.

#include <gtest/gtest.h>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/driver/execute/executing_fixture.h"
#include "tests/driver/model_builder.h"

namespace halyard::driver {
namespace {

// RESHAPE by a shape that only the request brings.
Model reshapeModel() {
    ModelBuilder builder;
    const uint32_t input = builder.input(floats({2, 3}));
    const uint32_t shape = builder.input({OperandType::TENSOR_INT32, {2}});
    const uint32_t output = builder.output(floats({0, 0}));
    builder.operation(OperationType::RESHAPE, {input, shape}, {output});
    return builder.build();
}

TEST_F(Executing, TellsTheShapeOfAnOutputThatIsTooSmall) {
    const std::shared_ptr<PreparedModel> model = prepare(openReluModel({0, 3}));
    RequestBuilder request;
    request.input<float>({1, -2, 3, 4, -5, 6}, {2, 3}).output(23);
    ExecuteOptions options;
    options.measureTiming = true;
    const ExecutionResult result = model->execute(request.request(), HalVersion::V1_2, options);
    EXPECT_EQ(result.status.code(), StatusCode::OUTPUT_TOO_SMALL);
    EXPECT_EQ(result.outputShapes,
              (std::vector<OutputShape>{{.dimensions = {2, 3}, .isSufficient = false}}));
    EXPECT_EQ(result.timing.timeInDriver, std::nullopt);
}

TEST_F(Executing, TellsWhichOfTwoOutputsIsTooSmall) {
    ModelBuilder builder;
    const uint32_t input = builder.input(floats({4}));
    const uint32_t first = builder.output(floats({0}));
    const uint32_t second = builder.output(floats({0}));
    builder.operation(OperationType::RELU, {input}, {first})
            .operation(OperationType::RELU6, {input}, {second});
    const std::shared_ptr<PreparedModel> model = prepare(builder.build());
    RequestBuilder request;
    request.input<float>({1, 2, 3, 4}).output(100).output(4);
    EXPECT_EQ(model->execute(request.request(), HalVersion::V1_2, {}).outputShapes,
              (std::vector<OutputShape>{{.dimensions = {4}, .isSufficient = true},
                                        {.dimensions = {4}, .isSufficient = false}}));
}

TEST_F(Executing, AcceptsShapesThatOnlyTheRequestKnows) {
    const std::shared_ptr<PreparedModel> model = prepare(openReluModel({}));
    for (const auto& [dimensions, count] :
         std::vector<std::pair<std::vector<uint32_t>, size_t>>{{{3}, 3}, {{2, 2}, 4}, {{3}, 3}}) {
        RequestBuilder request;
        request.input(std::vector<float>(count, -1.0F), dimensions).output(64);
        const ExecutionResult result = model->execute(request.request(), HalVersion::V1_2, {});
        ASSERT_TRUE(result.status.ok()) << result.status.toString();
        EXPECT_EQ(result.outputShapes[0].dimensions, dimensions);
    }
}

TEST_F(Executing, TakesShapesFromInputs) {
    const std::shared_ptr<PreparedModel> model = prepare(reshapeModel());
    RequestBuilder request;
    request.input<float>({1, 2, 3, 4, 5, 6}).input<int32_t>({3, -1}).output(24);
    const ExecutionResult result = model->execute(request.request(), HalVersion::V1_2, {});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(result.outputShapes[0].dimensions, (std::vector<uint32_t>{3, 2}));
    EXPECT_EQ(request.result<float>(0, 6), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST_F(Executing, RejectsShapesFromInputsThatDoNotFit) {
    const std::shared_ptr<PreparedModel> model = prepare(reshapeModel());
    for (const std::vector<int32_t>& shape : std::vector<std::vector<int32_t>>{
                 {4, 4}, {-1, -1}, {-2, -3}, {0x10000, 0x10000}, {7, -1}, {0, -1}}) {
        RequestBuilder request;
        request.input<float>({1, 2, 3, 4, 5, 6}).input(shape).output(24);
        EXPECT_FALSE(model->execute(request.request(), HalVersion::V1_2, {}).status.ok());
    }
}

TEST_F(Executing, AsksOfAFencedExecutionThatAllItsShapesAreKnown) {
    const std::shared_ptr<PreparedModel> model = prepare(openReluModel({0, 3}));
    RequestBuilder request;
    request.input<float>({1, 2, 3}, {1, 3}).output(12);
    EXPECT_TRUE(model->execute(request.request(), HalVersion::V1_3, {}).status.ok());
    const Status status = model->validateFenced(request.request(), HalVersion::V1_3);
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_NE(status.message().find("output 0"), std::string_view::npos) << status.message();
    request.request().outputs[0].dimensions = {1, 3};
    EXPECT_TRUE(model->validateFenced(request.request(), HalVersion::V1_3).ok());
    request.request().inputs.clear();
    EXPECT_EQ(model->validateFenced(request.request(), HalVersion::V1_3).code(),
              StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace halyard::driver
