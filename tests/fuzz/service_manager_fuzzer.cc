// SPDX-License-Identifier: Apache-2.0
//
// hwservicemanager under the calls of hostile clients, who register, look up, listen and die.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "hal/hidl/types.h"
#include "harness/device/hwservicemanager/hw_service_manager_object.h"
#include "tests/fuzz/finding.h"
#include "tests/fuzz/served_calls.h"
#include "tests/fuzz/target.h"
#include "tests/hal/hidl_client.h"

namespace halyard::fuzz {
namespace {

constexpr size_t kMostCalls = 16;
constexpr size_t kQuestions = 2;
constexpr std::string_view kManifest = R"(<manifest version="1.0" type="device">
<hal format="hidl"><name>android.hardware.neuralnetworks</name><transport>hwbinder</transport>
<version>1.3</version><interface><name>IDevice</name><instance>default</instance></interface></hal>
</manifest>)";

std::shared_ptr<hal::LocalObject> makeService() {
    return std::make_shared<MuteObject>(hal::hidl::nn::v1_3::IDevice::layout());
}

std::shared_ptr<hal::LocalObject> makeListener() {
    return std::make_shared<MuteObject>(hal::hidl::manager::v1_0::IServiceNotification::layout());
}

}  // namespace

void run(std::span<const uint8_t> bytes) {
    Choices choices(bytes);
    const auto process = std::make_shared<hal::testing::LoopbackProcess>();
    device::Manifest manifest;
    manifest.addFragment(kManifest);
    const auto manager =
            std::make_shared<device::HwServiceManagerObject>(process, manifest, kQuestions);
    manager->registerItself();
    const std::vector<std::shared_ptr<hal::LocalObject>> objects = {makeService(), makeService(),
                                                                    makeListener(), makeListener()};
    const Material material = {
            .objects = {objects.begin(), objects.end()}, .models = {}, .requests = {}};
    for (size_t i = 0; i < kMostCalls && !choices.empty(); ++i) {
        if (choices.oneIn(8)) {
            process->kill(choices.of(objects));
        } else {
            makeCalls(choices, 1, *process, manager,
                      hal::hidl::manager::v1_2::IServiceManager::layout(), material);
        }
    }
    manager->shutDown();
    process->stop();
}

}  // namespace halyard::fuzz
