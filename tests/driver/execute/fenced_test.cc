// SPDX-License-Identifier: Apache-2.0
//
// Executions that wait for fences: they hold nothing that others need.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "driver/execute/prepared_model.h"
#include "tests/driver/awaited.h"
#include "tests/driver/client_fixture.h"
#include "tests/driver/model_builder.h"
#include "tests/driver/sample_models.h"

namespace halyard::driver {
namespace {

using Clock = std::chrono::steady_clock;
using Fence = std::shared_ptr<const FileDescriptor>;

Fence pending() {
    return std::make_shared<const FileDescriptor>(eventfd(0, EFD_CLOEXEC));
}

void happen(const Fence& fence) {
    const uint64_t one = 1;
    EXPECT_EQ(write(fence->get(), &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
}

class FencedExecution : public ClientTest {
  protected:
    // A request of its own, launched.
    Awaited<Status> launch(ExecuteOptions options, StatusCode launched = StatusCode::OK) {
        RequestBuilder& request = mRequests.emplace_back();
        request.input<float>({-1, 2, -3, 4}).output(16);
        const Awaited<Status> told;
        const Status status = mModel->executeAsync(
                request.request(), HalVersion::V1_3, options,
                [told](const ExecutionResult& result) { told.set(result.status); });
        EXPECT_EQ(status.code(), launched) << status.toString();
        return told;
    }
    Awaited<Status> launchAfter(Fences fences) {
        ExecuteOptions options;
        options.waitFor = std::move(fences);
        return launch(std::move(options));
    }
    void expectServed(const std::shared_ptr<Client>& client) {
        const auto model = prepare(client, reluModel()).value();
        RequestBuilder request;
        request.input<float>({-1, 2, -3, 4}).output(16);
        EXPECT_TRUE(model->execute(request.request(), HalVersion::V1_3, {}).status.ok());
    }
    void awaitNothingHeld() {
        const Account& held = mClient->account();
        while (held.tasks->reserved() > 0 || held.descriptors->reserved() > 0) {
            std::this_thread::yield();
        }
    }

    const std::shared_ptr<Client> mClient = account(kGreedy);
    const std::shared_ptr<PreparedModel> mModel = prepare(mClient, reluModel()).value();
    std::vector<RequestBuilder> mRequests = [] {
        std::vector<RequestBuilder> requests;
        requests.reserve(1000);
        return requests;
    }();
};

TEST_F(FencedExecution, BeginsOnceItsFencesHaveHappened) {
    const std::vector<Fence> fences = {pending(), pending()};
    const Awaited<Status> told = launchAfter({fences[0], fences[1]});
    happen(fences[1]);
    EXPECT_EQ(reported(kGreedy, "descriptors"), 2);
    EXPECT_EQ(reported(kGreedy, "waiting"), 1);
    EXPECT_EQ(told.count(), 0);
    happen(fences[0]);
    EXPECT_TRUE(told.get().ok()) << told.get().toString();
    EXPECT_EQ(mRequests[0].result<float>(0, 4), (std::vector<float>{0, 2, 0, 4}));
    awaitNothingHeld();
}

TEST_F(FencedExecution, HoldsNoThreadUpHoweverManyWait) {
    const Fence last = pending();
    std::vector<Awaited<Status>> waiting;
    for (int i = 0; i < 200; ++i) {
        waiting.push_back(launchAfter({pending(), last}));
    }
    EXPECT_EQ(mClient->shares().executing->running(), 0U);
    EXPECT_EQ(mClient->shares().executing->waiting(), 0U);
    EXPECT_EQ(mClient->shares().fences->waiting(), 200U);
    expectServed(mClient);
    expectServed(account(kModest));
    mClient->end();
    for (const Awaited<Status>& told : waiting) {
        EXPECT_EQ(told.get().code(), StatusCode::UNAVAILABLE);
        EXPECT_EQ(told.count(), 1);
    }
    awaitNothingHeld();
}

TEST_F(FencedExecution, EndsWithItsDeadlineWhileItWaits) {
    ExecuteOptions options;
    options.waitFor = {pending()};
    options.deadline = Clock::now() + std::chrono::milliseconds(20);
    const Status late = launch(options).get();
    EXPECT_EQ(late.code(), StatusCode::DEADLINE_EXCEEDED);
    EXPECT_FALSE(late.persistent()) << "they may happen sooner the next time";
    options.deadline = Clock::time_point();
    EXPECT_TRUE(launch(options).get().persistent());
    awaitNothingHeld();
}

// Its contract knows no status for it.
TEST_F(FencedExecution, FailsWhereAnOutputIsTooSmall) {
    RequestBuilder request;
    request.input<float>({-1, 2, -3, 4}).output(4);
    const ExecutionResult result = mModel->executeFenced(request.request(), HalVersion::V1_3, {});
    EXPECT_EQ(result.status.code(), StatusCode::INTERNAL);
    EXPECT_TRUE(result.outputShapes.empty());
}

TEST_F(FencedExecution, CountsItsTimesFromTheCallAndFromTheFences) {
    constexpr std::chrono::milliseconds kWait{20};
    const Fence fence = pending();
    ExecuteOptions options;
    options.measureTiming = true;
    options.waitFor = {fence};
    RequestBuilder& request = mRequests.emplace_back();
    request.input<float>({-1, 2, -3, 4}).output(16);
    const Awaited<ExecutionResult> told;
    ASSERT_TRUE(mModel->executeAsync(request.request(), HalVersion::V1_3, options,
                                     [told](const ExecutionResult& result) { told.set(result); })
                        .ok());
    std::this_thread::sleep_for(kWait);
    happen(fence);
    const ExecutionResult result = told.get();
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_GE(*result.timing.timeInDriver - *result.timingFenced.timeInDriver, kWait);
    EXPECT_GE(*result.timingFenced.timeInDriver, *result.timingFenced.timeOnDevice);
}

TEST_F(FencedExecution, HasItsTimeFromTheFencesOn) {
    const Fence fence = pending();
    ExecuteOptions options;
    options.waitFor = {fence};
    options.durationAfterFences = std::chrono::nanoseconds(0);
    EXPECT_TRUE(launch(options).get().persistent()) << "told at once: no fence would help";
    options.durationAfterFences = std::chrono::nanoseconds(1);
    const Awaited<Status> none = launch(options);
    options.durationAfterFences = std::chrono::nanoseconds::max();
    const Awaited<Status> enough = launch(options);
    happen(fence);
    EXPECT_EQ(none.get().code(), StatusCode::DEADLINE_EXCEEDED);
    EXPECT_FALSE(none.get().persistent());
    EXPECT_TRUE(enough.get().ok()) << enough.get().toString();
}

TEST_F(FencedExecution, FailsWithItsFence) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const Awaited<Status> told =
            launchAfter({pending(), std::make_shared<const FileDescriptor>(ends[0])});
    close(ends[1]);
    EXPECT_EQ(told.get().code(), StatusCode::INTERNAL) << told.get().toString();
    awaitNothingHeld();
}

TEST_F(FencedExecution, MayWaitForNoMoreThanItsAccountHas) {
    ExecuteOptions options;
    const Fence fence = pending();
    const size_t limit = mClient->account().descriptors->limit();
    options.waitFor.assign(limit + 1, fence);
    const Awaited<Status> many = launch(options, StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(many.get().code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_TRUE(many.get().persistent()) << "nor would it ever";
    options.waitFor.assign(limit, fence);
    const Awaited<Status> most = launch(options);
    options.waitFor.assign(1, fence);
    const Awaited<Status> oneMore = launch(options, StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_FALSE(oneMore.get().persistent());
    happen(fence);
    EXPECT_TRUE(most.get().ok());
    awaitNothingHeld();
}

TEST_F(FencedExecution, IsRejectedWithoutADescriptor) {
    ExecuteOptions options;
    options.waitFor = {nullptr};
    EXPECT_EQ(launch(options, StatusCode::INVALID_ARGUMENT).get().code(),
              StatusCode::INVALID_ARGUMENT);
    awaitNothingHeld();
}

TEST_F(FencedExecution, HoldsNoThreadOfItsCallers) {
    RequestBuilder request;
    request.input<float>({1, 2, 3, 4}).output(16);
    ExecuteOptions options;
    options.waitFor = {pending()};
    EXPECT_EQ(mModel->execute(request.request(), HalVersion::V1_3, options).status.code(),
              StatusCode::UNSUPPORTED);
}

TEST(FencedCalls, HoldTheirCallersThreadNoLongerThanAnythingMayTake) {
    Options options;
    options.maxRunningSeconds = 1;
    const auto device = makeDevice(options);
    const auto model = device->prepare(reluModel(), HalVersion::V1_3, {}).value();
    RequestBuilder request;
    request.input<float>({1, 2, 3, 4}).output(16);
    ExecuteOptions fenced;
    fenced.waitFor = {pending()};
    EXPECT_EQ(model->executeFenced(request.request(), HalVersion::V1_3, fenced).status.code(),
              StatusCode::DEADLINE_EXCEEDED);
    happen(fenced.waitFor[0]);
    EXPECT_TRUE(model->executeFenced(request.request(), HalVersion::V1_3, fenced).status.ok());
    EXPECT_EQ(request.result<float>(0, 4), (std::vector<float>{1, 2, 3, 4}));
}

}  // namespace
}  // namespace halyard::driver
