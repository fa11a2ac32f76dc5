// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/memory_domain/execution.h"

#include <algorithm>

#include "harness/device/vts/executor.h"

namespace halyard::vts {
namespace {

using driver::ExecutionResult;
using driver::IPreparedModel;
using driver::Request;

ExecutionResult execute(std::string_view way, IPreparedModel& model, const Request& request) {
    const auto found = std::ranges::find(executors(), way, &Executor::name);
    return found == executors().end()
                   ? ExecutionResult{.status = internalError("there is no such executor"),
                                     .outputShapes = {},
                                     .timing = {}}
                   : found->execute(model, request, {});
}

ExecutionResult asynchronously(IPreparedModel& model, const Request& request) {
    return execute("ASYNC", model, request);
}

ExecutionResult synchronously(IPreparedModel& model, const Request& request) {
    return execute("SYNC", model, request);
}

ExecutionResult behindAFence(IPreparedModel& model, const Request& request) {
    return executeFenced(model, request, {});
}

}  // namespace

std::span<const DomainExecutor> domainExecutors() {
    static constexpr DomainExecutor kExecutors[] = {
            {"ASYNC", driver::HalVersion::V1_3, false, asynchronously},
            {"SYNC", driver::kNewestVersion, false, synchronously},
            {"FENCED", driver::kNewestVersion, true, behindAFence},
    };
    return kExecutors;
}

}  // namespace halyard::vts
