// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <utility>

#include "driver/device/device.h"
#include "driver/model/versions.h"

namespace halyard::driver {

// A device on CpuRef alone, with two threads.
inline std::unique_ptr<Device> makeDevice(Options options = {}) {
    options.backends = {"CpuRef"};
    options.threads = 2;
    Result<std::unique_ptr<Device>> device = Device::create(std::move(options));
    EXPECT_TRUE(device.ok()) << device.status().toString();
    return device.ok() ? std::move(*device) : nullptr;
}

inline const std::span<const HalVersion> kVersions = allVersions();

}  // namespace halyard::driver
