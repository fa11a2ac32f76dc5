// SPDX-License-Identifier: Apache-2.0

#include "tests/hal/served_device.h"

#include <utility>
#include <vector>

#include "hal/hidl/codec.h"
#include "hal/hidl/hidl_parcel.h"
#include "hal/hidl/service_objects.h"
#include "hal/hidl/types.h"
#include "hal/memory/native_handle.h"

namespace halyard::hal::testing {

using hidl::base::v1_0::IBase;

driver::Options referenceOptions() {
    driver::Options options;
    options.backends = {"CpuRef"};
    options.threads = 1;
    return options;
}

Result<ServedDevice> serveDevice(const std::shared_ptr<LoopbackProcess>& process,
                                 const driver::Options& options) {
    ServedDevice served;
    HALYARD_ASSIGN_OR_RETURN(served.driver, driver::Device::create(options));
    HALYARD_ASSIGN_OR_RETURN(served.object, makeDeviceObject(process, served.driver));
    return served;
}

Result<LoopbackProcess::Answer> callDebug(LoopbackProcess& process,
                                          const std::shared_ptr<LocalObject>& device, int fd) {
    ParcelWriter writer;
    hidl::writeRequestHead(writer, hidl::nn::v1_3::IDevice::layout(), IBase::debug);
    const NativeHandle handle{.fds = {fd}, .ints = {}};
    hidl::writeNativeHandle(writer, &handle);
    hidl::writeValue(writer, hidl::makeVec(writer, std::vector<hidl::HidlString>()));
    return process.call(device, IBase::debug, false, capture(writer));
}

}  // namespace halyard::hal::testing
