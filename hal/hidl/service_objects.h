// SPDX-License-Identifier: Apache-2.0
//
// The objects that the service registers.

#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "driver/device/device.h"
#include "engine/base/status.h"
#include "hal/binder/object.h"
#include "hal/binder/process.h"
#include "hal/service/process_watch.h"

namespace halyard::hal {

// The object that serves `device` as android.hardware.neuralnetworks@1.3::IDevice and all versions
// before it. It does not keep `process`, by which it calls clients' callbacks, alive. `processes`
// tells of clients' deaths; where it is null, their callbacks do.
Result<std::shared_ptr<LocalObject>> makeDeviceObject(
        const std::shared_ptr<BinderProcess>& process, std::shared_ptr<driver::Device> device,
        std::shared_ptr<ProcessWatch> processes = nullptr);

// The interfaces that it serves, leaf first, as hwservicemanager wants to know them.
std::span<const std::string_view> deviceInterfaceChain();

}  // namespace halyard::hal
