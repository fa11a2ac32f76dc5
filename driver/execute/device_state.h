// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "driver/clients/account.h"
#include "driver/clients/call_gate.h"
#include "driver/clients/charged_work.h"
#include "driver/clients/client.h"
#include "driver/clients/fence_watch.h"
#include "driver/clients/scheduler.h"
#include "driver/clients/time_limit.h"
#include "driver/execute/idle_executions.h"
#include "driver/execute/managed_buffer.h"
#include "driver/options/options.h"
#include "driver/options/placement_policy.h"
#include "driver/trace/trace_marker.h"
#include "engine/base/budget.h"
#include "engine/base/checkpoint.h"
#include "engine/base/heap.h"
#include "engine/base/thread_pool.h"
#include "engine/plan/backend.h"
#include "engine/plan/program.h"

namespace halyard::driver {

class CacheKey;  // prepare/cache_key.h

// DeviceState: shared by a device and the models it has prepared; lives as long as the last of
// them. Immutable but for the counters and the thread-safe members.
struct DeviceState {
    DeviceState(Options deviceOptions,
                std::vector<std::unique_ptr<const engine::Backend>> deviceBackends,
                PlacementPolicy devicePlacement = {},
                std::unique_ptr<const TraceMarker> traceMarker = nullptr,
                std::shared_ptr<const CacheKey> deviceKey = nullptr);

    const Options options;
    const std::vector<std::unique_ptr<const engine::Backend>> backends;
    const engine::BackendList backendList;  // the same, in the same order
    const PlacementPolicy placement;
    const std::unique_ptr<const TraceMarker> marker;  // null: not asked for
    const std::shared_ptr<const CacheKey> cacheKey;   // null: there is none
    const std::shared_ptr<ThreadPool> threads;
    const std::shared_ptr<IdleExecutions> idle;
    // For executing and preparing.
    ProcessorUse processors;
    // For all clients together. Where memory runs short, `idle` makes room.
    const Account account;
    std::atomic<uint64_t> requests = 0;    // executed so far; numbers the dumps
    std::atomic<uint32_t> graphDumps = 0;  // numbers that dumped models have taken
    std::atomic<uint32_t> traces = 0;      // and traced executions
    std::atomic<size_t> liveModels = 0;
    std::atomic<uint64_t> models = 0;  // prepared so far; numbers them
    const std::shared_ptr<BufferTable> buffers = std::make_shared<BufferTable>();
    HeapTrimmer heap;
    CallGate calls;
    // Their tasks use what stands above. Two of them, so that models that take long to prepare keep
    // no request waiting.
    Scheduler preparing;
    Scheduler executing;
    // Its callbacks post tasks.
    FenceWatch fences;
    Clients clients;

    // Of work that begins now.
    TimeLimit timeLimit(const Deadline& given) const {
        return {given, std::chrono::seconds(options.maxRunningSeconds)};
    }
};

}  // namespace halyard::driver
