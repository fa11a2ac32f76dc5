// SPDX-License-Identifier: Apache-2.0
//
// Where a request's arguments lie, and what its pools allow.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "tests/driver/execute/executing_fixture.h"
#include "tests/driver/model_builder.h"
#include "tests/driver/sample_models.h"

namespace halyard::driver {
namespace {

TEST_F(Executing, LeavesInputsAsTheyAre) {
    const std::shared_ptr<PreparedModel> model = prepare(floatConvModel());
    RequestBuilder request = convRequest();
    const auto pool = std::get<SharedMemory>(request.request().pools[0]);
    const std::vector<uint8_t> before(pool->map()->begin(), pool->map()->end());
    ASSERT_TRUE(model->execute(request.request(), HalVersion::V1_3, {}).status.ok());
    EXPECT_EQ(std::vector<uint8_t>(pool->map()->begin(), pool->map()->end()), before);
}

TEST_F(Executing, ReadsArgumentsAtAnyOffset) {
    const std::shared_ptr<PreparedModel> model = prepare(reluModel());
    const SharedMemory pool = allocateHeapMemory(64);
    const std::vector<float> values = {-1, 2, -3, 4};
    std::memcpy(pool->map()->data() + 1, values.data(), 16);
    Request request;
    request.pools.emplace_back(pool);
    request.inputs.push_back({.hasNoValue = false, .location = {0, 1, 16}, .dimensions = {}});
    request.outputs.push_back({.hasNoValue = false, .location = {0, 19, 16}, .dimensions = {}});
    ASSERT_TRUE(model->execute(request, HalVersion::V1_0, {}).status.ok());
    std::vector<float> result(4);
    std::memcpy(result.data(), pool->map()->data() + 19, 16);
    EXPECT_EQ(result, (std::vector<float>{0, 2, 0, 4}));
}

TEST_F(Executing, ComputesInPlaceWhereInputAndOutputShareMemory) {
    const std::shared_ptr<PreparedModel> model = prepare(reluModel());
    RequestBuilder request;
    request.input<float>({-1, 2, -3, 4}).output(16);
    request.request().outputs[0].location = request.request().inputs[0].location;
    ASSERT_TRUE(model->execute(request.request(), HalVersion::V1_0, {}).status.ok());
    EXPECT_EQ(request.result<float>(0, 4), (std::vector<float>{0, 2, 0, 4}));
}

TEST_F(Executing, RejectsOutputsInReadOnlyMemory) {
    const std::shared_ptr<PreparedModel> model = prepare(reluModel());
    const auto pool = std::make_shared<FakeMemory>(16);
    pool->canWrite = false;
    RequestBuilder request;
    request.input<float>({-1, 2, -3, 4}).output(pool);
    const ExecutionResult result = model->execute(request.request(), HalVersion::V1_0, {});
    EXPECT_EQ(result.status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_NE(result.status.message().find("read-only"), std::string_view::npos);
}

TEST_F(Executing, AcceptsInputsInReadOnlyMemory) {
    const std::shared_ptr<PreparedModel> model = prepare(reluModel());
    const auto pool = std::make_shared<FakeMemory>(16);
    pool->canWrite = false;
    RequestBuilder request;
    request.input(pool).output(16);
    EXPECT_TRUE(model->execute(request.request(), HalVersion::V1_0, {}).status.ok());
}

TEST_F(Executing, FailsWhereAPoolCannotBeMapped) {
    const std::shared_ptr<PreparedModel> model = prepare(reluModel());
    const auto pool = std::make_shared<FakeMemory>(16);
    pool->mappable = false;
    RequestBuilder input;
    input.input(pool).output(16);
    EXPECT_EQ(model->execute(input.request(), HalVersion::V1_0, {}).status.code(),
              StatusCode::INTERNAL);
    RequestBuilder output;
    output.input<float>({1, 2, 3, 4}).output(pool);
    EXPECT_EQ(model->execute(output.request(), HalVersion::V1_0, {}).status.code(),
              StatusCode::INTERNAL);
}

TEST_F(Executing, FailsWhereAPoolWasCutShortMeanwhile) {
    Model model = floatConvModel();
    const SharedMemory whole = model.pools[0];
    const auto constants = std::make_shared<FakeMemory>(whole->size());
    std::memcpy(constants->map()->data(), whole->map()->data(), whole->size());
    model.pools[0] = constants;
    const std::shared_ptr<PreparedModel> prepared = prepare(model);
    RequestBuilder request;
    request.input<float>({1, 2, 3, 4, 5, 6, 7, 8, 9}).output(32);
    ASSERT_TRUE(prepared->execute(request.request(), HalVersion::V1_0, {}).status.ok());
    constants->cutShort = true;
    ExecutionResult result = prepared->execute(request.request(), HalVersion::V1_0, {});
    EXPECT_EQ(result.status.code(), StatusCode::INTERNAL);
    EXPECT_NE(result.status.message().find("model pool 0 was cut short"), std::string_view::npos);
    EXPECT_TRUE(result.outputShapes.empty());

    const auto input = std::make_shared<FakeMemory>(16);
    input->cutShort = true;
    RequestBuilder other;
    other.output(16).input(input);
    result = prepare(reluModel())->execute(other.request(), HalVersion::V1_0, {});
    EXPECT_EQ(result.status.code(), StatusCode::INTERNAL);
    EXPECT_NE(result.status.message().find("request pool 1 was cut short"), std::string_view::npos);
}

TEST_F(Executing, RejectsAnInputShorterThanItsOperand) {
    const std::shared_ptr<PreparedModel> model = prepare(reluModel());
    RequestBuilder request;
    request.input<float>({1, 2, 3, 4}).output(16);
    request.request().inputs[0].location.length = 15;
    EXPECT_EQ(model->execute(request.request(), HalVersion::V1_0, {}).status.code(),
              StatusCode::INVALID_ARGUMENT);
}

TEST_F(Executing, TakesAnInputWithRoomBeyondItsElements) {
    const std::shared_ptr<PreparedModel> model = prepare(reluModel());
    RequestBuilder request;
    request.input<float>({-1, 2, -3, 4, 5, 6}).output(16);
    EXPECT_TRUE(model->execute(request.request(), HalVersion::V1_3, {}).status.ok());
    EXPECT_EQ(request.result<float>(0, 4), (std::vector<float>{0, 2, 0, 4}));
}

TEST_F(Executing, RejectsARequiredInputWithoutAValue) {
    const std::shared_ptr<PreparedModel> model = prepare(reluModel());
    RequestBuilder request;
    request.input<float>({1, 2, 3, 4}).output(16);
    request.request().inputs[0] = {.hasNoValue = true, .location = {}, .dimensions = {}};
    EXPECT_EQ(model->execute(request.request(), HalVersion::V1_0, {}).status.code(),
              StatusCode::INVALID_ARGUMENT);
}

TEST_F(Executing, DoesWithoutAnInputThatTheOperationCanOmit) {
    // TRANSPOSE without a permutation turns the axes round.
    ModelBuilder builder;
    const uint32_t input = builder.input(floats({2, 3}));
    const uint32_t permutation = builder.input({OperandType::TENSOR_INT32, {2}});
    builder.operation(OperationType::TRANSPOSE, {input, permutation},
                      {builder.output(floats({0, 0}))});
    const std::shared_ptr<PreparedModel> model = prepare(builder.build());
    RequestBuilder request;
    request.input<float>({1, 2, 3, 4, 5, 6}).input<int32_t>({0, 1}).output(24);
    ExecutionResult result;
    model->execute(request.request(), HalVersion::V1_3, {}, result);
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(request.result<float>(0, 6), (std::vector<float>{1, 2, 3, 4, 5, 6}));
    request.request().inputs[1] = {.hasNoValue = true, .location = {}, .dimensions = {}};
    model->execute(request.request(), HalVersion::V1_3, {}, result);
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(result.outputShapes[0].dimensions, (std::vector<uint32_t>{3, 2}));
    EXPECT_EQ(request.result<float>(0, 6), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST_F(Executing, FindsAnInputThatIsTooShortBeforeItLaunches) {
    const std::shared_ptr<PreparedModel> model = prepare(reluModel());
    RequestBuilder request;
    request.input<float>({1, 2, 3, 4}).output(16);
    request.request().inputs[0].location.length = 15;
    int calls = 0;
    EXPECT_EQ(model->executeAsync(request.request(), HalVersion::V1_0, {},
                                  [&](const ExecutionResult&) { ++calls; })
                      .code(),
              StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace halyard::driver
