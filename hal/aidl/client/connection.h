// SPDX-License-Identifier: Apache-2.0
//
// The way from servicemanager to a service's IDevice.

#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/model/versions.h"
#include "engine/base/status.h"
#include "hal/aidl/remote_interface.h"
#include "hal/binder/process.h"
#include "hal/client/pending.h"

namespace halyard::hal::aidl {

// An IDevice, the version that it is spoken to in, and whether its process still lives.
struct ServiceConnection {
    RemoteInterface device;
    driver::HalVersion version;
    std::shared_ptr<Liveness> service;
    // From version 4 on some methods are there twice: with a config, and as they were before, with
    // all but hints as arguments. False: as they were before.
    bool prefersConfigs = true;

    bool usesConfigs() const { return prefersConfigs && version >= driver::HalVersion::AIDL_V4; }
};

// To an object that is known already, at that version, or at the newest that both know.
// UNAVAILABLE if its process has died; INTERNAL if it does not have the version.
Result<ServiceConnection> connectTo(std::shared_ptr<BinderProcess> process, const ObjectRef& object,
                                    std::optional<driver::HalVersion> version,
                                    const Release& release);

// Fetches android.hardware.neuralnetworks.IDevice/<instance>. UNAVAILABLE if there is none by
// `timeout`. This process has binder threads from then on.
Result<ServiceConnection> connectToService(const std::string& instance,
                                           std::optional<driver::HalVersion> version,
                                           std::chrono::milliseconds timeout);

// The names of everything that servicemanager knows.
Result<std::vector<std::string>> listServices(std::chrono::milliseconds timeout);

}  // namespace halyard::hal::aidl
