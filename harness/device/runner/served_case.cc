// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/served_case.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cinttypes>
#include <csignal>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/device/cases/canonical_model.h"
#include "harness/device/runner/case_run.h"
#include "harness/device/runner/client_load.h"
#include "harness/device/runner/node_profile.h"
#include "harness/device/runner/placement_report.h"
#include "harness/device/runner/process_memory.h"

namespace halyard::runner {

namespace {

constexpr std::chrono::milliseconds kConnect(5000);

pb::CaseResult failed(pb::CaseResult result, pb::Stage stage, const Outcome& outcome) {
    result.set_failed_stage(stage);
    result.set_status(static_cast<pb::ErrorStatus>(outcome.status));
    result.set_message(reasonOf(outcome));
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

struct ServedClient {
    std::shared_ptr<driver::IPreparedModel> prepared;
    std::optional<driver::Request> request;
    // Of its first execution.
    driver::ExecutionResult told;
    pb::ExampleResult outputs;
};

// Everything that executions need, in the order in which it is made.
struct Served {
    pb::TestCase testCase;
    Target target;
    std::optional<driver::Model> model;
    std::vector<ServedClient> clients;  // one at least
};

// Numbers of processes that no kernel gives.
constexpr int32_t kFirstProcess = 1 << 30;

std::vector<PrepareSettings> clientsOf(const pb::RunOptions& options) {
    std::vector<PrepareSettings> clients;
    for (const int priority : options.clients()) {
        PrepareSettings& client = clients.emplace_back(prepareSettings(options));
        client.priority = static_cast<driver::Priority>(priority);
        client.process = kFirstProcess;
        if (!options.clients_share_process()) {
            client.process += static_cast<int32_t>(clients.size());
        }
    }
    if (clients.empty()) {
        clients.push_back(prepareSettings(options));
    }
    return clients;
}

// Executes once for the first time.
Outcome executeFirst(const RunSetup& setup, const Target& target, ServedClient& client,
                     pb::ExampleResult& executed) {
    pb::RunOptions once = setup.options;
    once.set_warmup(0);
    once.set_repeat(1);
    once.set_warmup_s(0);
    once.set_min_s(0);
    return executeRepeatedly(target, *client.prepared, *client.request, once, client.told,
                             executed);
}

Status readOutputs(const Served& served, const ServedClient& client, pb::ExampleResult& example) {
    return collectOutputs(served.testCase.model(), *client.request, client.told, true, example);
}

// The first result; one with a failed stage where it stops short.
Result<pb::CaseResult> prepare(const RunSetup& setup, BundleReader& bundle, Served& served) {
    const uint64_t before = rssBytes(getpid());
    HALYARD_ASSIGN_OR_RETURN(served.testCase, bundle.readAt(0));
    pb::CaseResult result = unfinishedResult(setup, served.testCase);
    if (served.testCase.examples_size() == 0) {
        return invalidArgument("the case has no example");
    }
    const std::vector<PrepareSettings> clients = clientsOf(setup.options);
    if (clients.size() > 1 && !setup.line.isInProcess()) {
        return invalidArgument("several clients need an in-process target");
    }
    Result<Target> target = openTarget(setup, kConnect);
    if (!target.ok()) {
        return failed(std::move(result), pb::STAGE_LOAD, invalid(target.status()));
    }
    served.target = std::move(*target);
    result.set_version_string(versionString(served.target));
    served.clients.resize(clients.size());
    for (ServedClient& client : served.clients) {
        Result<driver::Request> request = toCanonical(served.testCase.examples(0));
        if (!request.ok()) {
            return failed(std::move(result), pb::STAGE_LOAD, invalid(request.status()));
        }
        client.request = std::move(*request);
    }
    served.model = loadModel(served.target, served.testCase, result);
    if (!served.model.has_value()) {
        return result;
    }
    dropConstants(served.testCase);
    forgetPeakRss();
    for (size_t i = 0; i < clients.size(); ++i) {
        ServedClient& client = served.clients[i];
        client.prepared = prepareModel(served.target, *served.model, clients[i], result);
        if (client.prepared == nullptr) {
            return result;
        }
        const Outcome outcome = executeFirst(setup, served.target, client, *result.add_examples());
        if (!outcome.ok()) {
            return failed(std::move(result), pb::STAGE_EXECUTE, outcome);
        }
    }
    // Before the outputs are copied, which no client of a driver has to do.
    result.mutable_memory()->set_peak_rss_bytes(peakRssBytes(served.target));
    result.mutable_memory()->set_base_rss_bytes(before);
    readPlacement(served.clients.front().prepared->report(), result);
    for (size_t i = 0; i < clients.size(); ++i) {
        pb::ExampleResult& example = *result.mutable_examples(static_cast<int>(i));
        HALYARD_RETURN_IF_ERROR(readOutputs(served, served.clients[i], example));
        *served.clients[i].outputs.mutable_outputs() = example.outputs();
    }
    return result;
}

// How often to execute, and in how long.
struct Repetitions {
    uint32_t count = 0;
    uint32_t warmup = 0;
    double leastSeconds = 0;
    double mostSeconds = 0;  // 0: no limit
};

pb::CaseResult execute(const RunSetup& setup, Served& served, const Repetitions& repetitions) {
    pb::CaseResult result = unfinishedResult(setup, served.testCase);
    pb::RunOptions options = setup.options;
    options.set_warmup(repetitions.warmup);
    options.set_repeat(repetitions.count);
    options.set_warmup_s(0);
    options.set_min_s(repetitions.leastSeconds);
    options.set_max_s(repetitions.mostSeconds);
    driver::ExecutionResult last;
    const ServedClient& client = served.clients.front();
    const Outcome outcome = executeRepeatedly(served.target, *client.prepared, *client.request,
                                              options, last, *result.add_examples());
    return outcome.ok() ? result : failed(std::move(result), pb::STAGE_EXECUTE, outcome);
}

// Times of each node, after so many executions that do not count.
pb::CaseResult profileNodes(const RunSetup& setup, Served& served, uint32_t count,
                            uint32_t warmup) {
    pb::CaseResult result = warmup > 0 ? execute(setup, served, {.count = warmup})
                                       : unfinishedResult(setup, served.testCase);
    if (result.failed_stage() != pb::STAGE_NONE) {
        return result;
    }
    result.clear_examples();
    const ServedClient& client = served.clients.front();
    const Outcome outcome =
            profile(served.target, *client.prepared, *client.request, setup.options, count, result);
    return outcome.ok() ? result : failed(std::move(result), pb::STAGE_EXECUTE, outcome);
}

// Executions of so many clients at the same time.
Result<pb::CaseResult> loadClients(const RunSetup& setup, Served& served, const LoadWindow& window,
                                   size_t count) {
    pb::CaseResult result = unfinishedResult(setup, served.testCase);
    std::vector<LoadingClient> clients;
    for (ServedClient& client : std::span(served.clients).first(count)) {
        clients.push_back({.prepared = *client.prepared, .request = *client.request});
    }
    const Outcome outcome =
            outcomeOf(served.target,
                      executeTogether(clients, executeSettings(setup.options), window, result));
    if (!outcome.ok()) {
        return failed(std::move(result), pb::STAGE_EXECUTE, outcome);
    }
    for (size_t i = 0; i < count; ++i) {
        pb::ExampleResult now;
        HALYARD_RETURN_IF_ERROR(readOutputs(served, served.clients[i], now));
        if (now.SerializeAsString() != served.clients[i].outputs.SerializeAsString()) {
            return failed(std::move(result), pb::STAGE_EXECUTE,
                          {.status = driver::ErrorStatus::GENERAL_FAILURE,
                           .message = "client " + std::to_string(i) +
                                      ": the outputs beside other clients are not those of the "
                                      "first execution"});
        }
    }
    return result;
}

std::chrono::steady_clock::time_point timePoint(uint64_t nanoseconds) {
    return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(nanoseconds));
}

Result<pb::CaseResult> obey(const RunSetup& setup, Served& served, const char* line) {
    uint32_t count = 0;
    uint32_t warmup = 0;
    uint64_t from = 0;
    uint64_t until = 0;
    Repetitions asked;
    const int read = sscanf(line, "run %" SCNu32 " %" SCNu32 " %lf %lf", &asked.count,
                            &asked.warmup, &asked.leastSeconds, &asked.mostSeconds);
    if (read == 2 || read == 4) {
        return execute(setup, served, asked);
    }
    if (sscanf(line, "profile %" SCNu32 " %" SCNu32, &count, &warmup) == 2) {
        return profileNodes(setup, served, count, warmup);
    }
    if (sscanf(line, "load %" SCNu64 " %" SCNu64 " %" SCNu32, &from, &until, &count) == 3 &&
        count <= served.clients.size()) {
        const LoadWindow window = {.from = timePoint(from), .until = timePoint(until)};
        return loadClients(setup, served, window, count);
    }
    return invalidArgument(
            "a command is \"run COUNT WARMUP\", the same with least and most seconds behind, "
            "\"profile COUNT WARMUP\" or \"load FROM UNTIL COUNT\" of as many clients as there "
            "are, not " +
            std::string(line));
}

}  // namespace

Status serveCase(const RunSetup& setup, BundleReader& bundle, FILE* commands,
                 ResultWriter& results) {
    // A harness may stop this process between its turns: if it is killed then, this process would
    // live on.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Served served;
    HALYARD_ASSIGN_OR_RETURN(pb::CaseResult result, prepare(setup, bundle, served));
    HALYARD_RETURN_IF_ERROR(results.append(result));
    std::array<char, 96> line;
    while (result.failed_stage() == pb::STAGE_NONE &&
           fgets(line.data(), line.size(), commands) != nullptr) {
        HALYARD_ASSIGN_OR_RETURN(result, obey(setup, served, line.data()));
        HALYARD_RETURN_IF_ERROR(results.append(result));
    }
    return {};
}

}  // namespace halyard::runner
