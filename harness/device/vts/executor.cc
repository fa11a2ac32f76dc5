// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/executor.h"

#include <poll.h>

#include <cerrno>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace halyard::vts {
namespace {

using driver::ExecuteOptions;
using driver::ExecutionResult;
using driver::HalVersion;
using driver::IPreparedModel;
using driver::Request;

ExecutionResult ended(Status status) {
    return {.status = std::move(status), .outputShapes = {}, .timing = {}};
}

ExecutionResult asynchronously(IPreparedModel& model, const Request& request,
                               const ExecuteOptions& options) {
    auto done = std::make_shared<std::promise<ExecutionResult>>();
    std::future<ExecutionResult> result = done->get_future();
    const Status launched = model.executeAsync(
            request, options,
            [done](const ExecutionResult& executed) { done->set_value(executed); });
    ExecutionResult executed = result.get();
    // That there is no time left is for the callback alone.
    if (!launched.ok() && (launched.code() != executed.status.code() ||
                           launched.code() == StatusCode::DEADLINE_EXCEEDED)) {
        return ended(internalError("execute returns " + launched.toString() +
                                   ", and its callback is told " + executed.status.toString()));
    }
    return executed;
}

ExecutionResult synchronously(IPreparedModel& model, const Request& request,
                              const ExecuteOptions& options) {
    return model.execute(request, options);
}

// By which a burst does not know a memory again. A buffer of the device's is known by its token.
constexpr int64_t kNotCached = -1;

ExecutionResult inBurst(IPreparedModel& model, const Request& request,
                        const ExecuteOptions& options) {
    const Result<std::shared_ptr<driver::IBurst>> burst = model.makeBurst();
    if (!burst.ok()) {
        return ended(burst.status());
    }
    std::vector<int64_t> identifiers;
    for (size_t i = 0; i < request.pools.size(); ++i) {
        const bool isShared = std::holds_alternative<driver::SharedMemory>(request.pools[i]);
        identifiers.push_back(isShared ? static_cast<int64_t>(i) : kNotCached);
    }
    ExecutionResult executed = (*burst)->execute(request, identifiers, options);
    for (const int64_t identifier : identifiers) {
        if (identifier == kNotCached) {
            continue;
        }
        if (Status released = (*burst)->releaseMemory(identifier);
            !released.ok() && executed.status.ok()) {
            return ended(std::move(released));
        }
    }
    return executed;
}

ExecutionResult reusably(IPreparedModel& model, const Request& request,
                         const ExecuteOptions& options) {
    const Result<std::shared_ptr<driver::IExecution>> execution =
            model.makeExecution(request, options);
    if (!execution.ok()) {
        return ended(execution.status());
    }
    ExecutionResult first = (*execution)->execute(options.deadline);
    if (!first.status.ok()) {
        return first;
    }
    return (*execution)->execute(options.deadline);
}

// The fence is signalled: readable, and not an error.
Status waitFor(const FileDescriptor& fence) {
    pollfd waiting = {.fd = fence.get(), .events = POLLIN, .revents = 0};
    int ready = 0;
    while ((ready = poll(&waiting, 1, -1)) < 0 && errno == EINTR) {
    }
    return ready == 1 && (waiting.revents & POLLIN) != 0 &&
                           (waiting.revents & (POLLERR | POLLNVAL)) == 0
                   ? Status()
                   : internalError("the fence that executeFenced gave is signalled with an error");
}

using ExecuteFenced = Result<driver::FencedExecution>(const driver::Fences& waitFor);

// What the execution came to; where it gave a fence, the second one, which waited for that.
ExecutionResult fenced(const driver::Fences& waitForThese,
                       const std::function<ExecuteFenced>& execute) {
    Result<driver::FencedExecution> execution = execute(waitForThese);
    if (execution.ok() && execution->done != nullptr) {
        execution = execute({execution->done});
    }
    if (!execution.ok()) {
        return ended(execution.status());
    }
    if (execution->done != nullptr) {
        if (Status waited = waitFor(*execution->done); !waited.ok()) {
            return ended(std::move(waited));
        }
    }
    const driver::FencedExecution::Info info = execution->info();
    return {.status = info.status,
            .outputShapes = {},
            .timing = info.launched,
            .timingFenced = info.fenced};
}

ExecutionResult executeFenced(IPreparedModel& model, const Request& request,
                              const ExecuteOptions& options) {
    return fenced(options.waitFor, [&](const driver::Fences& waitFor) {
        ExecuteOptions chained = options;
        chained.waitFor = waitFor;
        return model.executeFenced(request, chained);
    });
}

ExecutionResult executeFencedReusably(IPreparedModel& model, const Request& request,
                                      const ExecuteOptions& options) {
    const Result<std::shared_ptr<driver::IExecution>> execution =
            model.makeExecution(request, options);
    if (!execution.ok()) {
        return ended(execution.status());
    }
    return fenced(
            options.waitFor, [&](const driver::Fences& fences) -> Result<driver::FencedExecution> {
                // There may be one at a time of it, so what it waits for has to be over.
                for (const auto& fence : fences) {
                    HALYARD_RETURN_IF_ERROR(waitFor(*fence));
                }
                return (*execution)
                        ->executeFenced(fences, options.deadline, options.durationAfterFences);
            });
}

}  // namespace

std::span<const Executor> executors() {
    using enum HalVersion;
    constexpr HalVersion kNewest = driver::kNewestVersion;
    static constexpr Executor kExecutors[] = {
            {"ASYNC", V1_0, V1_3, V1_3, Methods::PLAIN, false, asynchronously},
            {"SYNC", V1_2, kNewest, V1_3, Methods::PLAIN, false, synchronously},
            {"BURST", V1_2, kNewest, AIDL_V1, Methods::PLAIN, false, inBurst},
            {"SYNC_CONFIG", AIDL_V4, kNewest, AIDL_V4, Methods::WITH_CONFIG, false, synchronously},
            {"BURST_CONFIG", AIDL_V4, kNewest, AIDL_V4, Methods::WITH_CONFIG, false, inBurst},
            {"REUSABLE", AIDL_V4, kNewest, AIDL_V4, Methods::WITH_CONFIG, false, reusably},
    };
    return kExecutors;
}

std::span<const Executor> fencedExecutors() {
    using enum HalVersion;
    constexpr HalVersion kNewest = driver::kNewestVersion;
    static constexpr Executor kExecutors[] = {
            {"FENCED", V1_3, kNewest, V1_3, Methods::PLAIN, true, executeFenced},
            {"FENCED_CONFIG", AIDL_V4, kNewest, AIDL_V4, Methods::WITH_CONFIG, true, executeFenced},
            {"FENCED_REUSABLE", AIDL_V4, kNewest, AIDL_V4, Methods::WITH_CONFIG, true,
             executeFencedReusably},
    };
    return kExecutors;
}

Verdict checkTiming(const driver::Timing& timing, bool measured) {
    if (!measured && (timing.timeOnDevice.has_value() || timing.timeInDriver.has_value())) {
        return failed("timing is told where it was not asked for");
    }
    if (timing.timeOnDevice.has_value() && timing.timeInDriver.has_value() &&
        *timing.timeOnDevice > *timing.timeInDriver) {
        return failed("the time on the device, " + std::to_string(timing.timeOnDevice->count()) +
                      " ns, is longer than that in the driver, " +
                      std::to_string(timing.timeInDriver->count()) + " ns");
    }
    return passed();
}

}  // namespace halyard::vts
