// SPDX-License-Identifier: Apache-2.0

#include "tests/device/binder_selftest/claims.h"

#include <cstdio>
#include <thread>

namespace halyard::hal::selftest {

namespace {

bool gAllHold = true;

}  // namespace

bool claim(bool holds, const char* text) {
    std::printf("%s %s\n", holds ? "ok" : "FAILED", text);
    std::fflush(stdout);
    gAllHold = gAllHold && holds;
    return holds;
}

bool allHold() {
    return gAllHold;
}

bool eventually(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
        if (std::chrono::steady_clock::now() >= deadline) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
}

}  // namespace halyard::hal::selftest
