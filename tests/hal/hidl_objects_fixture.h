// SPDX-License-Identifier: Apache-2.0
//
// IDevice and IPreparedModel as a client sees them.

#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "driver/device/device.h"
#include "hal/memory/shared_memory.h"
#include "tests/hal/hidl_client.h"
#include "tests/hal/loopback.h"

namespace halyard::hal::testing {

// Its tests lie in several files.
class HidlObjects : public ::testing::Test {
  protected:
    // Most tests are about refusals, each of which is logged.
    static void SetUpTestSuite();
    static void TearDownTestSuite();

    void SetUp() override;
    void TearDown() override { mProcess->stop(); }

    HidlClient client(const VersionMethods& methods) { return {*mProcess, mDevice, methods}; }
    static const VersionMethods& newest() { return allVersions().back(); }

    // The input and output of addRequest().
    void setInput(const std::array<float, 2>& values);
    std::array<float, 2> output();
    // An IPreparedModel of addModel(), prepared through that version.
    ObjectRef prepared(const VersionMethods& methods);
    Result<std::unique_ptr<Reply>> callDevice(uint32_t code, const WriteArguments& arguments = {});
    Result<driver::ErrorStatus> statusOf(uint32_t code, const WriteArguments& arguments = {});

    std::shared_ptr<LoopbackProcess> mProcess = std::make_shared<LoopbackProcess>();
    std::shared_ptr<driver::Device> mDriver;
    std::shared_ptr<LocalObject> mDevice;
    std::vector<ExportedMemory> mPools;
};

}  // namespace halyard::hal::testing
