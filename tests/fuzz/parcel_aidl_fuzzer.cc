// SPDX-License-Identifier: Apache-2.0
//
// The objects of AIDL under the calls of a hostile client: well-formed parcels, which are then
// damaged. What the client leaves behind it takes with it: no model stays alive and no memory
// taken.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "driver/device/device.h"
#include "hal/aidl/conversion.h"
#include "hal/aidl/device_object.h"
#include "hal/aidl/prepared_model_object.h"
#include "hal/aidl/types.h"
#include "hal/memory/shared_memory.h"
#include "tests/driver/sample_models.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/finding.h"
#include "tests/fuzz/parcels.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/tried_device.h"
#include "tests/hal/loopback.h"

namespace halyard::fuzz {
namespace {

using hal::ObjectRef;
using hal::testing::LoopbackProcess;
using hal::testing::SentParcel;
namespace aidl = hal::aidl;
namespace nn = hal::aidl::nn;

constexpr size_t kMostCalls = 4;
constexpr size_t kRunsBetweenChecks = 64;

class MuteCallback final : public aidl::AidlObject {
  public:
    MuteCallback() : AidlObject(nn::IPreparedModelCallback::info(), aidl::Release(), 4) {}

  protected:
    Status serve(uint32_t /*code*/, Call& call) override {
        return call.read<nn::IPreparedModelCallback::Notify>().status();
    }
};

// With pools that can be sent.
std::vector<driver::Model> sentModels() {
    std::vector<driver::Model> models = {driver::reluModel(), driver::floatConvModel(),
                                         driver::quantConvModel()};
    for (driver::Model& model : models) {
        for (driver::SharedMemory& pool : model.pools) {
            const driver::SharedMemory own = hal::createSharedMemory(pool->size()).value().memory;
            std::ranges::copy(pool->map().value(), own->map().value().begin());
            pool = own;
        }
    }
    return models;
}

struct Service {
    std::shared_ptr<LoopbackProcess> process = std::make_shared<LoopbackProcess>();
    std::shared_ptr<driver::Device> device = makeDevice(1);
    std::vector<driver::Model> models = sentModels();
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

template <typename Method>
SentParcel written(const typename Method::Arguments& arguments) {
    hal::ParcelWriter parcel;
    aidl::AidlWriter writer(parcel, aidl::Release());
    writer.writeRequestHead(Method::Interface::info().descriptor);
    writeFields(writer, arguments);
    return hal::testing::capture(parcel);
}

nn::Request requestOf(Choices& choices) {
    nn::Request request;
    request.inputs.resize(choices.below(3));
    request.outputs.resize(choices.below(3));
    for (size_t i = choices.below(3); i > 0; --i) {
        nn::RequestMemoryPool& pool = request.pools.emplace_back();
        if (choices.oneIn(2)) {
            pool.value = static_cast<int32_t>(choices.number<uint8_t>());
        } else {
            pool.value = nn::Memory{.value = hal::aidl::hardware::Ashmem{
                                            .fd = {.fd = 0}, .size = choices.number<int16_t>()}};
        }
    }
    return request;
}

struct Prepared {
    uint32_t code;
    SentParcel parcel;
};

Prepared callOfDevice(Choices& choices, const Service& service, const ObjectRef& callback) {
    using nn::IDevice;
    const nn::Model model = aidl::encode(service.models[choices.below(service.models.size())]);
    switch (choices.below(4)) {
        case 0:
            return {IDevice::PrepareModel::kCode,
                    written<IDevice::PrepareModel>({.model = model,
                                                    .preference = {},
                                                    .priority = {},
                                                    .deadlineNs = -1,
                                                    .modelCache = {{.fd = 0}},
                                                    .dataCache = {},
                                                    .token = {},
                                                    .callback = callback})};
        case 1:
            return {IDevice::GetSupportedOperations::kCode,
                    written<IDevice::GetSupportedOperations>({.model = model})};
        case 2:
            return {IDevice::PrepareModelWithConfig::kCode,
                    written<IDevice::PrepareModelWithConfig>(
                            {.model = model, .config = {}, .callback = callback})};
        default: {
            IDevice::Allocate::Arguments arguments;
            arguments.desc.dimensions = {choices.number<int8_t>()};
            arguments.preparedModels = {{.preparedModel = callback}};
            arguments.inputRoles = {{.modelIndex = 0, .ioIndex = 0, .probability = 1.0F}};
            return {IDevice::Allocate::kCode, written<IDevice::Allocate>(arguments)};
        }
    }
}

Prepared callOfModel(Choices& choices) {
    using nn::IPreparedModel;
    const nn::Request request = requestOf(choices);
    switch (choices.below(3)) {
        case 0:
            return {IPreparedModel::ExecuteSynchronously::kCode,
                    written<IPreparedModel::ExecuteSynchronously>({.request = request,
                                                                   .measureTiming = false,
                                                                   .deadlineNs = -1,
                                                                   .loopTimeoutDurationNs = -1})};
        case 1:
            return {IPreparedModel::ExecuteFencedWithConfig::kCode,
                    written<IPreparedModel::ExecuteFencedWithConfig>({.request = request,
                                                                      .waitFor = {{.fd = 0}},
                                                                      .config = {},
                                                                      .deadlineNs = -1,
                                                                      .durationNs = -1})};
        default:
            return {IPreparedModel::CreateReusableExecution::kCode,
                    written<IPreparedModel::CreateReusableExecution>(
                            {.request = request, .config = {}})};
    }
}

}  // namespace

void run(std::span<const uint8_t> bytes) {
    Choices choices(bytes);
    // Never destroyed: its threads outlive the last run.
    static Service& service = *new Service;
    {
        const auto callback = std::make_shared<MuteCallback>();
        const auto device =
                std::make_shared<aidl::DeviceObject>(service.process, service.device, nullptr);
        std::shared_ptr<aidl::PreparedModelObject> model;
        if (choices.oneIn(2)) {
            Result<std::shared_ptr<driver::PreparedModel>> prepared =
                    service.device->prepare(service.models[0], driver::kNewestVersion, {});
            if (prepared.ok()) {
                model = std::make_shared<aidl::PreparedModelObject>(*std::move(prepared),
                                                                    aidl::Dialect());
            }
        }
        for (size_t i = 0; i < kMostCalls && !choices.empty(); ++i) {
            Prepared call = model == nullptr ? callOfDevice(choices, service, ObjectRef(callback))
                                             : callOfModel(choices);
            while (choices.oneIn(2)) {
                damage(choices, call.parcel);
            }
            const std::shared_ptr<hal::LocalObject> target =
                    model == nullptr ? std::shared_ptr<hal::LocalObject>(device) : model;
            static_cast<void>(
                    service.process->call(target, call.code, choices.oneIn(8), call.parcel));
        }
        service.process->kill(callback);
        service.process->stop();
    }
    if (++service.runs % kRunsBetweenChecks == 0) {
        service.checkNothingIsLeft();
    }
}

}  // namespace halyard::fuzz
