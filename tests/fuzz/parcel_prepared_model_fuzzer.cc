// SPDX-License-Identifier: Apache-2.0
//
// IPreparedModel 1.0-1.3 under the calls of a hostile client, on models that were prepared for it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "driver/device.h"
#include "hal/hidl/service_objects.h"
#include "hal/hidl/types.h"
#include "tests/driver/sample_models.h"
#include "tests/fuzz/finding.h"
#include "tests/fuzz/served_calls.h"
#include "tests/hal/hidl_client.h"

namespace halyard::fuzz {
namespace {

using hal::testing::HidlClient;
using hal::testing::RecordingCallback;

constexpr size_t kMostCalls = 4;

// Each of one input and one output, in a pool of 4096 bytes.
driver::Request requestOf(uint32_t inputBytes, uint32_t outputBytes) {
    driver::Request request;
    request.inputs.push_back(
            {.hasNoValue = false, .location = {.length = inputBytes}, .dimensions = {}});
    request.outputs.push_back({.hasNoValue = false,
                               .location = {.poolIndex = 1, .offset = 64, .length = outputBytes},
                               .dimensions = {}});
    request.pools = {driver::SharedMemory(), driver::SharedMemory()};
    return request;
}

struct Service {
    std::shared_ptr<hal::testing::LoopbackProcess> process =
            std::make_shared<hal::testing::LoopbackProcess>();
    std::vector<std::shared_ptr<hal::LocalObject>> models;
    std::vector<driver::Request> requests = {requestOf(16, 16), requestOf(36, 32), requestOf(9, 8)};

    Service() {
        driver::Options options;
        options.backends = {"CpuRef"};
        options.threads = 1;
        options.maxMemoryMib = 16;
        const auto object =
                hal::makeDeviceObject(process, driver::Device::create(options).value()).value();
        HidlClient client(*process, object, hal::testing::allVersions().back());
        driver::Model open = driver::reluModel();
        open.main.operands[0].dimensions = {0, 2};
        open.main.operands[1].dimensions = {0, 2};
        for (const driver::Model& model : {driver::reluModel(), open}) {
            const auto callback = RecordingCallback::forModels();
            require(client.prepare(model, callback).ok(), "the samples prepare");
            models.push_back(served(*process, callback->wait().model));
            require(models.back() != nullptr, "the samples prepare");
        }
    }
};

void run(Choices choices) {
    // Never destroyed: its threads outlive the last run.
    static Service& service = *new Service;
    Material material;
    material.objects = {RecordingCallback::forExecutions()};
    material.requests = service.requests;
    makeCalls(choices, kMostCalls, *service.process, choices.of(service.models),
              hal::hidl::nn::v1_3::IPreparedModel::layout(), material);
    service.process->stop();
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
