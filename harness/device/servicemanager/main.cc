// SPDX-License-Identifier: Apache-2.0
//
// servicemanager for the virtual device: the context manager of /dev/binder.
//
// Usage: servicemanager [DEVICE [MANIFEST-FOLDER]]

#include <memory>
#include <utility>

#include "harness/device/managers/manager_program.h"
#include "harness/device/servicemanager/service_manager_object.h"

namespace halyard::device {
namespace {

RunningManager makeManager(const std::shared_ptr<hal::BinderProcess>& process, Manifest manifest) {
    auto manager = std::make_shared<ServiceManagerObject>(process, std::move(manifest),
                                                          hal::aidl::Release::ofThisDevice());
    manager->registerItself();
    return {.object = manager, .shutDown = [manager] { manager->shutDown(); }};
}

}  // namespace
}  // namespace halyard::device

int main(int argc, char** argv) {
    return halyard::device::runManager("servicemanager", "/dev/binder", argc, argv,
                                       halyard::device::makeManager);
}
