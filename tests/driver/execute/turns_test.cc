// SPDX-License-Identifier: Apache-2.0
//
// Whose turn it is, where more executions come than run at once.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "driver/execute/device_state.h"
#include "driver/prepare/compile.h"
#include "tests/driver/awaited.h"
#include "tests/driver/execute/executing_fixture.h"
#include "tests/driver/gate.h"
#include "tests/driver/model_builder.h"
#include "tests/driver/sample_models.h"

namespace halyard::driver {
namespace {

using std::chrono::steady_clock;

constexpr Deadline kPassed = steady_clock::time_point();

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
        return compileModel(mState, reluModel(), {}, {.priority = priority, .deadline = {}})
                .value();
    }
    std::shared_ptr<DeviceState> mState = makeState();
    std::shared_ptr<Scheduler::Share> mShare = mState->clients.own()->shares().executing;
    std::vector<Scheduler::Slot> mSlots;
};

// Notes when an output is bound to it, which is when the request's turn has come.
class NotingMemory final : public ResidentMemory {
  public:
    NotingMemory(std::vector<int>& notes, int note) : mNotes(notes), mNote(note) {}
    std::string_view name() const override { return "ashmem"; }
    bool writable() const override {
        mNotes.push_back(mNote);
        return true;
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

TEST_F(Waiting, IsInVainForGoodWhereTheDeadlineHadPassedBefore) {
    const std::shared_ptr<PreparedModel> model = prepare(Priority::HIGH);
    RequestBuilder request;
    request.input<float>({1, 2, 3, 4}).output(16);
    const auto executed = [&](const Deadline& deadline) {
        ExecuteOptions options;
        options.deadline = deadline;
        return model->execute(request.request(), HalVersion::V1_3, options).status;
    };
    const auto launched = [&](const Deadline& deadline) {
        ExecuteOptions options;
        options.deadline = deadline;
        const Awaited<Status> told;
        EXPECT_TRUE(model->executeAsync(
                                 request.request(), HalVersion::V1_3, options,
                                 [told](const ExecutionResult& result) { told.set(result.status); })
                            .ok());
        return told.get();
    };
    const auto soon = [] { return steady_clock::now() + std::chrono::milliseconds(20); };
    for (const Status& late : {executed(kPassed), launched(kPassed)}) {
        EXPECT_EQ(late.code(), StatusCode::DEADLINE_EXCEEDED);
        EXPECT_TRUE(late.persistent()) << "no slot would have helped";
    }
    for (const Status& late : {executed(soon()), launched(soon())}) {
        EXPECT_EQ(late.code(), StatusCode::DEADLINE_EXCEEDED);
        EXPECT_FALSE(late.persistent()) << "a slot would have helped";
    }
    mSlots.clear();
    for (const Status& late : {executed(kPassed), launched(kPassed)}) {
        EXPECT_TRUE(late.persistent());
    }
}

TEST_F(Waiting, IsNotForLoopsWhoseTimeIsUp) {
    const std::shared_ptr<PreparedModel> loop =
            compileModel(mState, loopModel(OperationType::MINIMUM), {}, {}).value();
    mSlots.clear();
    RequestBuilder request;
    request.input<float>({1}).input<float>({5}).output(4);
    ExecuteOptions options;
    options.loopTimeout = std::chrono::milliseconds(5);
    const Status late = loop->execute(request.request(), HalVersion::V1_3, options).status;
    EXPECT_EQ(late.code(), StatusCode::DEADLINE_EXCEEDED);
    EXPECT_FALSE(late.persistent()) << "with other inputs, or less to do, it may end in time";
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
    // With no slot free and no deadline, an execution that waits would wait for ever.
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
            builder.input<float>({1, 2, 3, 4}).output(std::make_shared<NotingMemory>(order, note));
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

}  // namespace
}  // namespace halyard::driver
