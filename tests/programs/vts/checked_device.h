// SPDX-License-Identifier: Apache-2.0
//
// A driver, reached over any wire in this process, and checks of it.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "driver/device/device_interface.h"
#include "harness/device/cases/messages.h"
#include "harness/device/vts/fixture/check.h"
#include "tests/hal/loopback.h"

namespace halyard::vts::testing {

// CpuRef behind HIDL or AIDL, as the version has it.
class CheckedDevice {
  public:
    explicit CheckedDevice(driver::HalVersion version);
    ~CheckedDevice();
    CheckedDevice(const CheckedDevice&) = delete;
    CheckedDevice& operator=(const CheckedDevice&) = delete;

    const std::shared_ptr<driver::IDevice>& device() const { return mDevice; }
    // By methods without configs; null where there are no others.
    const std::shared_ptr<driver::IDevice>& withoutConfigs() const { return mWithoutConfigs; }

  private:
    const std::shared_ptr<hal::testing::LoopbackProcess> mProcess;
    std::shared_ptr<hal::LocalObject> mObject;
    std::shared_ptr<driver::IDevice> mDevice;
    std::shared_ptr<driver::IDevice> mWithoutConfigs;
};

// The checks of the suites that belong to the version.
std::vector<const Check*> checksOf(std::string_view suite, driver::HalVersion version);

// One check, by its id, of a device and a case that has all that checks ask of one: temporaries,
// two outputs, and so large results that a queue of 8 data does not hold them.
Verdict runCheck(driver::IDevice& device, const std::string& id,
                 driver::IDevice* withoutConfigs = nullptr);
runner::pb::TestCase exampleCase();

}  // namespace halyard::vts::testing
