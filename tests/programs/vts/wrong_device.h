// SPDX-License-Identifier: Apache-2.0
//
// The driver in this process, and what it tells changed on the way: a device that breaks the
// contract in the way that a test wants.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "driver/device_interface.h"

namespace halyard::vts::testing {

// Each changes what the device has answered; null: nothing.
struct Wrongs {
    std::function<void(Status&)> ping;
    std::function<void(Result<driver::DeviceStatus>&)> status;
    std::function<void(Result<std::string>&)> versionString;
    std::function<void(Result<driver::DeviceType>&)> type;
    std::function<void(Result<driver::Capabilities>&)> capabilities;
    std::function<void(Result<std::vector<driver::Extension>>&)> extensions;
    std::function<void(Result<driver::NumberOfCacheFiles>&)> cacheFiles;
    std::function<void(const driver::Model&, Result<std::vector<bool>>&)> supported;
    // With what it was asked for. A status that is OK comes with the model.
    std::function<void(const driver::Model&, const driver::PrepareOptions&, Status&)> prepared;
    // Of any way to execute; a fenced one has no shapes.
    std::function<void(const driver::Request&, const driver::ExecuteOptions&,
                       driver::ExecutionResult&)>
            executed;
};

// `wrongs` may change as long as it lives.
std::shared_ptr<driver::IDevice> makeWrongDevice(std::shared_ptr<driver::IDevice> device,
                                                 std::shared_ptr<const Wrongs> wrongs);

}  // namespace halyard::vts::testing
