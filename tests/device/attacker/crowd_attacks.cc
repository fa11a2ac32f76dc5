// SPDX-License-Identifier: Apache-2.0
//
// Attacks that do little in each call, or in each process, and come in great numbers.

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/device/attacker/attack.h"
#include "tests/device/attacker/client.h"
#include "tests/device/attacker/prepared_client.h"

namespace halyard::attacker {

namespace {

using wire::IDevice;
using wire::IPreparedModel;

constexpr uint32_t kFewElements = 16;

// One small model, kept; to be carried out in many processes.
Status holdOneModel(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                             Client::connect(settings.instance));
    ModelBuilder model;
    addModel(model, kFewElements);
    Status prepared = client->prepare(model.finish()).status();
    printf("%s\n", prepared.ok() ? "one model held" : prepared.toString().c_str());
    // Those that were refused try again: there may be room later.
    const Clock::time_point end = endOf(settings);
    while (!prepared.ok() && Clock::now() < end) {
        client->link().serveUntil([] { return false; }, std::chrono::seconds(5));
        prepared = client->prepare(model.finish()).status();
    }
    client->link().serveUntil([end] { return Clock::now() >= end; },
                              std::chrono::duration_cast<milliseconds>(end - Clock::now()));
    return {};
}

// Threads that execute a small model without a pause.
Status executeWithoutPause(const Settings& settings) {
    ModelBuilder model;
    addModel(model, kFewElements);
    HALYARD_ASSIGN_OR_RETURN(
            const PreparedClient prepared,
            PreparedClient::connect(settings, model, kFewElements * sizeof(float)));
    const int calls = inThreads(settings, [&](Clock::time_point end) {
        int done = 0;
        while (Clock::now() < end &&
               prepared.client
                       ->executeSynchronously(prepared.model, prepared.request(), {},
                                              kPatienceWithLongest)
                       .ok()) {
            ++done;
        }
        return done;
    });
    printf("%d threads executed %d times, or were refused\n", settings.clients, calls);
    return {};
}

// Threads that send calls with thousands of objects: behind the arguments of getStatus (by
// default), or as models that a buffer is to be for (--against allocate).
Status floodObjects(const Settings& settings) {
    constexpr uint64_t kObjects = 8000;
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                             Client::connect(settings.instance));
    const bool inside = settings.against == "allocate";
    const uint32_t method = inside ? IDevice::allocate : IDevice::getStatus;
    RawParcel parcel;
    deviceToken(parcel, method);
    if (inside) {
        parcel.value(wire::BufferDesc());
        parcel.int32(static_cast<int32_t>(kObjects));
    }
    for (uint64_t i = 0; i < kObjects; ++i) {
        // Each another one; they are never called.
        parcel.ownObject((uint64_t{1} << 32) + i);
    }
    const int calls = inThreads(settings, [&](Clock::time_point end) {
        int done = 0;
        for (; Clock::now() < end; ++done) {
            static_cast<void>(
                    client->link().call(client->device(), method, parcel, kPatienceWithLongest));
        }
        return done;
    });
    printf("%d threads called %d times with %llu objects\n", settings.clients, calls,
           static_cast<unsigned long long>(kObjects));
    return {};
}

// Calls that are refused, one after the other, and what each took. To be carried out where the
// service has nothing else to do.
Status timeRefusals(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const PreparedClient endless,
                             PreparedClient::connectEndless(settings));
    // No model is as long as that, and no request is without arguments.
    ModelBuilder model;
    addModel(model, kFewElements);
    const auto time = [&](const char* what, const auto& call) {
        std::vector<int64_t> times;
        const Clock::time_point end = endOf(settings);
        std::string last;
        while (Clock::now() < end) {
            const Clock::time_point start = Clock::now();
            last = call();
            times.push_back(
                    std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start)
                            .count());
        }
        std::ranges::sort(times);
        printf("%s\t%zu\t%lld us\t%s\n", what, times.size(),
               static_cast<long long>(times[times.size() / 2]), last.c_str());
    };
    const auto said = [](const Result<ErrorStatus>& answer) {
        return answer.ok() ? "ErrorStatus " + std::to_string(static_cast<int32_t>(*answer))
                           : answer.status().toString();
    };
    time("getStatus", [&] { return endless.client->getStatus().toString(); });
    time("a request without arguments", [&] {
        return said(endless.client->executeSynchronously(endless.model, wire::Request(), {}));
    });
    // As many endless ones as one client may have, so that more are refused.
    std::vector<std::thread> callers;
    for (int i = 0; i < settings.clients; ++i) {
        callers.emplace_back([&] {
            static_cast<void>(endless.client->executeSynchronously(endless.model, endless.request(),
                                                                   kLongest, kPatienceWithLongest));
        });
    }
    std::this_thread::sleep_for(milliseconds(500));
    time("one execution too many", [&] {
        return said(endless.client->executeSynchronously(endless.model, endless.request(), kLongest,
                                                         kPatienceWithLongest));
    });
    time("one question too many",
         [&] { return said(endless.client->supportedOperations(model.finish())); });
    for (std::thread& caller : callers) {
        caller.join();
    }
    return {};
}

constexpr std::array<NamedAttack, 4> kCrowdAttacks = {{
        {"one-model", holdOneModel, "a model that is kept; with --processes"},
        {"execute-flood", executeWithoutPause,
         "short executions without a pause in --clients threads"},
        {"object-flood", floodObjects,
         "calls with 8,000 objects in --clients threads; --against allocate"},
        {"refusals", timeRefusals, "prints what refused calls take, beside --clients executions"},
}};

}  // namespace

std::span<const NamedAttack> crowdAttacks() {
    return kCrowdAttacks;
}

}  // namespace halyard::attacker
