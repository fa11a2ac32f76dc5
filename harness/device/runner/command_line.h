// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>

#include "driver/options/options.h"
#include "engine/base/status.h"
#include "harness/device/ndk/device.h"
#include "harness/device/runner/case_checks.h"
#include "harness/device/runner/target.h"

namespace halyard::runner {

// The runner's arguments.
struct CommandLine {
    enum class Action : uint8_t {
        RUN,
        SERVE,
        LOWEST_HAL,
        LIST_BACKENDS,
        LIST_CHECKS,
        LIST_OPTIONS,
        LIST_SERVICES,
        MEASURE_PEAK,
        MEASURE_CORE_PACE,
        REPORT,
        HELP
    };
    Action action = Action::RUN;
    std::string targetName;       // as given: "in-process", "hidl:halyard-default"
    ServiceAddress service;       // no instance: none
    ndk::LibraryAddress library;  // no path: none; without either the target is in-process
    std::string bundle;
    std::string options;
    std::string results;
    driver::Options driver;              // for an in-process target, as is the next
    MakeDevice* makeDevice = nullptr;    // null: as the options say
    const CaseChecks* checks = nullptr;  // null: this program has none
    size_t jobs = 0;          // cases at a time; 0: one per core in-process, one on a service
    bool untilCrash = false;  // run no further case once a service may be gone
    bool verbose = false;

    bool isInProcess() const { return service.instance.empty() && library.path.empty(); }
};

// INVALID_ARGUMENT says what is wrong with the arguments.
Result<CommandLine> parseCommandLine(int argc, char** argv);

// Ends with a newline.
std::string usage();

}  // namespace halyard::runner
