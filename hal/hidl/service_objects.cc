// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/service_objects.h"

#include <utility>

#include "hal/hidl/device_object.h"
#include "hal/hidl/types.h"

namespace halyard::hal {

Result<std::shared_ptr<LocalObject>> makeDeviceObject(const std::shared_ptr<BinderProcess>& process,
                                                      std::shared_ptr<driver::Device> device,
                                                      std::shared_ptr<ProcessWatch> processes) {
    if (process == nullptr || device == nullptr) {
        return invalidArgument("a device object needs a process and a device");
    }
    return std::shared_ptr<LocalObject>(
            std::make_shared<hidl::DeviceObject>(process, std::move(device), std::move(processes)));
}

std::span<const std::string_view> deviceInterfaceChain() {
    return hidl::nn::v1_3::IDevice::layout().chain;
}

}  // namespace halyard::hal
