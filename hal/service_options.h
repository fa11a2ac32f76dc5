// SPDX-License-Identifier: Apache-2.0
//
// The service's command line.

#pragma once

#include <cstdint>
#include <string>

#include "driver/options/options.h"
#include "engine/base/status.h"
#include "hal/seccomp.h"

namespace halyard::hal {

// The ways on which clients reach the service.
struct Wires {
    bool hidl = true;
    bool aidl = true;
    // Of these, those that the device's manifest has.
    bool declaredAlone = true;
};

struct ServiceOptions {
    enum class Action : uint8_t { SERVE, PRINT_HELP, PRINT_VERSION, LIST_OPERATIONS, LIST_OPTIONS };
    Action action = Action::SERVE;
    driver::Options driver;
    std::string serviceName = "halyard-default";
    Wires wires;
    bool verbose = false;
    SeccompMode seccomp = SeccompMode::OFF;
};

// INVALID_ARGUMENT names the option and what it takes, or the two that exclude each other.
Result<ServiceOptions> parseServiceOptions(int argc, char** argv);

// The text of --help.
std::string serviceHelp();

}  // namespace halyard::hal
