// SPDX-License-Identifier: Apache-2.0
//
// hwservicemanager for the virtual device: the context manager of /dev/hwbinder.
//
// Usage: hwservicemanager [DEVICE [MANIFEST-FOLDER]]

#include <memory>
#include <utility>

#include "harness/device/hwservicemanager/hw_service_manager_object.h"
#include "harness/device/managers/manager_program.h"

namespace halyard::device {
namespace {

// Services that are asked and stay mute leave the other threads to everybody else.
constexpr size_t kQuestions = 4;
static_assert(kQuestions < kManagerThreads);

RunningManager makeManager(const std::shared_ptr<hal::BinderProcess>& process, Manifest manifest) {
    auto manager =
            std::make_shared<HwServiceManagerObject>(process, std::move(manifest), kQuestions);
    manager->registerItself();
    return {.object = manager, .shutDown = [manager] { manager->shutDown(); }};
}

}  // namespace
}  // namespace halyard::device

int main(int argc, char** argv) {
    return halyard::device::runManager("hwservicemanager", "/dev/hwbinder", argc, argv,
                                       halyard::device::makeManager);
}
