// SPDX-License-Identifier: Apache-2.0
//
// IBase::debug of the objects that have a device: a client that is slow to read holds no more
// threads than its other long calls may.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "driver/device/device.h"
#include "tests/hal/loopback.h"
#include "tests/hal/served_device.h"
#include "tests/hal/time_limit.h"

namespace halyard::hal {

namespace {

using testing::LoopbackProcess;

constexpr int32_t kClient = 4711;
constexpr int32_t kOther = 4712;
constexpr uint32_t kUid = 1000;

class HidlDebug : public ::testing::Test {
  protected:
    void SetUp() override {
        driver::Options options = testing::referenceOptions();
        options.calls = {.perClient = 1, .perGroup = 2, .shared = 2, .most = 2};
        Result<testing::ServedDevice> served = testing::serveDevice(mProcess, options);
        ASSERT_TRUE(served.ok()) << served.status().toString();
        mDriver = served->driver;
        mDevice = served->object;
    }
    void TearDown() override { mProcess->stop(); }

    void debug(int fd) {
        Result<LoopbackProcess::Answer> answer = testing::callDebug(*mProcess, mDevice, fd);
        ASSERT_TRUE(answer.ok());
        EXPECT_EQ(answer->status, WireStatus::OK);
    }
    // The output of debug() for that process.
    std::string textFor(int32_t pid) {
        std::array<int, 2> ends = {-1, -1};
        EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
        mProcess->caller.pid = pid;
        debug(ends[1]);
        close(ends[1]);
        std::string text(4096, '\0');
        text.resize(static_cast<size_t>(std::max<ssize_t>(read(ends[0], text.data(), 4096), 0)));
        close(ends[0]);
        return text;
    }

    const testing::TimeLimit mTimeLimit;
    std::shared_ptr<LoopbackProcess> mProcess = std::make_shared<LoopbackProcess>();
    std::shared_ptr<driver::Device> mDriver;
    std::shared_ptr<LocalObject> mDevice;
};

TEST_F(HidlDebug, GivesNoTextToAClientThatHoldsAllItsPlaces) {
    const std::shared_ptr<driver::Client> client =
            mDriver->client({.pid = kClient, .uid = kUid}).value();
    {
        const Result<driver::CallGate::Permit> permit = client->shares().calls->enter();
        ASSERT_TRUE(permit.ok());
        EXPECT_EQ(textFor(kClient), "");
        EXPECT_NE(textFor(kOther), "");
    }
    EXPECT_NE(textFor(kClient), "");
    EXPECT_EQ(client->shares().calls->inside(), 0U);
}

TEST_F(HidlDebug, HoldsAPlaceForAsLongAsItsReaderIsSlow) {
    std::array<int, 2> ends = {-1, -1};
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
    const std::string piece(4096, 'x');
    while (write(ends[1], piece.data(), piece.size()) > 0) {
    }
    const std::shared_ptr<driver::Client> client =
            mDriver->client({.pid = kClient, .uid = kUid}).value();
    std::atomic<bool> seen = false;
    std::atomic<bool> over = false;
    std::thread caller([&] {
        for (int round = 0; round < 20 && !seen; ++round) {
            debug(ends[1]);
        }
        over = true;
    });
    const auto isInside = [&] { return client->shares().calls->inside() == 1; };
    while (!seen && !over) {
        if (isInside()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            seen = isInside();
        }
    }
    caller.join();
    EXPECT_TRUE(seen);
    EXPECT_EQ(client->shares().calls->inside(), 0U);
    close(ends[0]);
    close(ends[1]);
}

}  // namespace

}  // namespace halyard::hal
