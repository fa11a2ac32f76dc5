// SPDX-License-Identifier: Apache-2.0
//
// Attacks on the service's memory, its address space and its receive buffer.

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
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

constexpr uint64_t kTerabyte = uint64_t{1} << 40;

// Models with as many constants inside as a parcel takes.
Status hogMemory(const Settings& settings) {
    constexpr uint32_t kElements = 120 * 1024;  // 480 KiB
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                             Client::connect(settings.instance));
    ModelBuilder model;
    addModel(model, kElements);
    Tally held;
    for (int i = 0; i < settings.clients; ++i) {
        held.add(client->prepare(model.finish()).status());
    }
    printf("holds %d of %d models of %u KiB of constants; the last: %s\n", held.taken,
           settings.clients, kElements / 256, held.last.c_str());
    hold(client->link(), settings);
    return {};
}

// Requests with pools that are far larger than the machine; `used`: they are executed in one.
Tally launchWithPools(const PreparedClient& endless, const Pool& huge, bool used, int count) {
    const RequestBuilder request(used ? huge : endless.pool, 4, 4, std::vector<Pool>(8, huge));
    Tally held;
    for (int i = 0; i < count; ++i) {
        held.add(endless.client->launch(endless.model, request.request(),
                                        std::make_shared<Notified>(), kLongest));
    }
    return held;
}

// Models with such a pool each, smaller ones into the gaps that the larger ones leave; `used`:
// there is a constant in it.
Tally prepareWithPools(Client& client, const Pool& huge, bool used, int count) {
    constexpr uint64_t kSmallest = uint64_t{1} << 32;
    Tally held;
    for (Pool pool = huge; pool.size >= kSmallest && held.taken < count;) {
        ModelBuilder model;
        if (used) {
            const uint32_t input = model.input({1, 16});
            const uint32_t constant = model.inPool({1, 16}, 0, 0xfffff000U);
            model.operation(OperationType::ADD, {input, constant, model.scalar(0)},
                            {model.output({1, 16})});
        } else {
            addModel(model, 16);
        }
        model.pool(pool);
        const Status prepared = client.prepare(model.finish()).status();
        held.add(prepared);
        pool.size /= prepared.ok() ? 1 : 2;
    }
    return held;
}

// Pools of terabytes, with nothing in them.
Status exhaustAddresses(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const PreparedClient endless,
                             PreparedClient::connectEndless(settings));
    HALYARD_ASSIGN_OR_RETURN(const Pool huge, Pool::make(4 * kTerabyte));
    const bool used = settings.against.starts_with("used");
    const Tally held =
            settings.against.ends_with("request")
                    ? launchWithPools(endless, huge, used, settings.clients)
                    : prepareWithPools(*endless.client, huge, used, 4 * settings.clients);
    printf("%d with pools of terabytes are held; the last: %s\n", held.taken, held.last.c_str());
    hold(endless.client->link(), settings);
    return {};
}

// Synchronous executions that last, in calls that fill the receive buffer with bytes that are never
// read.
Status holdReceiveBuffer(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const PreparedClient endless,
                             PreparedClient::connectEndless(settings));
    // Half of the buffer, and what fills the rest of it.
    constexpr size_t kMostExtra = 504 * 1024;
    constexpr size_t kLeastExtra = 64;
    const bool inside = settings.against == "inside";
    printf("%d threads call with half a megabyte too much\n", settings.clients);
    inThreads(settings, [&](Clock::time_point end) {
        size_t extra = kMostExtra;
        int calls = 0;
        for (; Clock::now() < end; ++calls) {
            RawParcel parcel;
            Pool nameless = endless.pool;
            nameless.name = std::string(inside ? extra : 1, 'n');
            const RequestBuilder request(endless.pool, 4, 4, {nameless});
            executeArguments(parcel, IPreparedModel::executeSynchronously_1_3, request.request(),
                             kLongest);
            parcel.zeros(inside ? 0 : extra);
            const Result<Received> reply = endless.client->link().call(
                    endless.model, IPreparedModel::executeSynchronously_1_3, parcel,
                    kPatienceWithLongest);
            // Where the kernel has no room, there may be for less.
            const bool refused = reply.status().code() == StatusCode::INTERNAL;
            extra = refused && extra > kLeastExtra ? extra / 2 : extra;
            std::this_thread::sleep_for(milliseconds(refused ? 1 : 20));
        }
        return calls;
    });
    return {};
}

// Small calls in as many threads that, waiting for their turn, they fill the receive buffer.
Status fillReceiveBuffer(const Settings& settings) {
    constexpr size_t kExtra = 16 * 1024;
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                             Client::connect(settings.instance));
    RawParcel parcel;
    deviceToken(parcel, IDevice::getStatus);
    parcel.zeros(kExtra);
    printf("%d threads call with %zu bytes too much\n", settings.clients, kExtra);
    inThreads(settings, [&](Clock::time_point end) {
        int calls = 0;
        for (; Clock::now() < end; ++calls) {
            static_cast<void>(client->link().call(client->device(), IDevice::getStatus, parcel,
                                                  kPatienceWithLongest));
        }
        return calls;
    });
    return {};
}

// A pool of huge pages that is cut to nothing once the service has it.
Status cutHugePages(const Settings& settings) {
    constexpr uint64_t kHugePage = uint64_t{2} << 20;
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                             Client::connect(settings.instance));
    Result<Pool> pages = Pool::make(kHugePage, MFD_HUGETLB);
    HALYARD_RETURN_IF_ERROR(pages.status());
    ModelBuilder builder;
    const uint32_t input = builder.input({1, 1024});
    const uint32_t constant = builder.inPool({1, 1024}, 0, 4096);
    builder.operation(OperationType::ADD, {input, constant, builder.scalar(0)},
                      {builder.output({1, 1024})});
    pages->name = "mmap_fd";
    builder.pool(*pages);
    const Result<uint32_t> model = client->prepare(builder.finish());
    if (!model.ok()) {
        printf("the model is refused: %s\n", model.status().toString().c_str());
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(const Pool pool, Pool::make(16384));
    const RequestBuilder request(pool, 4096, 4096);
    const Result<ErrorStatus> before = client->executeSynchronously(*model, request.request());
    if (ftruncate(pages->fd, 0) != 0) {
        return internalError(std::string("ftruncate: ") + strerror(errno));
    }
    const Result<ErrorStatus> after = client->executeSynchronously(*model, request.request());
    printf("before the cut %s %d, after it %s %d\n", before.status().toString().c_str(),
           before.ok() ? static_cast<int>(*before) : -1, after.status().toString().c_str(),
           after.ok() ? static_cast<int>(*after) : -1);
    return {};
}

// Models with constants in pools that hold nothing, and executions that look at each page of them
// once: with the look the page comes into being, and stays for as long as the model does.
Status touchSparsePools(const Settings& settings) {
    constexpr uint32_t kPoolBytes = 64U << 20U;
    constexpr uint32_t kPageFloats = 1024;
    constexpr uint32_t kPages = kPoolBytes / kPageFloats / sizeof(float);
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                             Client::connect(settings.instance));
    constexpr uint32_t kBytes = kPages * sizeof(float);
    HALYARD_ASSIGN_OR_RETURN(const Pool indices, Pool::make(2 * kBytes));
    for (uint32_t page = 0; page < kPages; ++page) {
        const uint32_t index = page * kPageFloats;
        pwrite(indices.fd, &index, sizeof(index), static_cast<off_t>(page) * sizeof(index));
    }
    const RequestBuilder request(indices, kBytes, kBytes);
    Tally held;
    Tally touched;
    for (int i = 0; i < settings.clients; ++i) {
        HALYARD_ASSIGN_OR_RETURN(const Pool sparse, Pool::make(kPoolBytes));
        ModelBuilder model;
        const uint32_t constant = model.inPool({kPages * kPageFloats}, 0, 0);
        const uint32_t input = model.input({kPages}, OperandType::TENSOR_INT32);
        model.operation(OperationType::GATHER, {constant, model.scalar(0), input},
                        {model.output({kPages})});
        model.pool(sparse);
        const Result<uint32_t> prepared = client->prepare(model.finish());
        held.add(prepared.status());
        close(sparse.fd);
        if (prepared.ok()) {
            touched.add(client->executeSynchronously(*prepared, request.request()));
        }
    }
    printf("holds %d of %d models with 64 MiB of nothing each, %d of them touched; the last: %s\n",
           held.taken, settings.clients, touched.taken, held.last.c_str());
    hold(client->link(), settings);
    return {};
}

constexpr std::array<NamedAttack, 6> kMemoryAttacks = {{
        {"buffer-fill", fillReceiveBuffer,
         "many calls with a little too much, in --clients threads"},
        {"memory-hog", hogMemory, "--clients models with constants inside, all kept"},
        {"address-space", exhaustAddresses,
         "pools of terabytes; --against used-model, model, used-request, request"},
        {"trailing-bytes", holdReceiveBuffer,
         "long calls with half a megabyte too much; --against inside: in the request"},
        {"sparse-pools", touchSparsePools,
         "--clients models with pools of missing pages, all of which are touched"},
        {"cut-huge-pages", cutHugePages, "a pool on huge pages, cut short while in use"},
}};

}  // namespace

std::span<const NamedAttack> memoryAttacks() {
    return kMemoryAttacks;
}

}  // namespace halyard::attacker
