// SPDX-License-Identifier: Apache-2.0

#include "driver/execute/prepared_model.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/driver/awaited.h"
#include "tests/driver/execute/executing_fixture.h"
#include "tests/driver/model_builder.h"
#include "tests/driver/sample_models.h"

namespace halyard::driver {
namespace {

using std::chrono::steady_clock;

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
                EXPECT_EQ(result.timing.timeOnDevice, std::nullopt);
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
    EXPECT_EQ(unasked.timeOnDevice, std::nullopt);
    EXPECT_EQ(unasked.timeInDriver, std::nullopt);
    ExecuteOptions options;
    options.measureTiming = true;
    const Timing asked = model->execute(convRequest().request(), HalVersion::V1_2, options).timing;
    EXPECT_NE(asked.timeInDriver, std::nullopt);
    EXPECT_LE(asked.timeOnDevice, asked.timeInDriver);
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
    EXPECT_NE(result.timing.timeInDriver, std::nullopt);
    model->execute(request.request(), HalVersion::V1_0, {}, result);
    EXPECT_EQ(result.timing.timeInDriver, std::nullopt) << "not asked for";
    EXPECT_EQ(result.outputShapes.size(), 1U);
    model->execute(Request(), HalVersion::V1_0, options, result);
    EXPECT_EQ(result.status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_TRUE(result.outputShapes.empty());
    EXPECT_EQ(result.timing.timeInDriver, std::nullopt);
    model->execute(request.request(), HalVersion::V1_0, {}, result);
    EXPECT_TRUE(result.status.ok());
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

}  // namespace
}  // namespace halyard::driver
