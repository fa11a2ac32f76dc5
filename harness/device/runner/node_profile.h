// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "harness/device/cases/messages.h"
#include "harness/device/runner/target.h"

namespace halyard::runner {

// Adds what each node took in so many executions, which a service does not tell.
Outcome profile(const Target& target, driver::IPreparedModel& prepared,
                const driver::Request& request, const pb::RunOptions& options, uint32_t runs,
                pb::CaseResult& result);
}  // namespace halyard::runner
