// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/served_case.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "harness/device/runner/canonical_model.h"
#include "harness/device/runner/case_run.h"
#include "harness/device/runner/placement_report.h"
#include "harness/device/runner/process_memory.h"

namespace halyard::runner {

namespace {

constexpr std::chrono::milliseconds kConnect(5000);

pb::CaseResult failed(pb::CaseResult result, pb::Stage stage, const Outcome& outcome) {
    result.set_failed_stage(stage);
    result.set_status(static_cast<pb::ErrorStatus>(outcome.status));
    result.set_message(outcome.message);
    return result;
}

Outcome invalid(const Status& status) {
    return {.status = driver::ErrorStatus::INVALID_ARGUMENT, .message = status.toString()};
}

// Frees what the target has got a copy of: it would count as memory that the target takes.
void dropConstants(pb::TestCase& testCase) {
    std::string().swap(*testCase.mutable_model()->mutable_operand_values());
    google::protobuf::RepeatedPtrField<std::string>().Swap(
            testCase.mutable_model()->mutable_pools());
}

// Everything that executions need, in the order in which it is made.
struct Served {
    pb::TestCase testCase;
    std::unique_ptr<Target> target;
    std::optional<TargetModel> model;
    std::unique_ptr<PreparedTarget> prepared;
    std::optional<TargetRequest> request;
};

// The first result; one with a failed stage where it stops short.
Result<pb::CaseResult> prepare(const RunSetup& setup, BundleReader& bundle, Served& served) {
    const uint64_t before = rssBytes(getpid());
    HALYARD_ASSIGN_OR_RETURN(served.testCase, bundle.readAt(0));
    pb::CaseResult result = unfinishedResult(setup, served.testCase);
    if (served.testCase.examples_size() == 0) {
        return invalidArgument("the case has no example");
    }
    Result<std::unique_ptr<Target>> target = openTarget(setup, kConnect);
    if (!target.ok()) {
        return failed(std::move(result), pb::STAGE_LOAD, invalid(target.status()));
    }
    served.target = std::move(*target);
    result.set_version_string(served.target->versionString());
    Result<TargetRequest> request = toCanonical(served.testCase.examples(0));
    if (!request.ok()) {
        return failed(std::move(result), pb::STAGE_LOAD, invalid(request.status()));
    }
    served.request = std::move(*request);
    served.model = loadModel(*served.target, served.testCase, result);
    if (!served.model.has_value()) {
        return result;
    }
    dropConstants(served.testCase);
    forgetPeakRss();
    served.prepared = prepareModel(*served.target, *served.model, setup.options, result);
    if (served.prepared == nullptr) {
        return result;
    }
    pb::RunOptions once = setup.options;
    once.set_warmup(0);
    once.set_repeat(1);
    Execution last;
    pb::ExampleResult& executed = *result.add_examples();
    const Outcome outcome =
            executeRepeatedly(*served.prepared, *served.request, once, last, executed);
    if (!outcome.ok()) {
        return failed(std::move(result), pb::STAGE_EXECUTE, outcome);
    }
    // Before the outputs are copied, which no client of a driver has to do.
    result.mutable_memory()->set_peak_rss_bytes(served.target->peakRssBytes());
    result.mutable_memory()->set_base_rss_bytes(before);
    readPlacement(served.prepared->report(), result);
    HALYARD_RETURN_IF_ERROR(
            collectOutputs(served.testCase.model(), *served.request, last, true, executed));
    return result;
}

pb::CaseResult execute(const RunSetup& setup, Served& served, uint32_t count, uint32_t warmup) {
    pb::CaseResult result = unfinishedResult(setup, served.testCase);
    pb::RunOptions options = setup.options;
    options.set_warmup(warmup);
    options.set_repeat(count);
    Execution last;
    const Outcome outcome = executeRepeatedly(*served.prepared, *served.request, options, last,
                                              *result.add_examples());
    return outcome.ok() ? result : failed(std::move(result), pb::STAGE_EXECUTE, outcome);
}

// What each node takes, after so many executions that do not count.
pb::CaseResult profileNodes(const RunSetup& setup, Served& served, uint32_t count,
                            uint32_t warmup) {
    pb::CaseResult result = warmup > 0 ? execute(setup, served, warmup, 0)
                                       : unfinishedResult(setup, served.testCase);
    if (result.failed_stage() != pb::STAGE_NONE) {
        return result;
    }
    result.clear_examples();
    const Outcome outcome =
            profile(*served.prepared, *served.request, setup.options, count, result);
    return outcome.ok() ? result : failed(std::move(result), pb::STAGE_EXECUTE, outcome);
}

}  // namespace

Status serveCase(const RunSetup& setup, BundleReader& bundle, FILE* commands,
                 ResultWriter& results) {
    // A harness may stop this process between its turns: if it is killed then, nobody would end us.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Served served;
    HALYARD_ASSIGN_OR_RETURN(pb::CaseResult result, prepare(setup, bundle, served));
    HALYARD_RETURN_IF_ERROR(results.append(result));
    std::array<char, 64> line;
    while (result.failed_stage() == pb::STAGE_NONE &&
           fgets(line.data(), line.size(), commands) != nullptr) {
        uint32_t count = 0;
        uint32_t warmup = 0;
        if (sscanf(line.data(), "run %" SCNu32 " %" SCNu32, &count, &warmup) == 2) {
            result = execute(setup, served, count, warmup);
        } else if (sscanf(line.data(), "profile %" SCNu32 " %" SCNu32, &count, &warmup) == 2) {
            result = profileNodes(setup, served, count, warmup);
        } else {
            return invalidArgument(
                    "a command is \"run COUNT WARMUP\" or \"profile COUNT WARMUP\", not " +
                    std::string(line.data()));
        }
        HALYARD_RETURN_IF_ERROR(results.append(result));
    }
    return {};
}

}  // namespace halyard::runner
