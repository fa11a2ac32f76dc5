// SPDX-License-Identifier: Apache-2.0
//
// Attacks with what lasts beyond a call: bursts, each of which has a thread of the service's,
// executions that are kept, and buffers of the device's memory.

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "driver/device/device_interface.h"
#include "hal/aidl/client/device.h"
#include "hal/hidl/burst_packets.h"
#include "hal/hidl/client/device.h"
#include "hal/hidl/client/own_queue.h"
#include "hal/hidl/client/prepared_model.h"
#include "hal/hidl/codec.h"
#include "hal/hidl/hidl_object.h"
#include "hal/hidl/types.h"
#include "hal/memory/shared_memory.h"
#include "tests/device/attacker/attack.h"
#include "tests/hal/add_model.h"

namespace halyard::attacker {
namespace {

Result<std::shared_ptr<driver::IDevice>> connectDevice(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(
            hal::hidl::ServiceConnection connection,
            hal::hidl::connectToService(settings.instance, driver::HalVersion::V1_3,
                                        settings.patience));
    return hal::hidl::makeClientDevice(std::move(connection));
}

namespace hidl = hal::hidl;

// Says nothing when the service asks it for memory.
class Mute final : public hidl::HidlObject {
  public:
    Mute() : HidlObject(hidl::nn::v1_2::IBurstCallback::layout()) {}

  protected:
    Status serve(uint32_t /*code*/, Call& /*call*/) override { return internalError("nothing"); }
};

// For each slot that it is asked for, a memory of no bytes, under a name of half a megabyte that
// the service does not know, or under one that it does.
class Nothings final : public hidl::HidlObject {
  public:
    explicit Nothings(bool isKnown)
        : HidlObject(hidl::nn::v1_2::IBurstCallback::layout()),
          mName(isKnown ? std::string("ashmem") : std::string(size_t{1} << 19, 'x')),
          mMemory(hal::createSharedMemory(4096).value()) {}

    std::atomic<int> asked = 0;

  protected:
    Status serve(uint32_t /*code*/, Call& call) override {
        ++asked;
        HALYARD_ASSIGN_OR_RETURN(const auto* slots,
                                 hidl::readValue<hidl::HidlVec<int32_t>>(call.arguments));
        const size_t count = slots->count;
        HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
        std::vector<hidl::HidlMemory> memories;
        for (size_t i = 0; i < count; ++i) {
            memories.push_back(hidl::makeMemory(*reply, mName, mMemory.handle, 0));
        }
        hidl::writeEnum(*reply, ErrorStatus::NONE);
        hidl::writeValue(*reply, hidl::makeVec(*reply, memories));
        return {};
    }

  private:
    const std::string mName;
    const hal::ExportedMemory mMemory;
};

// A burst whose queues this process can do with as it likes.
struct OwnBurst {
    hidl::OwnQueue requests;
    hidl::OwnQueue results;
    hal::ObjectRef context;

    static Result<OwnBurst> open(
            const hidl::RemoteInterface& model,
            const std::shared_ptr<hal::LocalObject>& callback = std::make_shared<Mute>()) {
        using hidl::nn::v1_2::FmqRequestDatum;
        using hidl::nn::v1_2::FmqResultDatum;
        constexpr size_t kLength = 64;
        OwnBurst burst;
        HALYARD_ASSIGN_OR_RETURN(burst.requests,
                                 hidl::OwnQueue::create(sizeof(FmqRequestDatum), kLength));
        HALYARD_ASSIGN_OR_RETURN(burst.results,
                                 hidl::OwnQueue::create(sizeof(FmqResultDatum), kLength));
        HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<hal::Reply> reply,
                                 model.call(hidl::nn::v1_2::IPreparedModel::configureExecutionBurst,
                                            [&](hal::ParcelWriter& arguments) {
                                                arguments.writeObject(callback);
                                                burst.requests.write<FmqRequestDatum>(arguments);
                                                burst.results.write<FmqResultDatum>(arguments);
                                            }));
        HALYARD_ASSIGN_OR_RETURN(const ErrorStatus status,
                                 hidl::readEnum<ErrorStatus>(reply->reader()));
        HALYARD_ASSIGN_OR_RETURN(burst.context, reply->reader().readObject());
        return status == ErrorStatus::NONE
                       ? Result<OwnBurst>(std::move(burst))
                       : internalError("answer " + std::to_string(static_cast<int>(status)));
    }
};

// A prepared model, to be called without what a client does for its caller.
struct RawModel {
    std::shared_ptr<driver::IPreparedModel> model;
    hidl::RemoteInterface remote;

    static Result<RawModel> prepare(const Settings& settings) {
        HALYARD_ASSIGN_OR_RETURN(hidl::ServiceConnection connection,
                                 hidl::connectToService(settings.instance, driver::HalVersion::V1_3,
                                                        settings.patience));
        const std::shared_ptr<hal::BinderProcess> process = connection.device.process();
        const std::shared_ptr<driver::IDevice> device =
                hidl::makeClientDevice(std::move(connection));
        HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<driver::IPreparedModel> model,
                                 device->prepare(hal::testing::addModel(), {}));
        HALYARD_ASSIGN_OR_RETURN(
                hidl::RemoteInterface remote,
                hidl::RemoteInterface::cast(process, hidl::remoteObjectOf(*model),
                                            hidl::nn::v1_2::IPreparedModel::layout()));
        return RawModel{.model = std::move(model), .remote = std::move(remote)};
    }
};

// One request after the other, each of which names a slot that there has not been.
Status fillSlots(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const RawModel model, RawModel::prepare(settings));
    const auto memories = std::make_shared<Nothings>(settings.against == "known");
    HALYARD_ASSIGN_OR_RETURN(OwnBurst burst, OwnBurst::open(model.remote, memories));
    hidl::BurstRequest request;
    request.request = hal::testing::addRequest();
    request.request.pools.clear();
    std::vector<std::byte> answer;
    int32_t slot = 0;
    const Clock::time_point end = endOf(settings);
    while (Clock::now() < end && slot < settings.clients) {
        request.slots = {slot++};
        if (!burst.requests.queue.write(hidl::writeBurstRequest(request))) {
            return internalError("the queue of requests is full");
        }
        answer.clear();
        while (answer.empty() && Clock::now() < end) {
            burst.results.queue.awaitData(std::chrono::milliseconds(100));
            HALYARD_RETURN_IF_ERROR(burst.results.queue.read(answer));
        }
    }
    printf("was asked for memory %d times, and used %d slots\n", memories->asked.load(), slot);
    while (Clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return {};
}

// As many bursts as one may have, and one thread that says of all of them, without a pause, that
// there is a request.
Status signalBursts(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const RawModel model, RawModel::prepare(settings));
    Tally held;
    std::vector<OwnBurst> bursts;
    for (int i = 0; i < settings.clients; ++i) {
        Result<OwnBurst> burst = OwnBurst::open(model.remote);
        held.add(burst.status());
        if (burst.ok()) {
            bursts.push_back(*std::move(burst));
        }
    }
    printf("signals to %d of %d bursts; the last: %s\n", held.taken, settings.clients,
           held.last.c_str());
    for (const Clock::time_point end = endOf(settings); Clock::now() < end;) {
        for (OwnBurst& burst : bursts) {
            burst.requests.queue.wake();
        }
    }
    return {};
}

// As many bursts as one may have, all of them executing without a pause.
Status hogBursts(const Settings& settings) {
    if (settings.against == "signals") {
        return signalBursts(settings);
    }
    HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<driver::IDevice> device,
                             connectDevice(settings));
    HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<driver::IPreparedModel> model,
                             device->prepare(hal::testing::addModel(), {}));
    driver::Request request = hal::testing::addRequest();
    HALYARD_ASSIGN_OR_RETURN(const hal::ExportedMemory memory, hal::createSharedMemory(4096));
    request.pools = {memory.memory};
    Tally held;
    std::vector<std::shared_ptr<driver::IBurst>> bursts;
    for (int i = 0; i < settings.clients; ++i) {
        auto burst = model->makeBurst();
        held.add(burst.status());
        if (burst.ok()) {
            bursts.push_back(std::move(*burst));
        }
    }
    printf("holds %d of %d bursts; the last: %s\n", held.taken, settings.clients,
           held.last.c_str());
    const Clock::time_point end = endOf(settings);
    std::vector<std::thread> threads;
    for (const auto& burst : bursts) {
        threads.emplace_back([&request, &burst, end] {
            const std::array<int64_t, 1> known = {1};
            while (Clock::now() < end) {
                static_cast<void>(burst->execute(request, known, {}));
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    return {};
}

// Float inputs of two elements, of which the first one is read.
driver::Model modelOfInputs(uint32_t count) {
    driver::Model model = hal::testing::addModel();
    driver::Operand unread = model.main.operands[model.main.inputIndexes[0]];
    unread.numberOfConsumers = 0;
    while (model.main.inputIndexes.size() < count) {
        model.main.inputIndexes.push_back(static_cast<uint32_t>(model.main.operands.size()));
        model.main.operands.push_back(unread);
    }
    return model;
}

// Executions that are kept to be computed again, each of a request with as many arguments as go
// into a parcel, until there are no more.
Status hoardExecutions(const Settings& settings) {
    constexpr uint32_t kInputs = 4000;
    HALYARD_ASSIGN_OR_RETURN(
            hal::aidl::ServiceConnection connection,
            hal::aidl::connectToService(settings.instance, std::nullopt, settings.patience));
    const std::shared_ptr<driver::IDevice> device =
            hal::aidl::makeClientDevice(std::move(connection));
    HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<driver::IPreparedModel> model,
                             device->prepare(modelOfInputs(kInputs), {}));
    driver::Request request = hal::testing::addRequest();
    request.inputs.resize(kInputs, request.inputs[0]);
    HALYARD_ASSIGN_OR_RETURN(const hal::ExportedMemory memory, hal::createSharedMemory(4096));
    request.pools = {memory.memory};
    Tally held;
    std::vector<std::shared_ptr<driver::IExecution>> executions;
    for (int i = 0; i < settings.clients; ++i) {
        auto execution = model->makeExecution(request, {});
        held.add(execution.status());
        if (execution.ok()) {
            executions.push_back(std::move(*execution));
        }
    }
    printf("holds %d of %d executions of %u arguments; the last: %s\n", held.taken,
           settings.clients, kInputs, held.last.c_str());
    for (const Clock::time_point end = endOf(settings); Clock::now() < end;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return {};
}

// Buffers for as many inputs as go into a parcel, in as many threads as the settings say.
Status askForRoles(const Settings& settings) {
    constexpr uint32_t kModels = 6;
    constexpr uint32_t kInputs = 4000;
    HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<driver::IDevice> device,
                             connectDevice(settings));
    driver::BufferDescription description;
    for (uint32_t i = 0; i < kModels; ++i) {
        HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<driver::IPreparedModel> model,
                                 device->prepare(modelOfInputs(kInputs), {}));
        description.models.push_back(std::move(model));
        for (uint32_t input = 0; input < kInputs; ++input) {
            description.inputs.push_back({.modelIndex = i, .ioIndex = input});
        }
    }
    const Status first = device->allocate(description).status();
    printf("%d threads ask for buffers of %u roles; the first: %s\n", settings.clients,
           kModels * kInputs, first.toString().c_str());
    inThreads(settings, [&](Clock::time_point end) {
        int calls = 0;
        for (; Clock::now() < end; ++calls) {
            static_cast<void>(device->allocate(description));
        }
        return calls;
    });
    return {};
}

// Buffers until there are no more, all of them kept, and tokens that were never given out.
Status hoardBuffers(const Settings& settings) {
    constexpr uint32_t kElements = 4U << 20U;
    constexpr uint32_t kTokens = 32;
    HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<driver::IDevice> device,
                             connectDevice(settings));
    driver::Model unary = hal::testing::addModel();
    for (const uint32_t operand : {0U, 3U}) {
        unary.main.operands[operand].dimensions = {0, 2};
    }
    HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<driver::IPreparedModel> model,
                             device->prepare(unary, {}));
    Tally held;
    std::vector<std::shared_ptr<driver::IBuffer>> buffers;
    for (int i = 0; i < settings.clients; ++i) {
        auto buffer = device->allocate({.dimensions = {kElements / 2, 2},
                                        .models = {model},
                                        .inputs = {{}},
                                        .outputs = {}});
        held.add(buffer.status());
        if (buffer.ok()) {
            buffers.push_back(std::move(*buffer));
        }
    }
    printf("holds %d of %d buffers of 16 MiB; the last: %s\n", held.taken, settings.clients,
           held.last.c_str());
    driver::Request request = hal::testing::addRequest();
    HALYARD_ASSIGN_OR_RETURN(const hal::ExportedMemory memory, hal::createSharedMemory(4096));
    request.outputs[0].location.poolIndex = 1;
    Tally guessed;
    for (uint32_t token = 0; token < kTokens; ++token) {
        request.pools = {token, memory.memory};
        guessed.add(model->execute(request, {}).status);
    }
    printf("%d of %u guesses of a token were taken; the last: %s\n", guessed.taken, kTokens,
           guessed.last.c_str());
    for (const Clock::time_point end = endOf(settings); Clock::now() < end;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return {};
}

constexpr std::array<NamedAttack, 5> kLastingAttacks = {{
        {"burst-hog", hogBursts,
         "--clients bursts that execute without a pause; --against signals: told to, for nothing"},
        {"slot-filler", fillSlots,
         "a burst whose every request names another slot, for which it gives memory of no bytes "
         "and "
         "of a large name; --against known: of one that is known"},
        {"execution-hoarder", hoardExecutions,
         "--clients executions of many arguments, over AIDL, all kept"},
        {"role-flood", askForRoles, "buffers of very many roles, in --clients threads"},
        {"buffer-hoarder", hoardBuffers,
         "--clients buffers of 16 MiB, all kept, and tokens by guessing"},
}};

}  // namespace

std::span<const NamedAttack> lastingAttacks() {
    return kLastingAttacks;
}

}  // namespace halyard::attacker
