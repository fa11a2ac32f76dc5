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

ExecutionResult inBurst(IPreparedModel& model, const Request& request,
                        const ExecuteOptions& options) {
    const Result<std::shared_ptr<driver::IBurst>> burst = model.makeBurst();
    if (!burst.ok()) {
        return ended(burst.status());
    }
    std::vector<int64_t> identifiers;
    for (size_t i = 0; i < request.pools.size(); ++i) {
        identifiers.push_back(static_cast<int64_t>(i) + 1);
    }
    ExecutionResult executed = (*burst)->execute(request, identifiers, options);
    for (const int64_t identifier : identifiers) {
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

}  // namespace

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
    return fenced(options.waitFor, [&](const driver::Fences& waitFor) {
        return (*execution)->executeFenced(waitFor, options.deadline, options.durationAfterFences);
    });
}

std::span<const Executor> executors() {
    static constexpr Executor kExecutors[] = {
            {"ASYNC", HalVersion::V1_0, HalVersion::V1_3, HalVersion::V1_3, asynchronously},
            {"SYNC", HalVersion::V1_2, driver::kNewestVersion, HalVersion::V1_3, synchronously},
            {"BURST", HalVersion::V1_2, driver::kNewestVersion, HalVersion::AIDL_V1, inBurst},
            {"REUSABLE", HalVersion::AIDL_V4, driver::kNewestVersion, HalVersion::AIDL_V4,
             reusably},
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
