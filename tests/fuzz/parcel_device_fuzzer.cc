// SPDX-License-Identifier: Apache-2.0
//
// IDevice 1.0-1.3 under the calls of a hostile client. What the client leaves behind it takes with
// it: no model stays alive and no memory taken.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "driver/device/device.h"
#include "hal/hidl/service_objects.h"
#include "hal/hidl/types.h"
#include "tests/driver/sample_models.h"
#include "tests/fuzz/finding.h"
#include "tests/fuzz/served_calls.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/tried_device.h"
#include "tests/hal/loopback.h"

namespace halyard::fuzz {
namespace {

constexpr size_t kMostCalls = 4;
constexpr size_t kRunsBetweenChecks = 64;

struct Service {
    std::shared_ptr<hal::testing::LoopbackProcess> process =
            std::make_shared<hal::testing::LoopbackProcess>();
    std::shared_ptr<driver::Device> device = makeDevice(1);
    std::shared_ptr<hal::LocalObject> object = hal::makeDeviceObject(process, device).value();
    std::vector<driver::Model> models = {driver::reluModel(), driver::floatConvModel(),
                                         driver::quantConvModel()};
    size_t runs = 0;

    void checkNothingIsLeft() const {
        const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!isIdle(*device) && std::chrono::steady_clock::now() < patience) {
            process->stop();  // what a model was sent back with meanwhile goes too
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        require(isIdle(*device), "a client leaves nothing behind", device->report());
    }
};

}  // namespace

void run(std::span<const uint8_t> bytes) {
    Choices choices(bytes);
    // Never destroyed: its threads outlive the last run.
    static Service& service = *new Service;
    {
        const auto callback =
                std::make_shared<MuteObject>(hal::hidl::nn::v1_3::IPreparedModelCallback::layout());
        Material material;
        material.objects = {callback};
        material.models = service.models;
        makeCalls(choices, kMostCalls, *service.process, service.object,
                  hal::hidl::nn::v1_3::IDevice::layout(), material);
        service.process->kill(callback);
        service.process->stop();
    }
    if (++service.runs % kRunsBetweenChecks == 0) {
        service.checkNothingIsLeft();
    }
}

}  // namespace halyard::fuzz
