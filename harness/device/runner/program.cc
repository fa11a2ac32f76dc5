// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/program.h"

#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>

#include "engine/base/log.h"
#include "harness/device/runner/canonical_model.h"
#include "harness/device/runner/case_run.h"
#include "harness/device/runner/command_line.h"
#include "harness/device/runner/hidl_target.h"
#include "harness/device/runner/hostile_client.h"
#include "harness/device/runner/in_process_target.h"
#include "harness/device/runner/isolation.h"
#include "harness/device/runner/lowest_hal.h"
#include "harness/device/runner/message_file.h"

namespace halyard::runner {

namespace {

enum Exit : int { ATTEMPTED = 0, USAGE = 1, UNREACHABLE = 2 };

constexpr std::chrono::milliseconds kFirstConnect(5000);
// Services are restarted by init after some seconds.
constexpr std::chrono::milliseconds kReconnect(15000);

int complain(std::string_view message, Exit exit) {
    fprintf(stderr, "halyard-runner: %.*s\n", static_cast<int>(message.size()), message.data());
    return exit;
}

// The version that the options ask for; nothing: the newest.
Result<std::optional<driver::HalVersion>> wantedVersion(const pb::RunOptions& options) {
    if (options.hal_version() == pb::HAL_VERSION_UNSPECIFIED) {
        return std::optional<driver::HalVersion>();
    }
    HALYARD_ASSIGN_OR_RETURN(const driver::HalVersion version, toCanonical(options.hal_version()));
    return std::optional(version);
}

Result<std::unique_ptr<Target>> openTarget(const CommandLine& line,
                                           std::optional<driver::HalVersion> version,
                                           std::chrono::milliseconds timeout) {
    if (line.instance.empty()) {
        return makeInProcessTarget(line.driver, line.makeDevice,
                                   version.value_or(driver::HalVersion::V1_3));
    }
    HALYARD_ASSIGN_OR_RETURN(ServiceConnection connection,
                             connectToService(line.instance, version, timeout));
    return makeHidlTarget(std::move(connection));
}

// Opens the target in a process of its own; what it says if it can't.
Status checkReachable(const CommandLine& line, std::optional<driver::HalVersion> version) {
    HALYARD_ASSIGN_OR_RETURN(const IsolatedRun run,
                             runIsolated(
                                     [&](const ResultPipe& pipe) {
                                         pb::CaseResult result;
                                         const Status opened =
                                                 openTarget(line, version, kFirstConnect).status();
                                         if (!opened.ok()) {
                                             result.set_message(opened.toString());
                                         }
                                         pipe.sendFinal(result);
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

// Whether the process that gave this result can go on with the next case. A service outlives its
// clients anyway, so that a client for each case would isolate nothing; and connecting is slow.
bool canGoOn(const CommandLine& line, const pb::CaseResult& result) {
    return !line.instance.empty() && result.failed_stage() != pb::STAGE_CRASH &&
           result.status() != pb::ERROR_STATUS_DEVICE_UNAVAILABLE;
}

pb::CaseResult attempt(const CommandLine& line, std::optional<driver::HalVersion> version,
                       const pb::RunOptions& options, const pb::TestCase& testCase,
                       const Result<std::unique_ptr<Target>>& target, const ResultPipe& pipe) {
    pb::CaseResult result = beginResult(
            testCase, line.targetName,
            target.ok() ? (*target)->version() : version.value_or(driver::HalVersion::V1_3));
    if (target.ok()) {
        runCase(
                **target, testCase, options,
                [&pipe](const pb::CaseResult& soFar) { pipe.sendProgress(soFar); }, result);
    } else {
        result.set_failed_stage(pb::STAGE_LOAD);
        result.set_status(pb::ERROR_STATUS_DEVICE_UNAVAILABLE);
        result.set_message(target.status().toString());
    }
    return result;
}

// What the child does: the case, and those in `rest` for as long as it can go on.
void attemptAll(const CommandLine& line, std::optional<driver::HalVersion> version,
                const pb::RunOptions& options, const pb::TestCase& first, BundleReader rest,
                const ResultPipe& pipe) {
    Result<std::unique_ptr<Target>> target = openTarget(line, version, kReconnect);
    const pb::TestCase* testCase = &first;
    Result<std::optional<pb::TestCase>> next = std::optional<pb::TestCase>();
    for (;;) {
        const pb::CaseResult result = attempt(line, version, options, *testCase, target, pipe);
        if (!canGoOn(line, result)) {
            // Closed before the result is final, so that a crash in closing is seen.
            target = std::unique_ptr<Target>();
            pipe.sendFinal(result);
            return;
        }
        pipe.sendFinal(result);
        next = rest.next();
        if (!next.ok() || !next->has_value()) {
            // The parent comes to this end itself.
            return;
        }
        testCase = &**next;
    }
}

// The result of one case, in `process` if there is one, else in one that it starts. It leaves a
// process that can go on with the next case, or none.
Result<pb::CaseResult> runOne(const CommandLine& line, std::optional<driver::HalVersion> version,
                              const pb::RunOptions& options, const pb::TestCase& testCase,
                              const BundleReader& bundle,
                              std::unique_ptr<IsolatedProcess>& process) {
    if (process == nullptr) {
        HALYARD_ASSIGN_OR_RETURN(BundleReader rest, bundle.rest());
        HALYARD_ASSIGN_OR_RETURN(process, IsolatedProcess::start([&](const ResultPipe& pipe) {
                                     attemptAll(line, version, options, testCase, std::move(rest),
                                                pipe);
                                 }));
    }
    const double seconds = std::isfinite(options.timeout_s()) ? options.timeout_s() : 0;
    const std::chrono::milliseconds timeout(
            static_cast<int64_t>(std::ceil(std::clamp(seconds, 0.0, 1e6) * 1000)));
    IsolatedRun run = process->next(timeout);
    if (run.end == IsolatedRun::End::FINISHED) {
        if (!canGoOn(line, run.result)) {
            process.reset();
        }
        return std::move(run.result);
    }
    process.reset();
    pb::CaseResult result = run.resultArrived
                                    ? std::move(run.result)
                                    : beginResult(testCase, line.targetName,
                                                  version.value_or(driver::HalVersion::V1_3));
    const std::string step = result.message().empty() ? "starting" : result.message();
    result.set_status(pb::ERROR_STATUS_GENERAL_FAILURE);
    if (run.end == IsolatedRun::End::TIMED_OUT) {
        result.set_failed_stage(pb::STAGE_HANG);
        result.set_message("no end after " + std::to_string(timeout.count()) + " ms while " + step);
    } else {
        result.set_failed_stage(pb::STAGE_CRASH);
        result.set_message(run.reason + " while " + step);
    }
    return result;
}

int runBundle(const CommandLine& line) {
    const Result<pb::RunOptions> options = readOptions(line.options);
    if (!options.ok()) {
        return complain(options.status().message(), USAGE);
    }
    const Result<std::optional<driver::HalVersion>> version = wantedVersion(*options);
    if (!version.ok()) {
        return complain(version.status().message(), USAGE);
    }
    Result<BundleReader> bundle = BundleReader::open(line.bundle);
    if (!bundle.ok()) {
        return complain(bundle.status().message(), USAGE);
    }
    Result<ResultWriter> results = ResultWriter::create(line.results);
    if (!results.ok()) {
        return complain(results.status().message(), USAGE);
    }
    const Status reachable = checkReachable(line, *version);
    if (!reachable.ok()) {
        return complain(line.targetName + ": " + std::string(reachable.message()), UNREACHABLE);
    }
    std::unique_ptr<IsolatedProcess> process;
    for (;;) {
        const Result<std::optional<pb::TestCase>> next = bundle->next();
        if (!next.ok()) {
            return complain(next.status().message(), USAGE);
        }
        const std::optional<pb::TestCase>& testCase = *next;
        if (!testCase.has_value()) {
            return ATTEMPTED;
        }
        const Result<pb::CaseResult> result =
                runOne(line, *version, *options, *testCase, *bundle, process);
        const Status written = result.ok() ? results->append(*result) : result.status();
        if (!written.ok()) {
            return complain(written.message(), USAGE);
        }
    }
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

int printServices() {
    const Result<std::vector<std::string>> names = listServices(kFirstConnect);
    if (!names.ok()) {
        return complain(names.status().message(), UNREACHABLE);
    }
    for (const std::string& name : *names) {
        printf("%s\n", name.c_str());
    }
    return ATTEMPTED;
}

int printReport(const CommandLine& line) {
    const Result<ServiceConnection> connection =
            connectToService(line.instance, std::nullopt, kFirstConnect);
    const Result<std::string> text =
            connection.ok() ? connection->device.debug() : connection.status();
    if (!text.ok()) {
        return complain(text.status().message(), UNREACHABLE);
    }
    fputs(text->c_str(), stdout);
    return ATTEMPTED;
}

}  // namespace

int runProgram(int argc, char** argv, MakeDevice* makeDevice) {
    Result<CommandLine> line = parseCommandLine(argc, argv);
    if (line.ok()) {
        line->makeDevice = makeDevice;
    }
    if (!line.ok()) {
        complain(line.status().message(), USAGE);
        fputs(usage(), stderr);
        return USAGE;
    }
    // What the driver refuses is in the results; its log would repeat it.
    setLogThreshold(line->verbose ? LogLevel::VERBOSE : LogLevel::ERROR);
    switch (line->action) {
        case CommandLine::Action::HELP:
            fputs(usage(), stdout);
            return ATTEMPTED;
        case CommandLine::Action::LIST_SERVICES:
            return printServices();
        case CommandLine::Action::LOWEST_HAL:
            return findLowestVersions(*line);
        case CommandLine::Action::REPORT:
            return printReport(*line);
        case CommandLine::Action::HOSTILE: {
            const Status survived = runHostileClient(*line);
            return survived.ok() ? ATTEMPTED
                                 : complain(survived.toString(),
                                            survived.code() == StatusCode::UNAVAILABLE ? UNREACHABLE
                                                                                       : USAGE);
        }
        case CommandLine::Action::RUN:
            break;
    }
    return runBundle(*line);
}

}  // namespace halyard::runner
