// SPDX-License-Identifier: Apache-2.0

#include "harness/device/managers/callers.h"

#include "engine/base/log.h"

namespace halyard::device {

Owner ownerOf(const hal::Caller& caller) {
    return {.pid = caller.pid, .uid = caller.euid};
}

bool isOfTheDevice(uid_t uid) {
    constexpr uid_t kSystem = 1000;
    return uid == 0 || uid == kSystem;
}

std::string shown(std::string_view name) {
    constexpr size_t kMost = 128;
    return name.size() <= kMost ? std::string(name) : std::string(name.substr(0, kMost)) + "...";
}

void logIfRefused(std::string_view manager, const std::string& what, const Status& status) {
    if (!status.ok()) {
        log(LogLevel::WARNING,
            status.withContext(std::string(manager) + ": refused " + what).toString());
    }
}

}  // namespace halyard::device
