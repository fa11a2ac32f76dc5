// SPDX-License-Identifier: Apache-2.0
//
// Clients that execute at the same time, each as often as it can.

#pragma once

#include <chrono>
#include <span>

#include "harness/device/cases/messages.h"
#include "harness/device/runner/executions.h"

namespace halyard::runner {

struct LoadingClient {
    driver::IPreparedModel& prepared;
    const driver::Request& request;
};

// When they do so, and from when on they are told of.
struct LoadWindow {
    std::chrono::steady_clock::time_point from;
    std::chrono::steady_clock::time_point until;
};

// Every client begins at once, on a thread of its own, and begins no execution after the window.
// Adds an example per client to `result`, with the times of the executions that lie in it, whole or
// in part. The failure is that of the first client, in their order, of which one failed.
Status executeTogether(std::span<const LoadingClient> clients, const ExecuteSettings& settings,
                       const LoadWindow& window, pb::CaseResult& result);

}  // namespace halyard::runner
