// SPDX-License-Identifier: Apache-2.0
//
// IDevice 1.0-1.3 under the calls of a hostile client. What the client leaves behind it takes with
// it: no model stays alive and no memory taken.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "driver/device.h"
#include "hal/hidl/hidl_object.h"
#include "hal/hidl/service_objects.h"
#include "hal/hidl/types.h"
#include "tests/driver/sample_models.h"
#include "tests/fuzz/finding.h"
#include "tests/fuzz/served_calls.h"
#include "tests/hal/loopback.h"

namespace halyard::fuzz {
namespace {

constexpr size_t kMostCalls = 4;
constexpr size_t kRunsBetweenChecks = 64;

// Keeps nothing of what it is told: in one process with the service, that would keep itself.
class Callback final : public hal::hidl::HidlObject {
  public:
    Callback() : HidlObject(hal::hidl::nn::v1_3::IPreparedModelCallback::layout()) {}

  protected:
    Status serve(uint32_t /*code*/, Call& /*call*/) override { return {}; }
};

struct Service {
    std::shared_ptr<hal::testing::LoopbackProcess> process =
            std::make_shared<hal::testing::LoopbackProcess>();
    std::shared_ptr<driver::Device> device;
    std::shared_ptr<hal::LocalObject> object;
    std::vector<driver::Model> models = {driver::reluModel(), driver::floatConvModel(),
                                         driver::quantConvModel()};
    size_t runs = 0;

    Service() {
        driver::Options options;
        options.backends = {"CpuRef"};
        options.threads = 1;
        options.maxMemoryMib = 16;
        device = driver::Device::create(options).value();
        object = hal::makeDeviceObject(process, device).value();
    }

    bool idle() const {
        const std::string report = device->report();
        return report.find("live_models\t0\n") != std::string::npos &&
               report.find("\nmemory\t0\t") != std::string::npos;
    }
    void checkNothingIsLeft() const {
        const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!idle() && std::chrono::steady_clock::now() < patience) {
            process->stop();  // what a model was sent back with meanwhile goes too
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        require(idle(), "a client leaves nothing behind", device->report());
    }
};

void run(Choices choices) {
    // Never destroyed: its threads outlive the last run.
    static Service& service = *new Service;
    {
        const auto callback = std::make_shared<Callback>();
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

}  // namespace
}  // namespace halyard::fuzz

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
    halyard::fuzz::silenceLog();
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    halyard::fuzz::run(halyard::fuzz::Choices({data, size}));
    return 0;
}
