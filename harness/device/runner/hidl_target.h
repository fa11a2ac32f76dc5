// SPDX-License-Identifier: Apache-2.0
//
// A service as the target, through HIDL and /dev/hwbinder.

#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "harness/device/runner/awaited.h"
#include "harness/device/runner/client_version.h"
#include "harness/device/runner/remote_interface.h"
#include "harness/device/runner/target.h"

namespace halyard::runner {

// An IDevice, and whether its process still lives.
struct ServiceConnection {
    RemoteInterface device;
    const ClientVersion& version;
    std::shared_ptr<DeathWatch> service;
};

// Fetches android.hardware.neuralnetworks@<version>::IDevice/<instance>, or the newest version that
// is registered. UNAVAILABLE if there is none by `timeout`. This process has binder threads from
// then on.
Result<ServiceConnection> connectToService(const std::string& instance,
                                           std::optional<driver::HalVersion> version,
                                           std::chrono::milliseconds timeout);

std::unique_ptr<Target> makeHidlTarget(ServiceConnection connection);

// "interface/name" of everything that hwservicemanager knows.
Result<std::vector<std::string>> listServices(std::chrono::milliseconds timeout);

}  // namespace halyard::runner
