// SPDX-License-Identifier: Apache-2.0
//
// PreparedModelState: the parts of a prepared model, and serving its requests: prepared_model.cc
// has the model, launching.cc asynchronous requests, serving.cc all that happens on a thread that
// has a slot.

#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "driver/clients/client.h"
#include "driver/execute/device_state.h"
#include "driver/execute/execution_result.h"
#include "driver/execute/request_binding.h"
#include "driver/model/call_options.h"
#include "driver/model/memory.h"
#include "driver/model/pools.h"
#include "driver/model/request.h"
#include "driver/model/validate_request.h"
#include "engine/plan/program.h"

namespace halyard::driver {

// Whether a request that has come can't be in time, however soon it begins.
bool isTooLate(const ExecuteOptions& options);

// The deadline, or so long from now on where that is earlier.
Deadline earlier(const Deadline& deadline, const Duration& duration);

struct PreparedModelState {
    // When a request was received, and when the last fence that it waited for had happened.
    struct Start {
        std::chrono::steady_clock::time_point received;
        std::chrono::steady_clock::time_point ready;

        explicit Start(std::chrono::steady_clock::time_point at) : received(at), ready(at) {}
    };

    std::shared_ptr<DeviceState> device;  // outlives the program, whose backends it holds
    std::shared_ptr<Client> client;
    Client::Holdings holdings;
    ModelBoundary boundary;
    // Of the model's pools, in their order. The program keeps those that it reads constants in; the
    // others have ended, and given back what they took of the client's account.
    std::vector<std::weak_ptr<const Mapping>> pools;
    std::shared_ptr<const engine::Program> program;
    Priority priority = Priority::MEDIUM;
    uint64_t modelNumber = 0;
    // The most that an execution took so far.
    std::atomic<size_t> arenaBytes = 0;
    std::atomic<size_t> deviceArenaBytes = 0;
    std::atomic<size_t> deviceTableBytes = 0;

    void noteMemory(const engine::ExecutionReport& report) {
        const auto raise = [](std::atomic<size_t>& most, size_t bytes) {
            size_t largest = most.load();
            while (bytes > largest && !most.compare_exchange_weak(largest, bytes)) {
            }
        };
        raise(arenaBytes, report.arenaBytes);
        raise(deviceArenaBytes, report.deviceArenaBytes);
        raise(deviceTableBytes, report.deviceTableBytes);
    }

    void giveBack(std::unique_ptr<ReusedExecution> reused) const;

    // Takes a request that has to wait, if it is valid: its pools are in use from now on. What it
    // resolves to is not kept: who waits for a slot must not hold the memory of an idle execution
    // meanwhile.
    Status admit(const Request& request, HalVersion version, RequestPools& requestPools);

    Status use(const Request& request, RequestPools& requestPools) const;

    Status await(Fences waitFor, const Deadline& deadline, FenceWatch::Share::Then then) const;

    // Resolves the request and runs it, on a thread that has a slot. `admitted`: its pools, if it
    // had to wait.
    void serve(const Request& request, HalVersion version, const ExecuteOptions& options,
               std::chrono::steady_clock::time_point start, const RequestPools* admitted,
               ExecutionResult& result);

    // Waits for a slot and serves the request. A failure is why it never got one; `result` is then
    // as it was.
    Status serveInSlot(const Request& request, HalVersion version, const ExecuteOptions& options,
                       std::chrono::steady_clock::time_point start, ExecutionResult& result);

    // As serve(), for a request that is resolved and whose pools are in use already.
    void serveResolved(const Request& request, const RequestShapes& shapes,
                       const RequestPools& requestPools, const ExecuteOptions& options,
                       const Start& start, ExecutionResult& result);

    void finish(std::unique_ptr<ReusedExecution> reused, ExecutionResult& result);

    // Sets the status and, where it has them, shapes and times.
    void run(const Request& request, const RequestShapes& shapes, const RequestPools& requestPools,
             const ExecuteOptions& options, const Start& start, ReusedExecution& reused,
             ExecutionResult& result);

    Status execute(ReusedExecution& reused, const engine::RunOptions& options) const;

    // Of the model's, those that are read.
    Status checkPoolsIntact() const;
    // And the request's.
    Status checkPoolsIntact(const RequestPools& requestPools) const;

    template <typename Binding>
    void dump(uint64_t number, std::string_view role, std::span<const Binding> bindings) const;
};

}  // namespace halyard::driver
