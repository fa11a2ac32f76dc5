// SPDX-License-Identifier: Apache-2.0
//
// BurstChannel: the queues of a burst, by the contract of 1.2, and what its service asks of the
// client. Packets go through it as they are: burst.h makes them for requests, and who puts a
// service to the test may send what no request is.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "driver/device/device_interface.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"
#include "hal/client/pending.h"
#include "hal/hidl/client/remote_interface.h"

namespace halyard::hal::hidl {

// Not thread-safe, but for what the service asks.
class BurstChannel {
  public:
    // Of the queues, in data; as NNAPI's own runtime has them.
    struct Lengths {
        size_t requests = 1024;
        size_t results = 1024;
    };

    virtual ~BurstChannel() = default;
    // Sets the memory that the service gets when it asks for that slot.
    virtual void put(int32_t slot, driver::SharedMemory memory) = 0;
    // Forgets the slot, and has the service do so.
    virtual Status free(int32_t slot) = 0;
    // INTERNAL where it does not fit into the queue.
    virtual Status send(std::span<const std::byte> packet) = 0;
    // Waits for what the service answers next. DEADLINE_EXCEEDED: it has not by then; UNAVAILABLE:
    // it died.
    virtual Result<std::vector<std::byte>> receive(const Deadline& deadline) = 0;
};

// Of a prepared model. The queues lie in memory of this process.
Result<std::unique_ptr<BurstChannel>> openBurstChannel(const RemoteInterface& model,
                                                       std::shared_ptr<Liveness> service,
                                                       const BurstChannel::Lengths& lengths);

}  // namespace halyard::hal::hidl
