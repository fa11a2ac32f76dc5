// SPDX-License-Identifier: Apache-2.0
//
// The driver in this process, and what it tells changed on the way: a device that breaks the
// contract in the way that a test wants.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "driver/device/device_interface.h"

namespace halyard::vts::testing {

// Each changes what the device has answered; null: nothing.
struct Wrongs {
    std::function<void(Status&)> ping = nullptr;
    std::function<void(Result<driver::DeviceStatus>&)> status = nullptr;
    std::function<void(Result<std::string>&)> versionString = nullptr;
    std::function<void(Result<driver::DeviceType>&)> type = nullptr;
    std::function<void(Result<driver::Capabilities>&)> capabilities = nullptr;
    std::function<void(Result<std::vector<driver::Extension>>&)> extensions = nullptr;
    std::function<void(Result<driver::NumberOfCacheFiles>&)> cacheFiles = nullptr;
    std::function<void(const driver::Model&, Result<std::vector<bool>>&)> supported = nullptr;
    // With what it was asked for. A status that is OK comes with the model.
    std::function<void(const driver::Model&, const driver::PrepareOptions&, Status&)> prepared =
            nullptr;
    // Of any way to execute; a fenced one has no shapes.
    std::function<void(const driver::Request&, const driver::ExecuteOptions&,
                       driver::ExecutionResult&)>
            executed = nullptr;

    // Of one way alone. `reusable` gives an execution where the device has refused to.
    std::function<void(driver::ExecutionResult&)> synchronous = nullptr;
    std::function<void(driver::ExecutionResult&)> asynchronous = nullptr;
    std::function<void(driver::ExecutionResult&)> burst = nullptr;
    std::function<void(driver::ExecutionResult&)> reusable = nullptr;
    std::function<void(driver::ExecutionResult&)> fenced = nullptr;
    // Changes the return values of prepareModel and execute, where a callback tells the rest.
    std::function<void(Status&)> prepareLaunched = nullptr;
    std::function<void(Status&)> executeLaunched = nullptr;
    std::function<void(Status&)> memoryReleased = nullptr;

    std::function<void(driver::PrepareOptions&)> asked = nullptr;  // before it is
    std::function<void(Result<std::shared_ptr<driver::IPreparedModel>>&)> fromCache = nullptr;
    std::function<void(const driver::BufferDescription&, Result<std::shared_ptr<driver::IBuffer>>&)>
            allocated = nullptr;
    std::function<void(Status&)> copiedTo = nullptr;
    std::function<void(Status&)> copiedFrom = nullptr;
};

// A buffer of nothing that takes and gives whatever it is asked to.
std::shared_ptr<driver::IBuffer> makeCarelessBuffer(uint32_t token = 1);

// `wrongs` may change as long as it lives.
std::shared_ptr<driver::IDevice> makeWrongDevice(std::shared_ptr<driver::IDevice> device,
                                                 std::shared_ptr<const Wrongs> wrongs);

}  // namespace halyard::vts::testing
