// SPDX-License-Identifier: Apache-2.0
//
// Compilation caching as clients of each HAL version see it.

#include <gtest/gtest.h>

#include <cctype>
#include <memory>
#include <string>

#include "driver/device_interface.h"
#include "hal/hidl/client/connection.h"
#include "hal/hidl/client/device.h"
#include "tests/hal/loopback.h"
#include "tests/hal/served_device.h"

namespace halyard::hal::testing {
namespace {

using driver::HalVersion;

class CompilationCaching : public ::testing::TestWithParam<hidl::ClientVersion> {
  protected:
    void SetUp() override {
        Result<ServedDevice> served = serveDevice(mProcess);
        ASSERT_TRUE(served.ok()) << served.status().toString();
        mServed = std::move(*served);
        Result<hidl::ServiceConnection> connection =
                hidl::connectTo(mProcess, mProcess->remote(mServed.object), GetParam());
        ASSERT_TRUE(connection.ok()) << connection.status().toString();
        mDevice = hidl::makeClientDevice(std::move(*connection));
    }
    void TearDown() override { mProcess->stop(); }

    bool hasCaches() const { return GetParam().version >= HalVersion::V1_2; }

    std::shared_ptr<LoopbackProcess> mProcess = std::make_shared<LoopbackProcess>();
    ServedDevice mServed;
    std::shared_ptr<driver::IDevice> mDevice;
};

TEST_P(CompilationCaching, TellsTheTypeAndTheNumberOfFiles) {
    const Result<driver::DeviceType> type = mDevice->type();
    const Result<driver::NumberOfCacheFiles> files = mDevice->numberOfCacheFiles();
    if (!hasCaches()) {
        EXPECT_EQ(type.status().code(), StatusCode::UNSUPPORTED);
        EXPECT_EQ(files.status().code(), StatusCode::UNSUPPORTED);
        return;
    }
    ASSERT_TRUE(type.ok()) << type.status().toString();
    EXPECT_EQ(*type, mServed.driver->type());
    ASSERT_TRUE(files.ok()) << files.status().toString();
    EXPECT_EQ(*files, mServed.driver->numberOfCacheFiles());
}

TEST_P(CompilationCaching, FindsNothingWithoutFiles) {
    const Result<std::shared_ptr<driver::IPreparedModel>> found = mDevice->prepareFromCache({});
    EXPECT_FALSE(found.ok());
    if (!hasCaches()) {
        EXPECT_EQ(found.status().code(), StatusCode::UNSUPPORTED);
    }
}

INSTANTIATE_TEST_SUITE_P(Versions, CompilationCaching,
                         ::testing::ValuesIn(hidl::clientVersions().begin(),
                                             hidl::clientVersions().end()),
                         [](const auto& version) {
                             std::string name = "Hidl";
                             for (const char letter : toString(version.param.version)) {
                                 if (std::isalnum(static_cast<unsigned char>(letter)) != 0) {
                                     name += letter;
                                 }
                             }
                             return name;
                         });

}  // namespace
}  // namespace halyard::hal::testing
