// SPDX-License-Identifier: Apache-2.0

#include "driver/execute/prepared_model.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

#include "driver/backends.h"
#include "driver/device_state.h"
#include "driver/prepare/compile.h"
#include "tests/driver/awaited.h"
#include "tests/driver/device_fixture.h"
#include "tests/driver/gate.h"
#include "tests/driver/model_builder.h"
#include "tests/driver/sample_models.h"

namespace halyard::driver {
namespace {

using std::chrono::steady_clock;

class Executing : public testing::Test {
  protected:
    std::shared_ptr<PreparedModel> prepare(const Model& model,
                                           HalVersion version = HalVersion::V1_3) {
        Result<std::shared_ptr<PreparedModel>> prepared = mDevice->prepare(model, version, {});
        EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
        return prepared.ok() ? *prepared : nullptr;
    }

    std::unique_ptr<Device> mDevice = makeDevice();
};

// A RELU whose shape the model leaves open.
Model openReluModel(const std::vector<uint32_t>& dimensions) {
    ModelBuilder builder;
    const uint32_t input = builder.input(floats(dimensions));
    const uint32_t output = builder.output(floats(dimensions));
    builder.operation(OperationType::RELU, {input}, {output});
    return builder.build();
}

// RESHAPE by a shape that only the request brings.
Model reshapeModel() {
    ModelBuilder builder;
    const uint32_t input = builder.input(floats({2, 3}));
    const uint32_t shape = builder.input({OperandType::TENSOR_INT32, {2}});
    const uint32_t output = builder.output(floats({0, 0}));
    builder.operation(OperationType::RESHAPE, {input, shape}, {output});
    return builder.build();
}

RequestBuilder convRequest() {
    RequestBuilder request;
    request.input<float>({1, 2, 3, 4, 5, 6, 7, 8, 9}).output(8 * sizeof(float));
    return request;
}

// CONV_2D by hand: channel 0 is x[0,0] + x[1,1] + 0.5, channel 1 is -x[0,0] + 2 x[0,1] - 1. Both
// are positive, so that ADD doubles them.
const std::vector<float> kConvResult = {13, 4, 17, 6, 25, 10, 29, 12};

TEST_F(Executing, ComputesAConvolution) {
    const std::shared_ptr<PreparedModel> model = prepare(floatConvModel(), HalVersion::V1_0);
    RequestBuilder request = convRequest();
    const ExecutionResult result = model->execute(request.request(), HalVersion::V1_0, {});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(request.result<float>(0, 8), kConvResult);
    EXPECT_EQ(result.outputShapes,
              (std::vector<OutputShape>{{.dimensions = {1, 2, 2, 2}, .isSufficient = true}}));
}

TEST_F(Executing, ComputesAQuantisedConvolution) {
    const std::shared_ptr<PreparedModel> model = prepare(quantConvModel(), HalVersion::V1_0);
    RequestBuilder request;
    // Real values 1 to 9 at scale 0.5 around 128.
    request.input<uint8_t>({130, 132, 134, 136, 138, 140, 142, 144, 146}).output(8);
    const ExecutionResult result = model->execute(request.request(), HalVersion::V1_0, {});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    // The real results 6.5, 2, 8.5, 3, 12.5, 5, 14.5, 6 rounded half to even to steps of 1, doubled
    // by ADD, in steps of 2 around 50.
    EXPECT_EQ(request.result<uint8_t>(0, 8),
              (std::vector<uint8_t>{56, 52, 58, 53, 62, 55, 64, 56}));
}

TEST_F(Executing, GivesTheSameAsynchronouslyWithOneCallback) {
    const std::shared_ptr<PreparedModel> model = prepare(floatConvModel());
    RequestBuilder request = convRequest();
    const Awaited<ExecutionResult> done;
    const Status launch =
            model->executeAsync(request.request(), HalVersion::V1_3, {},
                                [done](const ExecutionResult& result) { done.set(result); });
    EXPECT_TRUE(launch.ok());
    EXPECT_TRUE(done.get().status.ok());
    EXPECT_EQ(request.result<float>(0, 8), kConvResult);
    EXPECT_EQ(done.count(), 1);
}

TEST_F(Executing, ReportsAnInvalidRequestThroughCallbackAndReturnValue) {
    const std::shared_ptr<PreparedModel> model = prepare(floatConvModel());
    int calls = 0;
    const Status launch = model->executeAsync(
            Request(), HalVersion::V1_3, {}, [&](const ExecutionResult& result) {
                ++calls;
                EXPECT_EQ(result.status.code(), StatusCode::INVALID_ARGUMENT);
                EXPECT_TRUE(result.outputShapes.empty());
                EXPECT_EQ(result.timing.timeOnDevice, Timing::kUnknown);
            });
    EXPECT_EQ(launch.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(model->executeAsync(convRequest().request(), HalVersion::V1_3, {}, nullptr).code(),
              StatusCode::INVALID_ARGUMENT);
}

TEST_F(Executing, ReportsAPassedDeadlineThroughTheCallbackAlone) {
    const std::shared_ptr<PreparedModel> model = prepare(floatConvModel());
    ExecuteOptions options;
    options.deadline = steady_clock::time_point();
    int calls = 0;
    const Status launch = model->executeAsync(
            convRequest().request(), HalVersion::V1_3, options, [&](const ExecutionResult& result) {
                ++calls;
                EXPECT_EQ(result.status.code(), StatusCode::DEADLINE_EXCEEDED);
            });
    EXPECT_TRUE(launch.ok());
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(model->execute(convRequest().request(), HalVersion::V1_3, options).status.code(),
              StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(Executing, StopsInTheMiddleOfAHugeNodeAtItsDeadline) {
    // 10^12 products: many minutes.
    constexpr uint32_t kSide = 500;
    constexpr uint32_t kFilterSide = 250;
    constexpr uint32_t kDepth = 8;
    ModelBuilder builder;
    const uint32_t input = builder.input(floats({1, kSide, kSide, kDepth}));
    const uint32_t filter = builder.pooled<float>(
            floats({kDepth, kFilterSide, kFilterSide, kDepth}),
            std::vector<float>(size_t{kDepth} * kFilterSide * kFilterSide * kDepth));
    const uint32_t bias = builder.pooled<float>(floats({kDepth}), std::vector<float>(kDepth));
    const uint32_t same = builder.int32(1);
    const uint32_t stride = builder.int32(1);
    const uint32_t activation = builder.int32(0);
    const uint32_t output = builder.output(floats({1, kSide, kSide, kDepth}));
    builder.operation(OperationType::CONV_2D,
                      {input, filter, bias, same, stride, stride, activation}, {output});
    const std::shared_ptr<PreparedModel> model = prepare(builder.build());
    constexpr size_t kElements = size_t{kSide} * kSide * kDepth;
    RequestBuilder request;
    request.input<float>(std::vector<float>(kElements)).output(kElements * sizeof(float));
    ExecuteOptions options;
    options.deadline = steady_clock::now() + std::chrono::milliseconds(50);
    const Status status = model->execute(request.request(), HalVersion::V1_3, options).status;
    EXPECT_EQ(status.code(), StatusCode::DEADLINE_EXCEEDED);
    EXPECT_NE(status.message().find("operation 0 (CONV_2D)"), std::string_view::npos)
            << status.message();
}

TEST_F(Executing, KnowsTimesOnlyWhenAsked) {
    const std::shared_ptr<PreparedModel> model = prepare(floatConvModel());
    const Timing unasked = model->execute(convRequest().request(), HalVersion::V1_2, {}).timing;
    EXPECT_EQ(unasked.timeOnDevice, Timing::kUnknown);
    EXPECT_EQ(unasked.timeInDriver, Timing::kUnknown);
    ExecuteOptions options;
    options.measureTiming = true;
    const Timing asked = model->execute(convRequest().request(), HalVersion::V1_2, options).timing;
    EXPECT_NE(asked.timeInDriver, Timing::kUnknown);
    EXPECT_LE(asked.timeOnDevice, asked.timeInDriver);
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
    EXPECT_EQ(result.timing.timeInDriver, Timing::kUnknown);
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

TEST_F(Executing, RejectsARequiredInputWithoutAValue) {
    const std::shared_ptr<PreparedModel> model = prepare(reluModel());
    RequestBuilder request;
    request.input<float>({1, 2, 3, 4}).output(16);
    request.request().inputs[0] = {.hasNoValue = true, .location = {}, .dimensions = {}};
    EXPECT_EQ(model->execute(request.request(), HalVersion::V1_0, {}).status.code(),
              StatusCode::INVALID_ARGUMENT);
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

TEST_F(Executing, ReplacesWhatAReusedResultHolds) {
    const std::shared_ptr<PreparedModel> model = prepare(reluModel());
    RequestBuilder request;
    request.input<float>({1, 2, 3, 4}).output(16);
    ExecutionResult result;
    ExecuteOptions options;
    options.measureTiming = true;
    model->execute(request.request(), HalVersion::V1_0, options, result);
    ASSERT_TRUE(result.status.ok());
    EXPECT_NE(result.timing.timeInDriver, Timing::kUnknown);
    model->execute(request.request(), HalVersion::V1_0, {}, result);
    EXPECT_EQ(result.timing.timeInDriver, Timing::kUnknown) << "not asked for";
    EXPECT_EQ(result.outputShapes.size(), 1U);
    model->execute(Request(), HalVersion::V1_0, options, result);
    EXPECT_EQ(result.status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_TRUE(result.outputShapes.empty());
    EXPECT_EQ(result.timing.timeInDriver, Timing::kUnknown);
    model->execute(request.request(), HalVersion::V1_0, {}, result);
    EXPECT_TRUE(result.status.ok());
}

TEST_F(Executing, AsksOfAFencedExecutionThatAllItsShapesAreKnown) {
    const std::shared_ptr<PreparedModel> model = prepare(openReluModel({0, 3}));
    RequestBuilder request;
    request.input<float>({1, 2, 3}, {1, 3}).output(12);
    EXPECT_TRUE(model->execute(request.request(), HalVersion::V1_3, {}).status.ok());
    const Status status = model->validateFenced(request.request());
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_NE(status.message().find("output 0"), std::string_view::npos) << status.message();
    request.request().outputs[0].dimensions = {1, 3};
    EXPECT_TRUE(model->validateFenced(request.request()).ok());
    request.request().inputs.clear();
    EXPECT_EQ(model->validateFenced(request.request()).code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(Executing, RunsManyRequestsOnOneModelAtOnce) {
    const std::shared_ptr<PreparedModel> model = prepare(openReluModel({0}));
    constexpr int kThreads = 8;
    constexpr int kRounds = 50;
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            for (int round = 0; round < kRounds; ++round) {
                const auto value = static_cast<float>(t * kRounds + round + 1);
                const size_t count = 1 + static_cast<size_t>((t + round) % 5);
                RequestBuilder request;
                request.input(std::vector<float>(count, value), {static_cast<uint32_t>(count)})
                        .output(count * sizeof(float));
                bool ok = false;
                if (round % 2 == 0) {
                    ok = model->execute(request.request(), HalVersion::V1_2, {}).status.ok();
                } else {
                    const Awaited<bool> done;
                    const Status launch =
                            model->executeAsync(request.request(), HalVersion::V1_2, {},
                                                [done](const ExecutionResult& result) {
                                                    done.set(result.status.ok());
                                                });
                    ok = done.get() && launch.ok();
                }
                if (!ok || request.result<float>(0, count) != std::vector<float>(count, value)) {
                    ++wrong;
                }
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(wrong, 0);
}

TEST_F(Executing, ReportsMemoryAndPlacement) {
    const std::shared_ptr<PreparedModel> model = prepare(floatConvModel());
    ASSERT_TRUE(model->execute(convRequest().request(), HalVersion::V1_3, {}).status.ok());
    const std::string report = model->report();
    EXPECT_NE(report.find("constant_bytes\t"), std::string::npos) << report;
    EXPECT_NE(report.find("arena_bytes\t"), std::string::npos) << report;
    EXPECT_NE(report.find("node\t0\toperation 0 (CONV_2D)\tConv2d\tCpuRef\t0\n"), std::string::npos)
            << report;
    EXPECT_NE(report.find("node\t2\toperation 2 (ADD)\tBinary\tCpuRef\t0\n"), std::string::npos)
            << report;
}

TEST_F(Executing, ReportsTheLargestArenaThatAnExecutionTook) {
    ModelBuilder builder;
    const uint32_t between = builder.temporary(floats({0}));
    builder.operation(OperationType::RELU, {builder.input(floats({0}))}, {between})
            .operation(OperationType::RELU, {between}, {builder.output(floats({0}))});
    const std::shared_ptr<PreparedModel> model = prepare(builder.build());
    const auto arenaAfter = [&](uint32_t elements) {
        RequestBuilder request;
        request.input<float>(std::vector<float>(elements), {elements}).output(4 * elements);
        EXPECT_TRUE(model->execute(request.request(), HalVersion::V1_3, {}).status.ok());
        const std::string report = model->report();
        return std::stoul(report.substr(report.find("arena_bytes\t") + 12));
    };
    const size_t small = arenaAfter(10);
    const size_t large = arenaAfter(1000);
    EXPECT_GE(large, 4000U);
    EXPECT_LT(small, large);
    EXPECT_EQ(arenaAfter(10), large);
}

TEST_F(Executing, TakesAnInputWithRoomBeyondItsElements) {
    const std::shared_ptr<PreparedModel> model = prepare(reluModel());
    RequestBuilder request;
    request.input<float>({-1, 2, -3, 4, 5, 6}).output(16);
    EXPECT_TRUE(model->execute(request.request(), HalVersion::V1_3, {}).status.ok());
    EXPECT_EQ(request.result<float>(0, 4), (std::vector<float>{0, 2, 0, 4}));
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

TEST_F(Executing, EndsALoopThatTakesLongerThanItMay) {
    const std::shared_ptr<PreparedModel> model = prepare(loopModel(OperationType::MAXIMUM));
    RequestBuilder request;
    request.input<float>({1}).input<float>({5}).output(4);
    const Status status = model->execute(request.request(), HalVersion::V1_3, {}).status;
    ASSERT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(request.result<float>(0, 1), std::vector<float>{5});
    ExecuteOptions options;
    options.loopTimeout = {};
    EXPECT_EQ(model->execute(request.request(), HalVersion::V1_3, options).status.code(),
              StatusCode::DEADLINE_EXCEEDED);
}

// ---- whose turn it is ---------------------------------------------------------------------------

constexpr Deadline kPassed = steady_clock::time_point();

std::shared_ptr<DeviceState> makeState() {
    Options options;
    options.threads = 1;
    return std::make_shared<DeviceState>(options, makeBackends({"CpuRef"}).value());
}

// A device whose inside the test reaches, with every slot for executions taken.
class Waiting : public testing::Test {
  protected:
    Waiting() {
        for (;;) {
            Result<Scheduler::Slot> slot = mShare->enter(Priority::HIGH, kPassed);
            if (!slot.ok()) {
                return;
            }
            mSlots.push_back(std::move(slot).value());
        }
    }

    std::shared_ptr<PreparedModel> prepare(Priority priority) {
        return compileModel(mState, reluModel(), {.priority = priority, .deadline = {}}).value();
    }
    std::shared_ptr<DeviceState> mState = makeState();
    std::shared_ptr<Scheduler::Share> mShare = mState->clients.own()->shares().executing;
    std::vector<Scheduler::Slot> mSlots;
};

// Notes when it is bound, which is when the request's turn has come.
class NotingMemory final : public ResidentMemory {
  public:
    NotingMemory(std::vector<int>& notes, int note) : mNotes(notes), mNote(note) {}
    std::string_view name() const override { return "ashmem"; }
    Result<std::span<uint8_t>> bytes(size_t offset, size_t length) const override {
        mNotes.push_back(mNote);
        return ResidentMemory::bytes(offset, length);
    }

  private:
    std::span<uint8_t> all() const override { return *mBytes->map(); }

    std::vector<int>& mNotes;
    const int mNote;
    const SharedMemory mBytes = allocateHeapMemory(16);
};

TEST_F(Waiting, EndsWithTheDeadline) {
    const std::shared_ptr<PreparedModel> model = prepare(Priority::HIGH);
    RequestBuilder request;
    request.input<float>({1, 2, 3, 4}).output(16);
    ExecuteOptions options;
    options.deadline = steady_clock::now() + std::chrono::milliseconds(1);
    EXPECT_EQ(model->execute(request.request(), HalVersion::V1_3, options).status.code(),
              StatusCode::DEADLINE_EXCEEDED);
    EXPECT_EQ(mState->executing.waiting(), 0U);
    mSlots.pop_back();
    EXPECT_TRUE(model->execute(request.request(), HalVersion::V1_3, {}).status.ok());
}

TEST_F(Waiting, IsNotForInvalidRequests) {
    const std::shared_ptr<PreparedModel> model = prepare(Priority::LOW);
    RequestBuilder request;
    request.input<float>({1, 2, 3, 4}).output(16);
    request.request().inputs.clear();
    // One whose time is up already is told what is wrong with it, and not that it came too late.
    ExecuteOptions options;
    options.deadline = kPassed;
    const ExecutionResult late = model->execute(request.request(), HalVersion::V1_3, options);
    ASSERT_EQ(late.status.code(), StatusCode::INVALID_ARGUMENT) << late.status.toString();
    // With no slot free and no deadline, whoever waits would wait for ever.
    const ExecutionResult result = model->execute(request.request(), HalVersion::V1_3, {});
    EXPECT_EQ(result.status.code(), StatusCode::INVALID_ARGUMENT) << result.status.toString();
    EXPECT_TRUE(result.outputShapes.empty());
}

TEST_F(Waiting, EndsInOrderOfPriorityForBothKindsOfExecutions) {
    std::vector<int> order;  // written with the only slot that becomes free
    std::vector<std::thread> threads;
    std::vector<std::shared_ptr<PreparedModel>> models;
    std::vector<Awaited<Status>> launched;
    size_t waiting = 0;
    for (const Priority priority : {Priority::LOW, Priority::MEDIUM, Priority::HIGH}) {
        models.push_back(prepare(priority));
        for (const bool asynchronous : {true, false}) {
            const int note = 10 * static_cast<int>(priority) + (asynchronous ? 0 : 1);
            RequestBuilder builder;
            builder.input(std::make_shared<NotingMemory>(order, note)).output(16);
            if (asynchronous) {
                const Awaited<Status> done = launched.emplace_back();
                EXPECT_TRUE(models.back()
                                    ->executeAsync(builder.request(), HalVersion::V1_3, {},
                                                   [done](const ExecutionResult& result) {
                                                       done.set(result.status);
                                                   })
                                    .ok());
            } else {
                threads.emplace_back([model = models.back(), request = builder.request()] {
                    const ExecutionResult result = model->execute(request, HalVersion::V1_3, {});
                    EXPECT_TRUE(result.status.ok()) << result.status.toString();
                });
            }
            awaitWaiting(mState->executing, ++waiting);
        }
    }
    EXPECT_TRUE(order.empty());
    mSlots.pop_back();
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (const Awaited<Status>& status : launched) {
        EXPECT_TRUE(status.get().ok());
    }
    EXPECT_EQ(order, (std::vector<int>{20, 21, 10, 11, 0, 1}));
}

// ---- reports and dumps --------------------------------------------------------------------------

TEST(Reporting, TellsEveryOperationsFate) {
    const std::shared_ptr<DeviceState> state = makeState();
    engine::Graph graph;
    const engine::TensorType type = {
            .type = engine::DataType::FLOAT32, .shape = {4}, .quantization = {}};
    const engine::TensorId input = graph.addTensor(type);
    const engine::TensorId output = graph.addTensor(type);
    graph.setInputs({input});
    graph.setOutputs({output});
    graph.addNode({.descriptor = engine::Unary(),
                   .inputs = {input},
                   .outputs = {output},
                   .label = "operation 1 (ABS)",
                   .sources = {1, 4, 7}});
    graph.addVanished({.operation = 4, .fate = "fused into operation 1"});
    const auto program = engine::Program::build(std::move(graph), state->backendList,
                                                state->threads, state->account.memory);
    ASSERT_TRUE(program.ok()) << program.status().toString();
    const auto model = std::make_shared<PreparedModel>(
            state, state->clients.own(), PreparedModel::Holdings(), ModelBoundary(),
            std::vector<SharedMemory>(), *program, Priority::LOW);
    const std::string report = model->report();
    EXPECT_NE(report.find("node\t1,4,7\toperation 1 (ABS)\tUnary\tCpuRef\t0\n"), std::string::npos)
            << report;
    EXPECT_NE(report.find("vanished\t4\tfused into operation 1\n"), std::string::npos) << report;
}

TEST(Dumping, WritesEveryTensorOfEveryRequest) {
    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) /
                                         ("halyard_dump_test_" + std::to_string(getpid()));
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    Options options;
    options.dumpDirectory = folder.string();
    const std::unique_ptr<Device> device = makeDevice(options);
    const std::shared_ptr<PreparedModel> model =
            *device->prepare(reluModel(), HalVersion::V1_0, {});
    RequestBuilder request;
    // With room beyond what the operand takes, which is no part of it.
    request.input<float>({-1, 2, -3, 4, 5, 6}).output(16);
    ASSERT_TRUE(model->execute(request.request(), HalVersion::V1_0, {}).status.ok());
    const auto floatsIn = [&](const char* name) {
        std::ifstream file(folder / name, std::ios::binary);
        const std::string bytes((std::istreambuf_iterator<char>(file)), {});
        std::vector<float> values(bytes.size() / sizeof(float));
        std::memcpy(values.data(), bytes.data(), bytes.size());
        return values;
    };
    EXPECT_EQ(floatsIn("1_input0.dump"), (std::vector<float>{-1, 2, -3, 4}));
    EXPECT_EQ(floatsIn("1_output0.dump"), (std::vector<float>{0, 2, 0, 4}));
    std::filesystem::remove_all(folder);
    EXPECT_TRUE(model->execute(request.request(), HalVersion::V1_0, {}).status.ok());
}

}  // namespace
}  // namespace halyard::driver
