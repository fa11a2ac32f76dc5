// SPDX-License-Identifier: Apache-2.0

#include "library/runtime.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <utility>

#include "engine/base/worker_set.h"
#include "engine/compile/backend_choice.h"
#include "library/answer.h"

namespace halyard::library {
namespace {

constexpr uint32_t kMostThreads = 1024;
constexpr uint32_t kPermissions = HALYARD_PERMIT_TILES | HALYARD_PERMIT_PROCESSES;

class HostExecutor : public LoopExecutor {
  public:
    explicit HostExecutor(const halyard_executor& host) : mHost(host) {}
    size_t threads() const override { return mHost.threads; }
    void execute(Task task, void* data, size_t tasks) override {
        mHost.execute(mHost.context, task, data, tasks);
    }

  private:
    const halyard_executor mHost;
};

void writeLine(void* context, LogLevel level, std::string_view line) {
    const auto& runtime = *static_cast<const Runtime*>(context);
    runtime.log(runtime.logContext, static_cast<int32_t>(level), std::string(line).c_str());
}

Result<std::vector<engine::BackendChoice>> choicesOf(const char* text) {
    std::string_view rest = text == nullptr ? "CpuAcc" : text;
    std::vector<engine::BackendChoice> choices;
    while (!rest.empty()) {
        const std::string_view name = rest.substr(0, rest.find(','));
        HALYARD_ASSIGN_OR_RETURN(engine::BackendChoice choice, engine::parseBackendChoice(name));
        choices.push_back(std::move(choice));
        if (name.size() + 1 == rest.size()) {
            return invalidArgument("backends: there is no name behind the last ','");
        }
        rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    }
    return choices;
}

Result<std::shared_ptr<ThreadPool>> threadsOf(const halyard_runtime_options& options) {
    const halyard_executor* const host = options.executor;
    if (host == nullptr) {
        if (options.threads > kMostThreads && options.threads != HALYARD_ALL_CORES) {
            return invalidArgument("threads is " + std::to_string(options.threads) +
                                   "; there may be " + std::to_string(kMostThreads));
        }
        return std::make_shared<ThreadPool>(
                options.threads == HALYARD_ALL_CORES ? 0 : std::max(options.threads, 1U),
                std::nullopt, CoreCapacities::read());
    }
    if (options.threads != 0) {
        return invalidArgument("threads is " + std::to_string(options.threads) +
                               ", and there is an executor");
    }
    if (host->execute == nullptr) {
        return invalidArgument("the executor has no function");
    }
    if (host->threads == 0 || host->threads > WorkerSet::kMost) {
        return invalidArgument("the executor has " + std::to_string(host->threads) +
                               " threads; it may have 1 to " + std::to_string(WorkerSet::kMost));
    }
    return std::make_shared<ThreadPool>(std::make_unique<HostExecutor>(*host));
}

Result<std::shared_ptr<const Runtime>> makeRuntime(const halyard_runtime_options* from) {
    HALYARD_ASSIGN_OR_RETURN(const halyard_runtime_options options,
                             readOptions(from, "the runtime's options"));
    if ((options.permissions & ~kPermissions) != 0) {
        return unsupported("permissions has bits that this version of the library does not know");
    }
    if (options.log_level < HALYARD_LOG_VERBOSE || options.log_level > HALYARD_LOG_SILENT) {
        return invalidArgument("log_level is " + std::to_string(options.log_level));
    }
    HALYARD_ASSIGN_OR_RETURN(const std::vector<engine::BackendChoice> choices,
                             choicesOf(options.backends));
    auto runtime = std::make_shared<Runtime>();
    runtime->log = options.log;
    runtime->logContext = options.log_context;
    runtime->lines = {.write = options.log == nullptr ? nullptr : &writeLine,
                      .context = runtime.get(),
                      .threshold = static_cast<LogLevel>(options.log_level)};
    const LogScope scope(&runtime->lines);
    HALYARD_ASSIGN_OR_RETURN(runtime->threads, threadsOf(options));
    if (options.memory_limit != 0) {
        runtime->memory = std::make_shared<Budget>(static_cast<size_t>(
                std::min<uint64_t>(options.memory_limit, std::numeric_limits<size_t>::max())));
    }
    HALYARD_ASSIGN_OR_RETURN(
            runtime->backends,
            engine::openBackends(
                    choices, options.backend_directory == nullptr ? "" : options.backend_directory,
                    {.asksForTiles = (options.permissions & HALYARD_PERMIT_TILES) != 0,
                     .startsProcesses = (options.permissions & HALYARD_PERMIT_PROCESSES) != 0}));
    runtime->list = engine::listOf(runtime->backends);
    for (const engine::Backend* const backend : runtime->list) {
        runtime->names.emplace_back(backend->name());
        runtime->withheld.emplace(backend->name(), backend->withheld());
    }
    return std::shared_ptr<const Runtime>(std::move(runtime));
}

}  // namespace

Deadline deadlineIn(uint64_t nanoseconds) {
    if (nanoseconds == 0) {
        return std::nullopt;
    }
    return std::chrono::steady_clock::now() +
           std::chrono::nanoseconds(std::min(nanoseconds, kLongestWait));
}

}  // namespace halyard::library

using namespace halyard;  // NOLINT(google-build-using-namespace)

extern "C" const char* halyard_known_backend(size_t index) {
    // Of literals, which end with a zero.
    const std::vector<std::string_view> known = engine::knownBackends();
    return index < known.size() ? known[index].data() : nullptr;
}

extern "C" halyard_status halyard_runtime_create(const halyard_runtime_options* options,
                                                 halyard_runtime** runtime,
                                                 halyard_message* message) {
    const auto create = [&]() -> Status {
        HALYARD_RETURN_IF_ERROR(library::present(runtime, "runtime"));
        HALYARD_ASSIGN_OR_RETURN(auto shared, library::makeRuntime(options));
        *runtime = new halyard_runtime{.shared = std::move(shared)};
        return {};
    };
    return library::answer(create(), message);
}

extern "C" void halyard_runtime_release(halyard_runtime* runtime) {
    if (runtime != nullptr) {
        const LogScope scope(&runtime->shared->lines);
        delete runtime;
    }
}

extern "C" const char* halyard_runtime_backend(const halyard_runtime* runtime, size_t index) {
    return runtime != nullptr && index < runtime->shared->names.size()
                   ? runtime->shared->names[index].c_str()
                   : nullptr;
}
