// SPDX-License-Identifier: Apache-2.0

#include "driver/execute/device_state.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <set>
#include <utility>

#include "engine/base/checked_math.h"
#include "engine/base/long_work.h"
#include "engine/compile/backends.h"

namespace halyard::driver {
namespace {

// Requests that run at the same time; each splits its work over the thread pool.
constexpr size_t kExecutingSlots = 4;
constexpr size_t kPreparingSlots = 2;

// Beyond the shared slots, clients that have nothing running get slots of their own. Half of all
// are for users of whom nothing runs, so that as many users get theirs whatever the others do.
constexpr Scheduler::Limits slots(size_t shared) {
    constexpr size_t kMost = 2 * kUsersWithMinimum;
    return {.shared = shared, .group = 8, .newClients = kMost / 2, .newGroups = kMost};
}

// In bytes, of all that the backends' tensors may live in.
size_t deviceMemoryOf(const engine::BackendList& backends) {
    std::set<const engine::DeviceMemory*> memories;
    size_t bytes = 0;
    for (const engine::Backend* backend : backends) {
        const engine::DeviceMemory* memory = backend->memory();
        if (memory != nullptr && memories.insert(memory).second) {
            bytes = checkedAdd(bytes, memory->capacity())
                            .value_or(std::numeric_limits<size_t>::max() / 8);
        }
    }
    return std::min(bytes, std::numeric_limits<size_t>::max() / 8);
}

}  // namespace

DeviceState::DeviceState(Options deviceOptions,
                         std::vector<std::unique_ptr<const engine::Backend>> deviceBackends,
                         PlacementPolicy devicePlacement,
                         std::unique_ptr<const TraceMarker> traceMarker,
                         std::shared_ptr<const CacheKey> deviceKey)
    : options(std::move(deviceOptions)),
      backends(std::move(deviceBackends)),
      backendList(engine::listOf(backends)),
      placement(std::move(devicePlacement)),
      marker(std::move(traceMarker)),
      cacheKey(std::move(deviceKey)),
      threads(std::make_shared<ThreadPool>(options.threads, LateWorkers(), CoreCapacities::read())),
      idle(std::make_shared<IdleExecutions>()),
      processors{.longWorkGivesWay = options.longWorkGivesWay && threadsMayGiveWay()},
      account(accountOfDevice(accountLimits(options, deviceMemoryOf(backendList)),
                              [kept = idle] { kept->dropAll(); })),
      calls(options.calls),
      preparing(slots(kPreparingSlots)),
      executing(slots(kExecutingSlots)),
      clients(account, accountLimits(options, deviceMemoryOf(backendList)), idle,
              {.preparing = preparing, .executing = executing, .fences = fences, .calls = calls}) {}

}  // namespace halyard::driver
