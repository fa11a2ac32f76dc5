// SPDX-License-Identifier: Apache-2.0
//
// IPreparedModel 1.0-1.3 under the calls of a hostile client, on models that were prepared for it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "hal/hidl/service_objects.h"
#include "hal/hidl/types.h"
#include "tests/driver/sample_models.h"
#include "tests/fuzz/finding.h"
#include "tests/fuzz/served_calls.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/tried_device.h"
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
        const auto object = hal::makeDeviceObject(process, makeDevice(1)).value();
        HidlClient client(*process, object, hal::testing::allVersions().back());
        for (const driver::Model& model : {driver::reluModel(), openReluModel()}) {
            const auto callback = RecordingCallback::forModels();
            require(client.prepare(model, callback).ok(), "the samples prepare");
            models.push_back(served(*process, callback->wait().model));
            require(models.back() != nullptr, "the samples prepare");
        }
    }
};

}  // namespace

void run(std::span<const uint8_t> bytes) {
    Choices choices(bytes);
    // Never destroyed: its threads outlive the last run.
    static Service& service = *new Service;
    Material material;
    material.objects = {RecordingCallback::forExecutions()};
    material.requests = service.requests;
    makeCalls(choices, kMostCalls, *service.process, choices.of(service.models),
              hal::hidl::nn::v1_3::IPreparedModel::layout(), material);
    service.process->stop();
}

}  // namespace halyard::fuzz
