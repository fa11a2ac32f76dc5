// SPDX-License-Identifier: Apache-2.0

#include "hal/service/door.h"

#include <algorithm>
#include <string>

#include "engine/base/log.h"

namespace halyard::hal {
namespace {

// How long a door is given before the others and the end of the service get a look.
constexpr std::chrono::milliseconds kWaitSlice{500};

}  // namespace

Status openDoors(const Doors& doors, const Served& served, const DoorThreads& threads) {
    for (const std::unique_ptr<Door>& door : doors) {
        HALYARD_RETURN_IF_ERROR(door->open(served, threads).withContext(door->name()));
    }
    return {};
}

Result<bool> announceDoors(const Doors& doors, const std::function<bool()>& wanted) {
    struct Waiting {
        Door* door;
        bool told = false;
    };
    std::vector<Waiting> waiting;
    for (const std::unique_ptr<Door>& door : doors) {
        waiting.push_back({.door = door.get()});
    }
    while (!waiting.empty()) {
        for (Waiting& next : waiting) {
            const Status announced = next.door->announce(kWaitSlice);
            if (announced.ok()) {
                next.door = nullptr;
                continue;
            }
            if (announced.code() != StatusCode::UNAVAILABLE) {
                return announced.withContext(next.door->name());
            }
            if (!wanted()) {
                return false;
            }
            if (!next.told) {
                log(LogLevel::WARNING, "still waiting: " + std::string(announced.message()));
                next.told = true;
            }
        }
        std::erase_if(waiting, [](const Waiting& next) { return next.door == nullptr; });
    }
    return true;
}

}  // namespace halyard::hal
