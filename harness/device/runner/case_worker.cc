// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/case_worker.h"

#include <string>
#include <utility>

#include "hal/hidl/client/version.h"
#include "harness/device/cases/canonical_model.h"
#include "harness/device/cases/message_file.h"
#include "harness/device/runner/case_run.h"

namespace halyard::runner {

namespace {

// Services are restarted by init after some seconds.
constexpr std::chrono::milliseconds kReconnect(15000);
// A service is waited for only where the harness restarts it.
constexpr std::chrono::milliseconds kConnectOnce(5000);

// The version that the target speaks where none is asked for.
driver::HalVersion newestVersion(const CommandLine& line) {
    return line.service.instance.empty() || line.service.wire == Wire::AIDL
                   ? driver::kNewestVersion
                   : hal::hidl::clientVersions().front().version;
}

pb::CaseResult failedToLoad(pb::CaseResult result, pb::ErrorStatus status, const Status& why) {
    result.set_failed_stage(pb::STAGE_LOAD);
    result.set_status(status);
    result.set_message(why.toString());
    return result;
}

pb::CaseResult attempt(const RunSetup& setup, Result<BundleReader>& bundle, uint64_t offset,
                       const Result<Target>& target, const ParentLink& parent) {
    const Result<pb::TestCase> testCase =
            bundle.ok() ? bundle->readAt(offset) : Result<pb::TestCase>(bundle.status());
    if (!testCase.ok()) {
        return failedToLoad(unfinishedResult(setup, {}), pb::ERROR_STATUS_INVALID_ARGUMENT,
                            testCase.status());
    }
    pb::CaseResult result = unfinishedResult(setup, *testCase);
    if (!target.ok()) {
        return failedToLoad(std::move(result), pb::ERROR_STATUS_DEVICE_UNAVAILABLE,
                            target.status());
    }
    result.set_hal_version(toMessage(target->device->version()));
    if (testCase->checks().empty()) {
        runCase(
                *target, *testCase, setup.options,
                [&parent](const pb::CaseResult& soFar) { parent.sendProgress(soFar); }, result);
    } else if (setup.line.checks != nullptr) {
        setup.line.checks->run(*target, *testCase, parent, result);
    } else {
        return failedToLoad(std::move(result), pb::ERROR_STATUS_INVALID_ARGUMENT,
                            invalidArgument("there are no checks in this program"));
    }
    // Objects that the case has left to be freed may bring the target down a little later.
    if (result.failed_stage() != pb::STAGE_CRASH && !target->device->ping().ok()) {
        result.set_failed_stage(pb::STAGE_CRASH);
        result.set_status(pb::ERROR_STATUS_DEVICE_UNAVAILABLE);
        result.set_message("the service died once the case was over");
    }
    return result;
}

}  // namespace

Result<RunSetup> makeRunSetup(const CommandLine& line, pb::RunOptions options) {
    RunSetup setup = {.line = line, .options = std::move(options), .version = std::nullopt};
    if (setup.options.hal_version() != pb::HAL_VERSION_UNSPECIFIED) {
        HALYARD_ASSIGN_OR_RETURN(setup.version, toCanonical(setup.options.hal_version()));
    }
    return setup;
}

Result<Target> openTarget(const RunSetup& setup, std::chrono::milliseconds timeout) {
    const CommandLine& line = setup.line;
    if (!line.library.path.empty()) {
        HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<driver::IDevice> library,
                                 ndk::openLibrary(line.library));
        return Target{.device = std::move(library),
                      .withoutConfigs = nullptr,
                      .driver = nullptr,
                      .servicePid = nullptr};
    }
    if (line.service.instance.empty()) {
        return openDriver(line.driver, line.makeDevice,
                          setup.version.value_or(newestVersion(line)));
    }
    return openService(line.service, setup.version, timeout);
}

pb::CaseResult unfinishedResult(const RunSetup& setup, const pb::TestCase& testCase) {
    return beginResult(testCase, setup.line.targetName,
                       setup.version.value_or(newestVersion(setup.line)));
}

bool canGoOn(const pb::CaseResult& result) {
    return result.failed_stage() != pb::STAGE_CRASH &&
           result.status() != pb::ERROR_STATUS_DEVICE_UNAVAILABLE;
}

bool foundNoTarget(const pb::CaseResult& result) {
    return result.failed_stage() == pb::STAGE_LOAD &&
           result.status() == pb::ERROR_STATUS_DEVICE_UNAVAILABLE;
}

void workOnCases(const RunSetup& setup, const ParentLink& parent) {
    Result<BundleReader> bundle = BundleReader::open(setup.line.bundle);
    const Result<Target> target =
            openTarget(setup, setup.line.untilCrash ? kConnectOnce : kReconnect);
    parent.sendReady();
    while (const std::optional<uint64_t> offset = parent.receiveOrder()) {
        const pb::CaseResult result = attempt(setup, bundle, *offset, target, parent);
        if (!parent.sendFinal(result) || !canGoOn(result)) {
            // The parent sees how this process ends before it takes the result for final.
            return;
        }
    }
}

}  // namespace halyard::runner
