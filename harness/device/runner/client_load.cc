// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/client_load.h"

#include <cstdint>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace halyard::runner {

namespace {

using Clock = std::chrono::steady_clock;

uint64_t nanoseconds(Clock::duration time) {
    return static_cast<uint64_t>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

// The results that one client's thread writes while the others run: no message, which would
// allocate each time.
struct Loaded {
    struct Run {
        Clock::time_point begin;
        Clock::time_point end;
    };
    Status status;
    std::vector<Run> runs;
};

void load(const LoadingClient& client, const ExecuteSettings& settings, const LoadWindow& window,
          Loaded& loaded) {
    Result<Executions> executions = Executions::create(client.prepared, client.request, settings);
    if (!executions.ok()) {
        loaded.status = executions.status();
        return;
    }
    Clock::time_point begin = Clock::now();
    while (begin < window.until) {
        driver::ExecutionResult executed = executions->run();
        const Clock::time_point end = Clock::now();
        if (!executed.status.ok()) {
            loaded.status = std::move(executed.status);
            return;
        }
        if (end > window.from) {
            loaded.runs.push_back({.begin = begin, .end = end});
        }
        begin = Clock::now();
    }
}

}  // namespace

Status executeTogether(std::span<const LoadingClient> clients, const ExecuteSettings& settings,
                       const LoadWindow& window, pb::CaseResult& result) {
    std::vector<Loaded> loaded(clients.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < clients.size(); ++i) {
        loaded[i].runs.reserve(1024);
        threads.emplace_back(load, std::cref(clients[i]), std::cref(settings), std::cref(window),
                             std::ref(loaded[i]));
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (Loaded& client : loaded) {
        HALYARD_RETURN_IF_ERROR(client.status);
        pb::ExampleResult& example = *result.add_examples();
        for (const Loaded::Run& run : client.runs) {
            pb::Timing& timing = *example.add_timings();
            timing.set_wall_ns(nanoseconds(run.end - run.begin));
            timing.set_begin_ns(nanoseconds(run.begin.time_since_epoch()));
        }
    }
    return {};
}

}  // namespace halyard::runner
