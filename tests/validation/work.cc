// SPDX-License-Identifier: Apache-2.0

#include "tests/validation/work.h"

#include <getopt.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "harness/device/cases/message_file.h"

namespace halyard::validation {
namespace {

using runner::pb::TestCase;

// A driver that dies of every case need not die of all.
constexpr size_t kMaxCrashes = 20;

Result<Cases> readBundle(const std::string& path) {
    HALYARD_ASSIGN_OR_RETURN(runner::BundleReader reader, runner::BundleReader::open(path));
    Cases cases;
    for (;;) {
        HALYARD_ASSIGN_OR_RETURN(std::optional<TestCase> next, reader.next());
        if (!next.has_value()) {
            return cases;
        }
        cases.push_back(std::move(*next));
    }
}

[[noreturn]] void work(const Cases& cases, uint64_t seed, size_t worker, Ledger& ledger,
                       const MakeWork& makeWork) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // none outlives a parent that is given up
    ledger.note(worker, "the start");
    const CaseWork caseWork = makeWork(cases, seed);
    for (size_t i = ledger.takeNext(); i < cases.size(); i = ledger.takeNext()) {
        ledger.note(worker, cases[i].name());
        caseWork(i, worker, ledger);
    }
    _exit(0);  // nothing of the parent's is to be torn down
}

std::string describeEnd(int status) {
    if (WIFSIGNALED(status)) {
        return std::string("killed by ") + strsignal(WTERMSIG(status));
    }
    return "exited with " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Result<WorkOptions> parseWorkOptions(int argc, char** argv) {
    const option known[] = {{"bundle", required_argument, nullptr, 'b'},
                            {"workers", required_argument, nullptr, 'w'},
                            {"seed", required_argument, nullptr, 's'},
                            {nullptr, 0, nullptr, 0}};
    WorkOptions options;
    int code = 0;
    while ((code = getopt_long(argc, argv, "", known, nullptr)) != -1) {
        switch (code) {
            case 'b':
                options.bundle = optarg;
                break;
            case 'w':
                options.workers = std::strtoul(optarg, nullptr, 10);
                break;
            case 's':
                options.seed = std::strtoull(optarg, nullptr, 10);
                break;
            default:
                return invalidArgument("there is no such option");
        }
    }
    if (options.bundle.empty() || options.workers == 0) {
        return invalidArgument("--bundle FILE is missing, or there are no workers");
    }
    return options;
}

Status workThrough(const WorkOptions& options, std::span<const std::string_view> rows,
                   const MakeWork& makeWork) {
    HALYARD_ASSIGN_OR_RETURN(const Cases cases, readBundle(options.bundle));
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Ledger> ledger,
                             Ledger::create(rows, options.workers));
    std::map<pid_t, size_t> running;
    const auto start = [&](size_t worker) -> Status {
        const pid_t child = fork();
        if (child < 0) {
            return internalError(std::string("fork: ") + std::strerror(errno));
        }
        if (child == 0) {
            work(cases, options.seed, worker, *ledger, makeWork);
        }
        running[child] = worker;
        return {};
    };
    for (size_t worker = 0; worker < options.workers; ++worker) {
        HALYARD_RETURN_IF_ERROR(start(worker));
    }
    while (!running.empty()) {
        int status = 0;
        const pid_t child = waitpid(-1, &status, 0);
        if (child < 0 && errno == EINTR) {
            continue;
        }
        const auto found = running.find(child);
        if (found == running.end()) {
            return internalError("a worker was lost");
        }
        const size_t worker = found->second;
        running.erase(found);
        if (status == 0) {
            continue;
        }
        ledger->reportCrash(worker, describeEnd(status));
        if (ledger->crashes() < kMaxCrashes) {
            HALYARD_RETURN_IF_ERROR(start(worker));
        }
    }
    std::printf("%s\n", ledger->toJson().c_str());
    return {};
}

}  // namespace halyard::validation
