// SPDX-License-Identifier: Apache-2.0
//
// Packets of a burst's queues: a request, or a result, as one packet of data.

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

// So many bytes of memory is what a request of a byte of packet becomes at most: an argument takes
// a datum of 24 bytes, as does each of its dimensions and each pool.
inline constexpr size_t kRequestBytesPerPacketByte = 4;

// How many arguments a packet says that its request has.
struct BurstCounts {
    uint32_t inputs = 0;
    uint32_t outputs = 0;
};

// As readBurstRequest(), of the first datum alone.
Result<BurstCounts> readBurstCounts(std::span<const std::byte> packet);
// From private memory. INVALID_ARGUMENT names the first datum that is not what it has to be.
Result<BurstRequest> readBurstRequest(std::span<const std::byte> packet);
std::vector<std::byte> writeBurstRequest(const BurstRequest& request);

// The other way. What is padding is zero. Errors that 1.2 does not know are its general one.
std::vector<std::byte> writeBurstResult(const driver::ExecutionResult& result);
// INVALID_ARGUMENT: the packet; otherwise the status is that of the execution.
Result<driver::ExecutionResult> readBurstResult(std::span<const std::byte> packet);

}  // namespace halyard::hal::hidl
