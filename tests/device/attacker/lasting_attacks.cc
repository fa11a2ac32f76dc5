// SPDX-License-Identifier: Apache-2.0
//
// Attacks with what lasts beyond a call: bursts, each of which has a thread of the service's, and
// buffers of the device's memory.

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "driver/device_interface.h"
#include "hal/hidl/client/device.h"
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

// As many bursts as one may have, all of them executing without a pause.
Status hogBursts(const Settings& settings) {
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

// Buffers until there are no more, all of them kept, and tokens that were given to nobody.
Status hoardBuffers(const Settings& settings) {
    constexpr uint32_t kElements = 4U << 20U;
    constexpr uint32_t kTokens = 256;
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

constexpr std::array<NamedAttack, 2> kLastingAttacks = {{
        {"burst-hog", hogBursts, "--clients bursts that execute without a pause"},
        {"buffer-hoarder", hoardBuffers,
         "--clients buffers of 16 MiB, all kept, and tokens by guessing"},
}};

}  // namespace

std::span<const NamedAttack> lastingAttacks() {
    return kLastingAttacks;
}

}  // namespace halyard::attacker
