// SPDX-License-Identifier: Apache-2.0
//
// Priorities order the work of one user's clients, whichever endpoint it comes by.

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "driver/device/device_interface.h"
#include "hal/aidl/client/connection.h"
#include "hal/aidl/client/device.h"
#include "hal/aidl/device_object.h"
#include "hal/hidl/client/connection.h"
#include "hal/hidl/client/device.h"
#include "hal/hidl/client/version.h"
#include "hal/memory/shared_memory.h"
#include "tests/hal/add_model.h"
#include "tests/hal/loopback.h"
#include "tests/hal/served_device.h"

namespace halyard::hal::testing {
namespace {

using driver::Priority;
using driver::Scheduler;

// Both endpoints lead to one driver, by one process.
class Priorities : public ::testing::Test {
  protected:
    void SetUp() override {
        Result<ServedDevice> served = serveDevice(mProcess);
        ASSERT_TRUE(served.ok()) << served.status().toString();
        mHidlObject = served->object;
        Result<hidl::ServiceConnection> hidl = hidl::connectTo(
                mProcess, mProcess->remote(mHidlObject), hidl::clientVersions().front());
        ASSERT_TRUE(hidl.ok()) << hidl.status().toString();
        mHidl = hidl::makeClientDevice(std::move(*hidl));
        mAidlObject = std::make_shared<aidl::DeviceObject>(mProcess, served->driver, nullptr);
        Result<aidl::ServiceConnection> aidl = aidl::connectTo(
                mProcess, mProcess->remote(mAidlObject), driver::kNewestVersion, aidl::Release());
        ASSERT_TRUE(aidl.ok()) << aidl.status().toString();
        mAidl = aidl::makeClientDevice(std::move(*aidl));
        mDriver = served->driver;
        const auto client =
                mDriver->client({.pid = mProcess->caller.pid, .uid = mProcess->caller.euid});
        ASSERT_TRUE(client.ok()) << client.status().toString();
        mClient = *client;  // whose account it stays
        mShares.emplace(mClient->shares());
    }
    void TearDown() override { mProcess->stop(); }

    // Takes all slots that the process can have.
    void fill(Scheduler::Share& share) {
        while (std::optional<Scheduler::Slot> slot = share.tryEnter()) {
            mSlots.push_back(std::move(*slot));
        }
    }
    static void awaitWaiting(const Scheduler::Share& share, size_t count) {
        while (share.waiting() < count) {
            std::this_thread::yield();
        }
    }

    const std::shared_ptr<LoopbackProcess> mProcess = std::make_shared<LoopbackProcess>();
    std::shared_ptr<LocalObject> mHidlObject;
    std::shared_ptr<LocalObject> mAidlObject;
    std::shared_ptr<driver::Device> mDriver;
    std::shared_ptr<driver::IDevice> mHidl;
    std::shared_ptr<driver::IDevice> mAidl;
    std::shared_ptr<driver::Client> mClient;
    std::optional<driver::Client::Shares> mShares;
    std::vector<Scheduler::Slot> mSlots;
    std::vector<std::shared_ptr<driver::IPreparedModel>> mModels;
    std::vector<driver::Request> mRequests;
};

TEST_F(Priorities, OrderWhatIsPrepared) {
    fill(*mShares->preparing);
    std::mutex mutex;
    std::vector<std::string> order;
    std::promise<void> all;
    const auto prepare = [&](driver::IDevice& device, Priority priority, const std::string& name) {
        const size_t waiting = mShares->preparing->waiting();
        EXPECT_TRUE(device.prepareAsync(addModel(), {.priority = priority, .deadline = {}},
                                        [&, name](const Status& status, auto /*model*/) {
                                            EXPECT_TRUE(status.ok()) << status.toString();
                                            const std::lock_guard lock(mutex);
                                            order.push_back(name);
                                            if (order.size() == 5) {
                                                all.set_value();
                                            }
                                        })
                            .ok());
        awaitWaiting(*mShares->preparing, waiting + 1);
    };
    prepare(*mHidl, Priority::LOW, "low by HIDL");
    prepare(*mAidl, Priority::LOW, "low by AIDL");
    prepare(*mAidl, Priority::MEDIUM, "medium by AIDL");
    prepare(*mHidl, Priority::HIGH, "high by HIDL");
    prepare(*mAidl, Priority::HIGH, "high by AIDL");
    mSlots.pop_back();  // for one after the other
    all.get_future().get();
    const std::lock_guard lock(mutex);
    EXPECT_EQ(order, (std::vector<std::string>{"high by HIDL", "high by AIDL", "medium by AIDL",
                                               "low by HIDL", "low by AIDL"}));
}

TEST_F(Priorities, OrderWhatIsExecuted) {
    // Each adds to what the one of the next higher priority gives.
    const Result<ExportedMemory> memory = createSharedMemory(32);
    ASSERT_TRUE(memory.ok()) << memory.status().toString();
    std::vector<std::thread> threads;
    const auto plan = [&](driver::IDevice& device, Priority priority, uint64_t offset) {
        const auto model = device.prepare(addModel(), {.priority = priority, .deadline = {}});
        ASSERT_TRUE(model.ok()) << model.status().toString();
        driver::Request request = addRequest();
        request.pools = {memory->memory};
        request.inputs[0].location.offset = offset;
        request.outputs[0].location.offset = offset + 8;
        mModels.push_back(*model);
        mRequests.push_back(std::move(request));
    };
    plan(*mHidl, Priority::LOW, 16);
    plan(*mAidl, Priority::MEDIUM, 8);
    plan(*mHidl, Priority::HIGH, 0);
    fill(*mShares->executing);
    for (size_t i = 0; i < mModels.size(); ++i) {
        threads.emplace_back([model = mModels[i], request = mRequests[i]] {
            const driver::ExecutionResult result = model->execute(request, {});
            EXPECT_TRUE(result.status.ok()) << result.status.toString();
        });
        awaitWaiting(*mShares->executing, i + 1);
    }
    mSlots.pop_back();
    for (std::thread& thread : threads) {
        thread.join();
    }
    std::array<float, 8> values = {};
    std::memcpy(values.data(), memory->memory->map()->data(), sizeof(values));
    EXPECT_EQ(values, (std::array<float, 8>{0, 0, 10, 20, 20, 40, 30, 60}));
}

}  // namespace
}  // namespace halyard::hal::testing
