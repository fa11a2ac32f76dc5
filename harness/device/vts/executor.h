// SPDX-License-Identifier: Apache-2.0
//
// The ways to execute a request, and what VTS asks of what each reports.

#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "driver/device/device_interface.h"
#include "harness/device/vts/check.h"
#include "harness/device/vts/methods.h"

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
    // By which its model has to be prepared.
    Methods methods;
    bool isFenced;
    Execute execute;

    bool isOf(driver::HalVersion version) const { return since <= version && version <= until; }
};

// All but the fenced ones.
std::span<const Executor> executors();

// "FENCED", and from AIDL 4 on "FENCED_CONFIG" and "FENCED_REUSABLE". Each executes, and again
// behind the first execution's fence, if that gives one. What the last one gives; as it is about
// fences, no shapes.
std::span<const Executor> fencedExecutors();

// With timing not asked for none may be told; asked for, what is told must make sense.
Verdict checkTiming(const driver::Timing& timing, bool measured);

}  // namespace halyard::vts
