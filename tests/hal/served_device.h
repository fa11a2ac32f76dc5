// SPDX-License-Identifier: Apache-2.0
//
// A driver, and the IDevice by which the clients of a loopback reach it.

#pragma once

#include <memory>

#include "driver/device/device.h"
#include "engine/base/status.h"
#include "hal/binder/object.h"
#include "tests/hal/loopback.h"

namespace halyard::hal::testing {

// CpuRef alone, on one thread.
driver::Options referenceOptions();

struct ServedDevice {
    std::shared_ptr<driver::Device> driver;
    std::shared_ptr<LocalObject> object;
};
Result<ServedDevice> serveDevice(const std::shared_ptr<LoopbackProcess>& process,
                                 const driver::Options& options = referenceOptions());

// IBase::debug of an IDevice, which writes to `fd`.
Result<LoopbackProcess::Answer> callDebug(LoopbackProcess& process,
                                          const std::shared_ptr<LocalObject>& device, int fd);

}  // namespace halyard::hal::testing
