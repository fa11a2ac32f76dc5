// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/program.h"

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "driver/options/option_table.h"
#include "engine/base/log.h"
#include "engine/compile/backends.h"
#include "hal/aidl/client/connection.h"
#include "hal/hidl/client/connection.h"
#include "harness/device/cases/message_file.h"
#include "harness/device/runner/bundle_run.h"
#include "harness/device/runner/case_worker.h"
#include "harness/device/runner/command_line.h"
#include "harness/device/runner/core_pace.h"
#include "harness/device/runner/isolation.h"
#include "harness/device/runner/lowest_hal.h"
#include "harness/device/runner/machine_peak.h"
#include "harness/device/runner/served_case.h"

namespace halyard::runner {

namespace {

enum Exit : int { ATTEMPTED = 0, USAGE = 1, UNREACHABLE = 2, ENDED_EARLY = 3 };

constexpr std::chrono::milliseconds kFirstConnect(5000);

int complain(std::string_view message, Exit exit) {
    fprintf(stderr, "halyard-runner: %.*s\n", static_cast<int>(message.size()), message.data());
    return exit;
}

// Opens the target in a process of its own; what it says if it can't.
Status checkReachable(const RunSetup& setup) {
    HALYARD_ASSIGN_OR_RETURN(const IsolatedRun run,
                             runIsolated(
                                     [&](const ParentLink& parent) {
                                         pb::CaseResult result;
                                         const Status opened =
                                                 openTarget(setup, kFirstConnect).status();
                                         if (!opened.ok()) {
                                             result.set_message(opened.toString());
                                         }
                                         parent.sendFinal(result);
                                     },
                                     std::chrono::milliseconds(0)));
    if (run.end != IsolatedRun::End::FINISHED) {
        return internalError(run.reason);
    }
    if (!run.result.message().empty()) {
        return Status(StatusCode::UNAVAILABLE, run.result.message());
    }
    return {};
}

// The case of --serve, or all of them, each in a process of its own.
int runCases(const CommandLine& line) {
    const Result<pb::RunOptions> options = readOptions(line.options);
    const Result<RunSetup> setup =
            options.ok() ? makeRunSetup(line, *options) : Result<RunSetup>(options.status());
    if (!setup.ok()) {
        return complain(setup.status().message(), USAGE);
    }
    Result<BundleReader> bundle = BundleReader::open(line.bundle);
    if (!bundle.ok()) {
        return complain(bundle.status().message(), USAGE);
    }
    Result<ResultWriter> results = ResultWriter::create(line.results);
    if (!results.ok()) {
        return complain(results.status().message(), USAGE);
    }
    if (line.action == CommandLine::Action::SERVE) {
        const Status served = serveCase(*setup, *bundle, stdin, *results);
        return served.ok() ? ATTEMPTED : complain(served.message(), USAGE);
    }
    const Status reachable = checkReachable(*setup);
    if (!reachable.ok()) {
        return complain(line.targetName + ": " + std::string(reachable.message()), UNREACHABLE);
    }
    const Result<BundleEnd> end = runBundle(*setup, *bundle, *results);
    if (!end.ok()) {
        return complain(end.status().message(), USAGE);
    }
    return *end == BundleEnd::EARLY ? ENDED_EARLY : ATTEMPTED;
}

int findLowestVersions(const CommandLine& line) {
    Result<BundleReader> bundle = BundleReader::open(line.bundle);
    if (!bundle.ok()) {
        return complain(bundle.status().message(), USAGE);
    }
    Result<ResultWriter> results = ResultWriter::create(line.results);
    const Status written = results.ok() ? writeLowestVersions(*bundle, *results) : results.status();
    return written.ok() ? ATTEMPTED : complain(written.message(), USAGE);
}

int printText(const std::string& text) {
    fputs(text.c_str(), stdout);
    return ATTEMPTED;
}

int printPeak(const CommandLine& line) {
    return printText(describe(measurePeak(line.driver.threads)));
}

int printCorePace() {
    printf("%.3f\n", measureCorePace());
    return ATTEMPTED;
}

int printBackends() {
    for (const std::string_view name : engine::knownBackends()) {
        printf("%.*s\n", static_cast<int>(name.size()), name.data());
    }
    return ATTEMPTED;
}

// A device may lack either manager, and has one of them.
int printServices() {
    bool any = false;
    std::string missing;
    for (const Result<std::vector<std::string>>& names :
         {hal::hidl::listServices(kFirstConnect), hal::aidl::listServices(kFirstConnect)}) {
        any = any || names.ok();
        if (!names.ok()) {
            missing.append(missing.empty() ? "" : "; ").append(names.status().message());
            continue;
        }
        for (const std::string& name : *names) {
            printf("%s\n", name.c_str());
        }
    }
    return any ? ATTEMPTED : complain(missing, UNREACHABLE);
}

int printReport(const CommandLine& line) {
    const Result<Target> target = openService(line.service, std::nullopt, kFirstConnect);
    const Result<std::string> text = target.ok() ? target->device->report() : target.status();
    if (!text.ok()) {
        return complain(text.status().message(), UNREACHABLE);
    }
    return printText(*text);
}

}  // namespace

int runProgram(int argc, char** argv, MakeDevice* makeDevice, const CaseChecks* checks) {
    Result<CommandLine> line = parseCommandLine(argc, argv);
    if (line.ok()) {
        line->makeDevice = makeDevice;
        line->checks = checks;
    }
    if (!line.ok()) {
        return complain(std::string(line.status().message()) + " (--help lists the options)",
                        USAGE);
    }
    // The driver's refusals are in the results; its log would repeat them.
    setLogThreshold(line->verbose ? LogLevel::VERBOSE : LogLevel::ERROR);
    switch (line->action) {
        case CommandLine::Action::HELP:
            return printText(usage());
        case CommandLine::Action::LIST_BACKENDS:
            return printBackends();
        case CommandLine::Action::LIST_CHECKS:
            return checks == nullptr ? complain("there are no checks in this program", USAGE)
                                     : printText(checks->list());
        case CommandLine::Action::LIST_OPTIONS:
            return printText(driver::listOptions());
        case CommandLine::Action::LIST_SERVICES:
            return printServices();
        case CommandLine::Action::MEASURE_PEAK:
            return printPeak(*line);
        case CommandLine::Action::MEASURE_CORE_PACE:
            return printCorePace();
        case CommandLine::Action::LOWEST_HAL:
            return findLowestVersions(*line);
        case CommandLine::Action::REPORT:
            return printReport(*line);
        case CommandLine::Action::SERVE:
        case CommandLine::Action::RUN:
            break;
    }
    return runCases(*line);
}

}  // namespace halyard::runner
