// SPDX-License-Identifier: Apache-2.0
//
// How models are prepared: how often each of them is looked at, on which thread, and when it stops.

#include "driver/prepare/compile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "driver/device/device.h"
#include "driver/ops/constants.h"
#include "driver/ops/model_lowering.h"
#include "engine/graph/verifier.h"
#include "tests/driver/awaited.h"
#include "tests/driver/device_fixture.h"
#include "tests/driver/model_builder.h"
#include "tests/driver/prepare/counting_backend.h"
#include "tests/driver/sample_models.h"

namespace halyard::driver {
namespace {

using std::chrono::steady_clock;

class Preparing : public testing::Test {
  protected:
    // Made when first asked for, so that a test can say what the backend does.
    const Device& device() {
        if (mDevice == nullptr) {
            Options options;
            options.threads = 2;
            mDevice = Device::create(options, CountingBackend::only(mNotes)).value();
        }
        return *mDevice;
    }

    std::shared_ptr<CountingBackend::Notes> mNotes = std::make_shared<CountingBackend::Notes>();

  private:
    std::unique_ptr<Device> mDevice;
};

Model reluChain(int count) {
    ModelBuilder builder;
    uint32_t value = builder.input(floats({2}));
    for (int i = 0; i < count; ++i) {
        const uint32_t next =
                i + 1 == count ? builder.output(floats({2})) : builder.temporary(floats({2}));
        builder.operation(OperationType::RELU, {value}, {next});
        value = next;
    }
    return builder.build();
}

// RELU, an ADD that fuses what does not exist, RELU.
Model badConstantModel() {
    ModelBuilder builder;
    const uint32_t input = builder.input(floats({2}));
    const uint32_t first = builder.temporary(floats({2}));
    const uint32_t second = builder.temporary(floats({2}));
    builder.operation(OperationType::RELU, {input}, {first})
            .operation(OperationType::ADD, {first, first, builder.int32(4711)}, {second})
            .operation(OperationType::RELU, {second}, {builder.output(floats({2}))});
    return builder.build();
}

// An operation whose own operands contradict each other, between two that are fine.
Model badShapesModel() {
    ModelBuilder builder;
    const uint32_t input = builder.input(floats({2}));
    const uint32_t first = builder.temporary(floats({2}));
    const uint32_t second = builder.temporary(floats({3}));
    builder.operation(OperationType::RELU, {input}, {first})
            .operation(OperationType::RELU6, {first}, {second})
            .operation(OperationType::RELU, {second}, {builder.output(floats({3}))});
    return builder.build();
}

TEST_F(Preparing, LooksAtAModelOnce) {
    ASSERT_TRUE(device().prepare(floatConvModel(), HalVersion::V1_3, {}).ok());
    EXPECT_EQ(mNotes->questions, 3U) << "one for each node";
    EXPECT_EQ(mNotes->partitions, 1U);
}

TEST_F(Preparing, LooksAtAModelOnceToCallItSupported) {
    const Model model = reluChain(50);
    EXPECT_EQ(*device().supportedOperations(model, HalVersion::V1_3), std::vector<bool>(50, true));
    EXPECT_EQ(mNotes->questions, 50U) << "one for each node";
}

// So many IFs, each with the same branch of so many operations twice; then one that Halyard lacks,
// if wanted.
Model branchingModel(size_t ifs, int operations, bool withUnknown) {
    ModelBuilder builder;
    std::vector<uint32_t> branches;
    for (int i = 0; i < 2; ++i) {
        branches.push_back(builder.temporary({OperandType::SUBGRAPH, {}}));
        builder.operand(branches.back()).lifetime = OperandLifeTime::SUBGRAPH;
    }
    const uint32_t condition = builder.input({OperandType::TENSOR_BOOL8, {1}});
    const uint32_t input = builder.input(floats({2}));
    for (size_t i = 0; i < ifs; ++i) {
        builder.operation(OperationType::IF, {condition, branches[0], branches[1], input},
                          {builder.output(floats({2}))});
    }
    if (withUnknown) {
        builder.operation(OperationType::OEM_OPERATION, {input}, {builder.output(floats({2}))});
    }
    Model model = builder.build();
    model.referenced = {reluChain(operations).main};
    return model;
}

TEST_F(Preparing, LooksAtGraphsInsideOncePerUse) {
    EXPECT_EQ(*device().supportedOperations(branchingModel(30, 20, false), HalVersion::V1_3),
              std::vector<bool>(30, true));
    EXPECT_EQ(mNotes->questions, 30U * 2 * 20);
}

TEST_F(Preparing, BoundsWhatGraphsInsideCost) {
    // Each use of the branch is 2000 nodes: of 1000, no more than a model may have can be
    // supported.
    const std::vector<bool> supported =
            *device().supportedOperations(branchingModel(1000, 1000, true), HalVersion::V1_3);
    const auto count = static_cast<size_t>(std::ranges::count(supported, true));
    EXPECT_EQ(count, engine::kMaxNestedNodes / 2000);
    EXPECT_LT(mNotes->questions, 10 * engine::kMaxNestedNodes) << "not 2 000 000 and more";
}

// An ADD of a value whose extent the model does not say, and of a constant of another: only the
// whole shows it. A RELU that has nothing to do with them.
Model contradictingModel(size_t contradictions) {
    ModelBuilder builder;
    const uint32_t input = builder.input(floats({2}));
    const uint32_t open = builder.temporary(floats({0}));
    builder.operation(OperationType::RELU, {input}, {open});
    for (size_t i = 0; i < contradictions; ++i) {
        const uint32_t three = builder.constant(floats({3}), std::vector<float>(3, 1.0F));
        builder.operation(OperationType::ADD, {open, three, builder.int32(0)},
                          {builder.output(floats({0}))});
    }
    builder.operation(OperationType::RELU, {open}, {builder.output(floats({0}))});
    return builder.build();
}

TEST_F(Preparing, BlamesTheLaterOfOperationsThatContradictEachOther) {
    for (const size_t contradictions : {1U, 3U, 4U}) {
        const Model model = contradictingModel(contradictions);
        std::vector<bool> expected(contradictions + 2, false);
        expected.front() = true;
        expected.back() = true;
        EXPECT_EQ(*device().supportedOperations(model, HalVersion::V1_3), expected);
        EXPECT_FALSE(device().prepare(model, HalVersion::V1_3, {}).ok());
    }
    // Of so many only the first are looked for, and what comes after them is not supported.
    const std::vector<bool> supported =
            *device().supportedOperations(contradictingModel(100), HalVersion::V1_3);
    EXPECT_TRUE(supported.front());
    EXPECT_EQ(std::ranges::count(supported, true), 1);
}

TEST_F(Preparing, DeniesOnlyTheOperationWhoseConstantsOrShapesAreBad) {
    for (const Model& model : {badConstantModel(), badShapesModel()}) {
        const Result<std::vector<bool>> supported =
                device().supportedOperations(model, HalVersion::V1_3);
        ASSERT_TRUE(supported.ok()) << "it is no invalid model: " << supported.status().toString();
        EXPECT_EQ(*supported, (std::vector<bool>{true, false, true}));
    }
}

TEST_F(Preparing, FailsThroughTheCallbackAloneWhereConstantsOrShapesAreBad) {
    for (const Model& model : {badConstantModel(), badShapesModel()}) {
        const Awaited<Status> done;
        const Status launch = device().prepareAsync(
                model, HalVersion::V1_3, {},
                [done](const Status& status, const std::shared_ptr<PreparedModel>& prepared) {
                    EXPECT_EQ(prepared, nullptr);
                    done.set(status);
                });
        EXPECT_TRUE(launch.ok()) << launch.toString();
        EXPECT_EQ(done.get().code(), StatusCode::UNSUPPORTED);
        EXPECT_NE(done.get().message().find("operation 1 ("), std::string_view::npos)
                << done.get().message();
        EXPECT_EQ(done.count(), 1);
    }
}

TEST_F(Preparing, KeepsNoCallerWaiting) {
    const Awaited<bool> asked;
    const Awaited<bool> goOn;
    mNotes->beforeAnswer = [asked, goOn] {
        asked.set(true);
        goOn.get();
    };
    const Awaited<Status> done;
    const Status launch = device().prepareAsync(
            reluModel(), HalVersion::V1_3, {},
            [done](const Status& status, const std::shared_ptr<PreparedModel>&) {
                done.set(status);
            });
    EXPECT_TRUE(launch.ok());
    asked.get();  // by another thread: this one would never come here
    EXPECT_EQ(done.count(), 0);
    goOn.set(true);
    EXPECT_TRUE(done.get().ok());
}

TEST_F(Preparing, KeepsNoRequestWaiting) {
    const std::shared_ptr<PreparedModel> model =
            device().prepare(reluModel(), HalVersion::V1_3, {}).value();
    const Awaited<bool> goOn;
    std::atomic<bool> block = true;
    mNotes->beforeAnswer = [&block, goOn] {
        if (block) {
            goOn.get();
        }
    };
    const Awaited<Status> done;
    for (int i = 0; i < 8; ++i) {
        EXPECT_TRUE(device().prepareAsync(reluModel(), HalVersion::V1_3,
                                          {.priority = Priority::HIGH, .deadline = {}},
                                          [done](const Status& status,
                                                 const std::shared_ptr<PreparedModel>&) {
                                              done.set(status);
                                          })
                            .ok());
    }
    RequestBuilder request;
    request.input<float>({-1, 2, -3, 4}).output(16);
    EXPECT_TRUE(model->execute(request.request(), HalVersion::V1_3, {}).status.ok());
    block = false;
    goOn.set(true);
    while (done.count() < 8) {
        std::this_thread::yield();
    }
}

TEST_F(Preparing, StopsWhenItsDeadlinePassesPartWay) {
    PrepareOptions options;
    options.deadline = steady_clock::now() + std::chrono::milliseconds(200);
    mNotes->beforeAnswer = [&] { std::this_thread::sleep_until(*options.deadline); };
    const Status status = device().prepare(floatConvModel(), HalVersion::V1_3, options).status();
    EXPECT_EQ(status.code(), StatusCode::DEADLINE_EXCEEDED) << status.toString();
    EXPECT_EQ(mNotes->partitions, 0U);
}

TEST_F(Preparing, StopsWhenItsDeadlinePassesWhileItCompiles) {
    PrepareOptions options;
    options.deadline = steady_clock::now() + std::chrono::milliseconds(200);
    mNotes->beforeCompiling = [&] { std::this_thread::sleep_until(*options.deadline); };
    const Status status = device().prepare(floatConvModel(), HalVersion::V1_3, options).status();
    EXPECT_EQ(status.code(), StatusCode::DEADLINE_EXCEEDED) << status.toString();
}

TEST_F(Preparing, StopsWhenItTakesLongerThanTheDeviceLetsAnything) {
    Options options;
    options.threads = 1;
    options.maxRunningSeconds = 1;
    mNotes->beforeAnswer = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1100)); };
    const auto device = Device::create(options, CountingBackend::only(mNotes)).value();
    const Status status = device->prepare(reluModel(), HalVersion::V1_3, {}).status();
    EXPECT_EQ(status.code(), StatusCode::DEADLINE_EXCEEDED) << status.toString();
    EXPECT_TRUE(status.message().starts_with("the device lets nothing take longer than 1 s"))
            << status.toString();
    EXPECT_TRUE(status.persistent()) << "it would take as long again";
}

TEST_F(Preparing, PollsItsDeadlineWhileItLowers) {
    const Model model = reluChain(100);
    const Constants constants(model, poolsOf(model));
    const Checkpoint passed(steady_clock::time_point{});
    EXPECT_EQ(ModelLowering(model, constants, {}, passed).whole().status().code(),
              StatusCode::DEADLINE_EXCEEDED);
    EXPECT_TRUE(ModelLowering(model, constants).whole().ok());
}

TEST_F(Preparing, TakesAChainOfTenThousandOperations) {
    constexpr int kCount = 10'000;
    const Model model = reluChain(kCount);
    const Result<std::vector<bool>> supported =
            device().supportedOperations(model, HalVersion::V1_3);
    ASSERT_TRUE(supported.ok());
    EXPECT_EQ(std::ranges::count(*supported, true), kCount);
    mNotes->questions = 0;
    const Result<std::shared_ptr<PreparedModel>> prepared =
            device().prepare(model, HalVersion::V1_3, {});
    ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
    EXPECT_EQ(mNotes->questions, size_t{kCount});
    RequestBuilder request;
    request.input<float>({-1, 2}).output(8);
    ASSERT_TRUE((*prepared)->execute(request.request(), HalVersion::V1_3, {}).status.ok());
    EXPECT_EQ(request.result<float>(0, 2), (std::vector<float>{0, 2}));
}

}  // namespace
}  // namespace halyard::driver
