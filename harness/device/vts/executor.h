// SPDX-License-Identifier: Apache-2.0
//
// The ways to execute a request, and what VTS asks of what each reports.

#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "driver/device_interface.h"
#include "harness/device/vts/check.h"

namespace halyard::vts {

struct Executor {
    std::string_view name;  // as VTS has it: "BURST"
    std::string_view nameWithTiming;
    driver::HalVersion since;
    driver::HalVersion until;
    driver::ExecutionResult (*execute)(driver::IPreparedModel& model,
                                       const driver::Request& request,
                                       const driver::ExecuteOptions& options);
};

// All but the fenced one.
std::span<const Executor> executors();

// With timing not asked for none may be told; asked for, what is told must make sense.
Verdict checkTiming(const driver::Timing& timing, bool measured);

}  // namespace halyard::vts
