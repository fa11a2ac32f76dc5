// SPDX-License-Identifier: Apache-2.0

#include "hal/service_options.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/options/command_line.h"
#include "driver/options/option_table.h"
#include "engine/compile/backend_choice.h"

namespace halyard::hal {
namespace {

using driver::CommandLineOption;

Status parseName(std::string_view text, std::string& name) {
    if (text.empty() || text.find('/') != std::string_view::npos) {
        return invalidArgument("not a name: \"" + std::string(text) + "\"");
    }
    name = text;
    return {};
}

Status parseWires(std::string_view text, Wires& wires) {
    wires = {.hidl = false, .aidl = false, .declaredAlone = false};
    for (size_t at = 0; at <= text.size();) {
        const size_t comma = std::min(text.find(',', at), text.size());
        const std::string_view name = text.substr(at, comma - at);
        if (name == "hidl") {
            wires.hidl = true;
        } else if (name == "aidl") {
            wires.aidl = true;
        } else {
            return invalidArgument("\"" + std::string(name) + "\" is not hidl or aidl");
        }
        at = comma + 1;
    }
    return {};
}

Status parseSeccomp(std::string_view text, SeccompMode& mode) {
    if (text == "off") {
        mode = SeccompMode::OFF;
    } else if (text == "log") {
        mode = SeccompMode::LOG;
    } else if (text == "enforce") {
        mode = SeccompMode::ENFORCE;
    } else {
        return invalidArgument(std::string(text) + " is not off, log or enforce");
    }
    return {};
}

// The driver's, and those that only a service has.
std::vector<CommandLineOption> optionsOf(ServiceOptions& options) {
    using Action = ServiceOptions::Action;
    const auto act = [&options](Action action) {
        return [&options, action](std::string_view) {
            options.action = action;
            return Status();
        };
    };
    std::vector<CommandLineOption> rows = driver::driverOptions(options.driver);
    rows.push_back(
            {"service-name", 'n', "NAME", "The instance to register as (halyard-default).",
             [&options](std::string_view value) { return parseName(value, options.serviceName); }});
    rows.push_back(
            {"wires", 0, "LIST",
             "Where clients reach it: hidl (/dev/hwbinder), aidl (/dev/binder), or both, with a "
             "comma between. Default: where the device's manifest has it.",
             [&options](std::string_view value) { return parseWires(value, options.wires); }});
    rows.push_back(
            {"seccomp", 0, "MODE",
             "For system calls that the service is not known to make: enforce: end with a "
             "line that names the call; log: have the kernel's log tell; "
             "off, the default: nothing.",
             [&options](std::string_view value) { return parseSeccomp(value, options.seccomp); }});
    rows.push_back({"list-operations", 0, "", "Print the supported operations as JSON, and exit.",
                    act(Action::LIST_OPERATIONS)});
    rows.push_back({"list-options", 0, "", "Print the driver's options as JSON, and exit.",
                    act(Action::LIST_OPTIONS)});
    rows.push_back({"verbose-logging", 'v', "", "Log what is prepared and executed.",
                    [&options](std::string_view) {
                        options.verbose = true;
                        return Status();
                    }});
    rows.push_back(
            {"version", 'V', "", "Print the version, and exit.", act(Action::PRINT_VERSION)});
    rows.push_back({"help", 'h', "", "Print this, and exit.", act(Action::PRINT_HELP)});
    return rows;
}

bool isGpuAcc(const std::string& item) {
    const Result<engine::BackendChoice> choice = engine::parseBackendChoice(item);
    return choice.ok() && choice->name == "GpuAcc";
}

// A vendor's library makes system calls that are not known here. A user that names GpuAcc is told
// so before the first of them ends the service.
Status checkFilter(const ServiceOptions& options) {
    if (options.seccomp != SeccompMode::ENFORCE ||
        std::ranges::none_of(options.driver.backends, isGpuAcc)) {
        return {};
    }
    return invalidArgument(
            "--compute GpuAcc and --seccomp enforce exclude each other: the service would end at "
            "the first system call of the GPU's driver that it does not make itself; --seccomp log "
            "tells of them, and off allows them");
}

}  // namespace

Result<ServiceOptions> parseServiceOptions(int argc, char** argv) {
    ServiceOptions options;
    std::vector<std::string> unlessNamed = std::exchange(options.driver.backends, {});
    HALYARD_RETURN_IF_ERROR(driver::parseOptions(argc, argv, optionsOf(options)));
    if (options.driver.backends.empty()) {
        options.driver.backends = std::move(unlessNamed);
    }
    HALYARD_RETURN_IF_ERROR(driver::checkOptions(options.driver));
    HALYARD_RETURN_IF_ERROR(checkFilter(options));
    return options;
}

std::string serviceHelp() {
    ServiceOptions options;
    return "Usage: android.hardware.neuralnetworks@1.3-service-halyard [OPTION]...\n"
           "Serves the Android Neural Networks HAL: HIDL 1.0-1.3, AIDL 1-4.\n"
           "\n" +
           driver::describeOptions(optionsOf(options));
}

}  // namespace halyard::hal
