// SPDX-License-Identifier: Apache-2.0

#include "hal/service/process_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "driver/device/device.h"
#include "hal/service/client_account.h"
#include "tests/driver/awaited.h"
#include "tests/hal/bystander.h"
#include "tests/hal/open_descriptors.h"
#include "tests/hal/served_device.h"

namespace halyard::hal {
namespace {

using testing::Bystander;

class Processes : public ::testing::Test {
  protected:
    void SetUp() override {
        Result<std::unique_ptr<ProcessWatch>> started = ProcessWatch::start();
        if (started.status().code() == StatusCode::UNSUPPORTED) {
            GTEST_SKIP() << "this kernel has no descriptors of processes";
        }
        ASSERT_TRUE(started.ok()) << started.status().toString();
        mWatch = std::move(*started);
    }
    std::unique_ptr<ProcessWatch> mWatch;
};

TEST_F(Processes, AreToldOfOnceWhenTheyEnd) {
    Bystander first;
    Bystander second;
    const driver::Awaited<int> ended;
    const auto one = mWatch->watch(first.pid(), [ended] { ended.set(1); });
    const auto other = mWatch->watch(second.pid(), [ended] { ended.set(2); });
    ASSERT_TRUE(one.ok() && other.ok());
    second.end();
    EXPECT_EQ(ended.get(), 2);
    EXPECT_EQ(ended.count(), 1);
}

TEST_F(Processes, AreNotToldOfAnyMoreOnceTheWatchIsGone) {
    Bystander first;
    Bystander second;
    const size_t before = testing::openDescriptors();
    std::atomic<int> unwatched = 0;
    const driver::Awaited<int> ended;
    auto one = mWatch->watch(first.pid(), [&] { ++unwatched; });
    const auto other = mWatch->watch(second.pid(), [ended] { ended.set(2); });
    ASSERT_TRUE(one.ok() && other.ok());
    EXPECT_EQ(testing::openDescriptors(), before + 2);
    one->reset();
    EXPECT_EQ(testing::openDescriptors(), before + 1);
    first.end();
    second.end();
    ended.get();
    EXPECT_EQ(unwatched, 0);
    mWatch = nullptr;  // once its callbacks are through
    EXPECT_LE(testing::openDescriptors(), before) << "one that has ended is let go of";
}

TEST_F(Processes, AreWatchedUpToSoManyAtATime) {
    mWatch = ProcessWatch::start(2).value();
    Bystander process;
    const auto one = mWatch->watch(process.pid(), [] {});
    auto other = mWatch->watch(process.pid(), [] {});
    ASSERT_TRUE(one.ok() && other.ok());
    const size_t before = testing::openDescriptors();
    EXPECT_EQ(mWatch->watch(process.pid(), [] {}).status().code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_LE(testing::openDescriptors(), before);
    other->reset();
    EXPECT_TRUE(mWatch->watch(process.pid(), [] {}).ok());
}

TEST_F(Processes, BeyondThoseAreToldOfByTheirCallbacks) {
    mWatch = ProcessWatch::start(0).value();
    const std::unique_ptr<driver::Device> device =
            driver::Device::create(testing::referenceOptions()).value();
    Bystander process;
    const auto client = accountOf(*device, {.pid = process.pid(), .euid = 7}, mWatch.get()).value();
    EXPECT_FALSE(client->hasWitness()) << "an object of its own is still to come";
    EXPECT_TRUE(client->alive().ok());
}

TEST_F(Processes, ThatAreGoneAreUnavailable) {
    Bystander process;
    process.end();
    EXPECT_EQ(mWatch->watch(process.pid(), [] {}).status().code(), StatusCode::UNAVAILABLE);
}

TEST_F(Processes, EndTheirAccountsThoughTheyHandedInNoObject) {
    const std::unique_ptr<driver::Device> device =
            driver::Device::create(testing::referenceOptions()).value();
    Bystander process;
    const Caller caller{.pid = process.pid(), .euid = 7};
    const std::shared_ptr<driver::Client> client = accountOf(*device, caller, mWatch.get()).value();
    EXPECT_EQ(accountOf(*device, caller, mWatch.get()).value(), client);
    EXPECT_TRUE(client->alive().ok());
    process.end();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (client->alive().ok() && std::chrono::steady_clock::now() < end) {
        usleep(1000);
    }
    EXPECT_EQ(client->alive().code(), StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace halyard::hal
