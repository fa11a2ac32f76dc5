// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/command_line.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <vector>

#include "driver/options/command_line.h"
#include "driver/options/option_table.h"

namespace halyard::runner {

namespace {

using Action = CommandLine::Action;
using driver::CommandLineOption;

constexpr std::string_view kInProcess = "in-process";
constexpr std::string_view kHidl = "hidl:";
constexpr std::string_view kAidl = "aidl:";
constexpr std::string_view kNdk = "ndk:";
constexpr std::string_view kNdkSupportLibrary = "ndk-sl:";
constexpr size_t kMostJobs = 256;

constexpr const char* kBeginning =
        "Usage: halyard-runner --target TARGET --bundle FILE --options FILE\n"
        "                      --results FILE\n"
        "Runs test cases and writes a result for each.\n"
        "\n";
constexpr const char* kMiddle = "\nOf the driver, for an in-process target:\n";
constexpr const char* kEnd =
        "\n"
        "Exit status: 0 every case was attempted, 1 wrong usage or unreadable files,\n"
        "2 the target can't be reached, 3 ended early as --until-crash asks.\n";

Status parseTarget(std::string_view target, CommandLine& line) {
    line.targetName = target;
    if (target.starts_with(kHidl) && target.size() > kHidl.size()) {
        line.service = {.wire = Wire::HIDL, .instance = std::string(target.substr(kHidl.size()))};
    } else if (target.starts_with(kAidl) && target.size() > kAidl.size()) {
        line.service = {.wire = Wire::AIDL, .instance = std::string(target.substr(kAidl.size()))};
    } else if (target.starts_with(kNdk) && target.size() > kNdk.size()) {
        line.library.path = target.substr(kNdk.size());
    } else if (target.starts_with(kNdkSupportLibrary) &&
               target.size() > kNdkSupportLibrary.size()) {
        line.library.path = target.substr(kNdkSupportLibrary.size());
        line.library.isSupportLibrary = true;
    } else if (target != kInProcess) {
        return invalidArgument("unknown target " + std::string(target));
    }
    return {};
}

Status parseJobs(std::string_view value, size_t& jobs) {
    const char* end = value.data() + value.size();
    const auto parsed = std::from_chars(value.data(), end, jobs);
    if (parsed.ec != std::errc() || parsed.ptr != end || jobs > kMostJobs) {
        return invalidArgument("takes a number up to " + std::to_string(kMostJobs) + ", not \"" +
                               std::string(value) + "\"");
    }
    return {};
}

// Those of the runner alone.
std::vector<CommandLineOption> ownOptions(CommandLine& line) {
    const auto text = [](std::string& field) {
        return [&field](std::string_view value) {
            field = value;
            return Status();
        };
    };
    const auto flag = [](bool& field) {
        return [&field](std::string_view) {
            field = true;
            return Status();
        };
    };
    const auto act = [&line](Action action) {
        return [&line, action](std::string_view) {
            line.action = line.action == Action::HELP ? Action::HELP : action;
            return Status();
        };
    };
    return {
            {"target", 0, "TARGET",
             "in-process, or hidl:INSTANCE or aidl:INSTANCE for the service of that name, or "
             "ndk:FILE or ndk-sl:FILE for a library of NNAPI's C functions or a support library.",
             [&line](std::string_view value) { return parseTarget(value, line); }},
            {"library-device", 0, "NAME",
             "Which of the library's devices; left out: those that it chooses, or of a support "
             "library the first.",
             text(line.library.device)},
            {"bundle", 0, "FILE", "Length-delimited TestCase messages.", text(line.bundle)},
            {"options", 0, "FILE", "A RunOptions message.", text(line.options)},
            {"results", 0, "FILE", "Receives length-delimited CaseResult messages.",
             text(line.results)},
            {"jobs", 0, "N",
             "Cases at a time, each in a process of its own; 0 or left out: one per core "
             "in-process, one on a service.",
             [&line](std::string_view value) { return parseJobs(value, line.jobs); }},
            {"until-crash", 0, "",
             "End after a case that crashed or hung, or when the target is gone, with exit status "
             "3.",
             flag(line.untilCrash)},
            {"serve", 0, "",
             "Run the bundle's first case alone, in this process: prepare it, execute it once, and "
             "then COUNT times for each line of input \"run COUNT WARMUP\"; a result for each. "
             "\"profile COUNT WARMUP\" tells what each node takes, \"load FROM UNTIL COUNT\" lets "
             "so many of the options' clients execute at the same time.",
             act(Action::SERVE)},
            {"measure-peak", 0, "",
             "Print, as JSON, what this machine computes and moves a second with "
             "--number-of-threads at most, and exit.",
             act(Action::MEASURE_PEAK)},
            {"measure-core-pace", 0, "",
             "Print how many additions a nanosecond the core does that this is on, and exit: fewer "
             "where another program uses the core's other half.",
             act(Action::MEASURE_CORE_PACE)},
            {"lowest-hal", 0, "",
             "Run nothing: each result holds the lowest HAL version that can carry the case; only "
             "--bundle and --results are needed.",
             act(Action::LOWEST_HAL)},
            {"list-backends", 0, "", "Print the backends that -c may name, one a line, and exit.",
             act(Action::LIST_BACKENDS)},
            {"list-checks", 0, "", "Print the checks that cases may name as JSON, and exit.",
             act(Action::LIST_CHECKS)},
            {"list-options", 0, "", "Print the driver's options as JSON, and exit.",
             act(Action::LIST_OPTIONS)},
            {"list-services", 0, "",
             "Print the names that hwservicemanager and servicemanager know, and exit.",
             act(Action::LIST_SERVICES)},
            {"report", 0, "", "Print what a service says about itself, and exit.",
             act(Action::REPORT)},
            {"verbose", 'v', "", "Log more.", flag(line.verbose)},
            {"help", 'h', "", "Print this, and exit.", act(Action::HELP)},
    };
}

Status checkComplete(const CommandLine& line) {
    switch (line.action) {
        case Action::HELP:
        case Action::LIST_BACKENDS:
        case Action::LIST_CHECKS:
        case Action::LIST_OPTIONS:
        case Action::LIST_SERVICES:
        case Action::MEASURE_PEAK:
        case Action::MEASURE_CORE_PACE:
            return {};
        case Action::LOWEST_HAL:
            return line.bundle.empty() || line.results.empty()
                           ? invalidArgument("--lowest-hal needs --bundle and --results")
                           : Status();
        case Action::REPORT:
            return line.service.instance.empty()
                           ? invalidArgument("--report needs a --target that is a service")
                           : Status();
        case Action::RUN:
        case Action::SERVE:
            break;
    }
    if (line.targetName.empty()) {
        return invalidArgument("--target is missing");
    }
    if (line.bundle.empty() || line.options.empty() || line.results.empty()) {
        return invalidArgument("--bundle, --options and --results are all needed");
    }
    return {};
}

}  // namespace

std::string usage() {
    CommandLine line;
    return kBeginning + driver::describeOptions(ownOptions(line)) + kMiddle +
           driver::describeOptions(driver::driverOptions(line.driver)) + kEnd;
}

Result<CommandLine> parseCommandLine(int argc, char** argv) {
    CommandLine line;
    std::vector<CommandLineOption> rows = ownOptions(line);
    std::ranges::move(driver::driverOptions(line.driver), std::back_inserter(rows));
    HALYARD_RETURN_IF_ERROR(driver::parseOptions(argc, argv, rows));
    HALYARD_RETURN_IF_ERROR(driver::checkOptions(line.driver));
    HALYARD_RETURN_IF_ERROR(checkComplete(line));
    return line;
}

}  // namespace halyard::runner
