// SPDX-License-Identifier: Apache-2.0
//
// What goes through the queues of a burst: a request, or a result, as one packet of data.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driver/execute/prepared_model.h"
#include "driver/model/request.h"
#include "engine/base/status.h"
#include "hal/hidl/types.h"

namespace halyard::hal::hidl {

struct BurstRequest {
    driver::Request request;     // without pools
    std::vector<int32_t> slots;  // one for each of its pools
    bool measureTiming = false;
};

// From private memory. INVALID_ARGUMENT names the first datum that is not what it has to be.
Result<BurstRequest> readBurstRequest(std::span<const std::byte> packet);
std::vector<std::byte> writeBurstRequest(const BurstRequest& request);

// The other way. What is padding is zero. Errors that 1.2 does not know are its general one.
std::vector<std::byte> writeBurstResult(const driver::ExecutionResult& result);
// INVALID_ARGUMENT: the packet; otherwise the status is that of the execution.
Result<driver::ExecutionResult> readBurstResult(std::span<const std::byte> packet);

}  // namespace halyard::hal::hidl
