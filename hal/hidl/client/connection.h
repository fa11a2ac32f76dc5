// SPDX-License-Identifier: Apache-2.0
//
// The way from hwservicemanager to a service's IDevice.

#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "hal/binder/process.h"
#include "hal/client/pending.h"
#include "hal/hidl/client/remote_interface.h"
#include "hal/hidl/client/version.h"

namespace halyard::hal::hidl {

// An IDevice, and whether its process still lives.
struct ServiceConnection {
    RemoteInterface device;
    const ClientVersion& version;
    std::shared_ptr<Liveness> service;
};

// To an object that is known already. UNAVAILABLE if its process has died; INTERNAL if it does not
// have the version.
Result<ServiceConnection> connectTo(std::shared_ptr<BinderProcess> process, const ObjectRef& object,
                                    const ClientVersion& version);

// Fetches android.hardware.neuralnetworks@<version>::IDevice/<instance>, or the newest version that
// is registered. UNAVAILABLE if there is none by `timeout`. This process has binder threads from
// then on.
Result<ServiceConnection> connectToService(const std::string& instance,
                                           std::optional<driver::HalVersion> version,
                                           std::chrono::milliseconds timeout);

// "interface/name" of everything that hwservicemanager knows.
Result<std::vector<std::string>> listServices(std::chrono::milliseconds timeout);

}  // namespace halyard::hal::hidl
