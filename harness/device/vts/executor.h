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

using Execute = driver::ExecutionResult (*)(driver::IPreparedModel& model,
                                            const driver::Request& request,
                                            const driver::ExecuteOptions& options);

struct Executor {
    std::string_view name;  // as VTS has it: "BURST"
    driver::HalVersion since;
    driver::HalVersion until;
    // From when on it is told of deadlines and of the time that loops may take.
    driver::HalVersion limitedSince;
    Execute execute;
};

// All but the fenced one.
std::span<const Executor> executors();

// Executes fenced, and again once the first execution's fence has been signalled, if it gives one.
// What the last one gives; as it is about fences, no shapes.
driver::ExecutionResult executeFenced(driver::IPreparedModel& model, const driver::Request& request,
                                      const driver::ExecuteOptions& options);

// The same with an execution that is made once, from AIDL 4 on.
driver::ExecutionResult executeFencedReusably(driver::IPreparedModel& model,
                                              const driver::Request& request,
                                              const driver::ExecuteOptions& options);

// With timing not asked for none may be told; asked for, what is told must make sense.
Verdict checkTiming(const driver::Timing& timing, bool measured);

}  // namespace halyard::vts
