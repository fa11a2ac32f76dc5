// SPDX-License-Identifier: Apache-2.0

#include "hal/service/door.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/base/log.h"

namespace halyard::hal {
namespace {

// How long a door is given before the others and the end of the service get a look.
constexpr std::chrono::milliseconds kWaitSlice{500};

enum class Fate : uint8_t { ANNOUNCED, UNDECLARED };

// UNAVAILABLE: its manager is not there yet.
Result<Fate> tryToAnnounce(Door& door, DoorChoice choice) {
    if (choice == DoorChoice::DECLARED) {
        HALYARD_ASSIGN_OR_RETURN(const bool declared, door.isDeclared(kWaitSlice));
        if (!declared) {
            return Fate::UNDECLARED;
        }
    }
    HALYARD_RETURN_IF_ERROR(door.announce(kWaitSlice));
    return Fate::ANNOUNCED;
}

}  // namespace

Status openDoors(Doors& doors, DoorChoice choice, const Served& served,
                 const DoorThreads& threads) {
    Status failure;
    for (auto next = doors.begin(); next != doors.end();) {
        const Status status = (*next)->open(served, threads).withContext((*next)->name());
        if (status.ok()) {
            ++next;
            continue;
        }
        if (choice == DoorChoice::ALL) {
            return status;
        }
        log(LogLevel::INFO, "nobody is served there: " + status.toString());
        failure = status;
        next = doors.erase(next);
    }
    return doors.empty() ? failure : Status();
}

Result<bool> announceDoors(const Doors& doors, DoorChoice choice,
                           const std::function<bool()>& wanted) {
    struct Waiting {
        Door* door;
        bool told = false;
    };
    std::vector<Waiting> waiting;
    for (const std::unique_ptr<Door>& door : doors) {
        waiting.push_back({.door = door.get()});
    }
    size_t announced = 0;
    while (!waiting.empty()) {
        for (Waiting& next : waiting) {
            const Result<Fate> fate = tryToAnnounce(*next.door, choice);
            if (fate.ok()) {
                announced += *fate == Fate::ANNOUNCED ? 1 : 0;
                if (*fate == Fate::UNDECLARED) {
                    log(LogLevel::INFO,
                        next.door->name() + ": the device's manifest does not have it");
                }
                next.door = nullptr;
                continue;
            }
            if (fate.status().code() != StatusCode::UNAVAILABLE) {
                return fate.status().withContext(next.door->name());
            }
            if (!wanted()) {
                return false;
            }
            if (!next.told) {
                log(LogLevel::WARNING, "still waiting: " + std::string(fate.status().message()));
                next.told = true;
            }
        }
        std::erase_if(waiting, [](const Waiting& next) { return next.door == nullptr; });
    }
    if (announced == 0 && !doors.empty()) {
        return unsupported(
                "the device's manifest has the service on no wire; --wires says on which it is to "
                "be registered all the same");
    }
    return true;
}

}  // namespace halyard::hal
