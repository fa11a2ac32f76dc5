// SPDX-License-Identifier: Apache-2.0
//
// The ways in which VTS executes requests with buffers in them.

#pragma once

#include <span>
#include <string_view>

#include "driver/device_interface.h"

namespace halyard::vts {

struct DomainExecutor {
    std::string_view name;
    driver::HalVersion until;
    bool isFenced;
    // How it ended, once it has. A fenced one reports no shapes, and no times here.
    driver::ExecutionResult (*execute)(driver::IPreparedModel& model,
                                       const driver::Request& request);
};

// "ASYNC", "SYNC", "FENCED".
std::span<const DomainExecutor> domainExecutors();

}  // namespace halyard::vts
