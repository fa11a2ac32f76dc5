// SPDX-License-Identifier: Apache-2.0
//
// Attacks that have the service wait, for good, inside the kernel: for a file system of the
// attacker's, or for a lock that a call of the attacker's holds.

#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
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
#include "tests/hal/held_page.h"
#include "tests/hal/silent_file.h"

namespace halyard::attacker {

namespace {

using hal::hidl::HidlString;
using hal::hidl::HidlVec;
using hal::hidl::base::v1_0::IBase;
using wire::IDevice;
using wire::IPreparedModel;

// No call is waited for: those that stand still would be missed otherwise.
constexpr milliseconds kBrief{1500};

// Makes the call once in each of so many threads, of which some may never come back.
void callInThreads(const Settings& settings, const std::function<Status()>& call) {
    const auto answered = std::make_shared<std::atomic<int>>(0);
    for (int i = 0; i < settings.clients; ++i) {
        std::thread([call, answered] {
            if (call().code() != StatusCode::DEADLINE_EXCEEDED) {
                ++*answered;
            }
        }).detach();
    }
    std::this_thread::sleep_for(kBrief + milliseconds(500));
    printf("%d of %d calls were answered\n", answered->load(), settings.clients);
    std::this_thread::sleep_until(endOf(settings));
}

enum class Carried : uint8_t { ARRAY, SINGLE, DEBUG };

// A call that brings the descriptor: in an array, which the kernel closes; as an object of its own;
// or to be written to.
Status bring(Client& client, int fd, Carried how) {
    RawParcel parcel;
    if (how == Carried::DEBUG) {
        deviceToken(parcel, IBase::debug);
        parcel.handle({&fd, 1});
        parcel.value(HidlVec<HidlString>());
        return client.link().call(client.device(), IBase::debug, parcel, kBrief).status();
    }
    deviceToken(parcel, IDevice::getStatus);
    if (how == Carried::ARRAY) {
        parcel.handle({&fd, 1});
    } else {
        parcel.descriptor(fd);
    }
    return client.link().call(client.device(), IDevice::getStatus, parcel, kBrief).status();
}

Carried carriedIn(const std::string& against) {
    return against == "single"  ? Carried::SINGLE
           : against == "debug" ? Carried::DEBUG
                                : Carried::ARRAY;
}

// A request whose pool is a file that does not answer: when it is asked for its size, or for a
// page.
Status useSilentPools(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<SilentFile> file,
                             SilentFile::make(65536, settings.against == "page"));
    ModelBuilder model;
    addModel(model, 16);
    HALYARD_ASSIGN_OR_RETURN(const PreparedClient client,
                             PreparedClient::connect(settings, model, 64));
    const RequestBuilder request({.fd = file->fd(), .size = 65536, .name = "mmap_fd"}, 64, 64);
    callInThreads(settings, [&] {
        return client.client
                ->launch(client.model, request.request(), std::make_shared<Notified>(), {}, kBrief)
                .status();
    });
    return {};
}

// Files that do not answer when they are closed.
Status bringSilentFiles(const Settings& settings) {
    if (settings.against == "size" || settings.against == "page") {
        return useSilentPools(settings);
    }
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<SilentFile> file, SilentFile::make(4096, true));
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                             Client::connect(settings.instance));
    callInThreads(settings,
                  [&] { return bring(*client, file->fd(), carriedIn(settings.against)); });
    return {};
}

// Pools of a memfd that another call writes to, which stands still with the file's lock.
Status holdPools(const Settings& settings, HeldPage& page) {
    HALYARD_ASSIGN_OR_RETURN(const Pool pool, Pool::make(65536));
    ModelBuilder model;
    addModel(model, 16);
    HALYARD_ASSIGN_OR_RETURN(const PreparedClient client,
                             PreparedClient::connect(settings, model, 64));
    page.touchWith([fd = pool.fd](void* bytes, size_t size) {
        static_cast<void>(pwrite(fd, bytes, size, 0));
    });
    const RequestBuilder request(pool, 64, 64);
    callInThreads(settings, [&] {
        return client.client
                ->launch(client.model, request.request(), std::make_shared<Notified>(), {}, kBrief)
                .status();
    });
    return {};
}

// A file of that kind as what models are to be kept in.
Status holdCacheFiles(const Settings& settings, HeldPage& page) {
    const int file = memfd_create("cache", MFD_CLOEXEC);
    if (file < 0) {
        return internalError(std::string("memfd_create: ") + strerror(errno));
    }
    ModelBuilder model;
    addModel(model, 16);
    const wire::Model& built = model.finish();
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                             Client::connect(settings.instance));
    page.touchWith(
            [file](void* bytes, size_t size) { static_cast<void>(pwrite(file, bytes, size, 0)); });
    callInThreads(settings, [&] {
        RawParcel parcel;
        deviceToken(parcel, IDevice::prepareModel_1_3);
        parcel.value(built);
        prepareArguments(parcel, Priority::MEDIUM, file);
        parcel.ownObject(client->callback(std::make_shared<Notified>()));
        return client->link()
                .call(client->device(), IDevice::prepareModel_1_3, parcel, kBrief)
                .status();
    });
    return {};
}

// Descriptors whose lock another call holds: a memfd or a pipe that is being written to.
Status holdDescriptors(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<HeldPage> page, HeldPage::make());
    if (settings.against == "memfd") {
        return holdPools(settings, *page);
    }
    if (settings.against == "cache") {
        return holdCacheFiles(settings, *page);
    }
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                             Client::connect(settings.instance));
    int ends[2] = {-1, -1};
    if (pipe(ends) != 0) {
        return internalError(std::string("pipe: ") + strerror(errno));
    }
    page->touchWith([fd = ends[1]](void* bytes, size_t size) {
        static_cast<void>(write(fd, bytes, size));
    });
    callInThreads(settings, [&] { return bring(*client, ends[1], Carried::DEBUG); });
    return {};
}

// A connection with unread bytes, which is to be closed once they are taken.
int lingeringSocket() {
    const int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    if (bind(listening, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
        ::listen(listening, 1) != 0 ||
        getsockname(listening, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        return -1;
    }
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
        return -1;
    }
    const std::vector<char> bytes(65536);
    while (send(fd, bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
    }
    constexpr linger kLong = {.l_onoff = 1, .l_linger = 600};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &kLong, sizeof(kLong));
    return fd;
}

Status bringLingeringSockets(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                             Client::connect(settings.instance));
    callInThreads(settings, [&] {
        const int fd = lingeringSocket();
        if (fd < 0) {
            return internalError(std::string("sockets: ") + strerror(errno));
        }
        RawParcel parcel;
        deviceToken(parcel, IDevice::getStatus);
        if (settings.against == "single") {
            parcel.descriptor(fd);
        } else {
            parcel.handle({&fd, 1});
        }
        static_cast<void>(
                client->link().callAndLeave(client->device(), IDevice::getStatus, parcel));
        close(fd);
        return Status();
    });
    return {};
}

constexpr std::array<NamedAttack, 3> kWaitingAttacks = {{
        {"silent-file", bringSilentFiles,
         "files of a file system that does not answer; --against array, single, debug, size, page"},
        {"held-lock", holdDescriptors,
         "descriptors that a call holds which stands still; --against memfd, cache, pipe"},
        {"lingering-socket", bringLingeringSockets,
         "sockets that wait when they are closed; --against single: not in an array"},
}};

}  // namespace

std::span<const NamedAttack> waitingAttacks() {
    return kWaitingAttacks;
}

}  // namespace halyard::attacker
