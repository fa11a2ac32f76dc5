// SPDX-License-Identifier: Apache-2.0
//
// The ways in which VTS executes requests with buffers in them.

#pragma once

#include <span>

#include "driver/model/versions.h"
#include "harness/device/vts/fixture/executor.h"

namespace halyard::vts {

struct DomainExecutor {
    const Executor& executor;
    // From when on it takes buffers.
    driver::HalVersion since;
};

// All, the fenced ones at last. A burst of HIDL has no words for buffers.
std::span<const DomainExecutor> domainExecutors();

}  // namespace halyard::vts
