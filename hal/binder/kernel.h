// SPDX-License-Identifier: Apache-2.0
//
// The kernel's side of binder: what this process asks of one open binder device.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "engine/base/status.h"

namespace halyard::hal {

// Thread-safe. The kernel tells threads apart: replies and nested calls belong to the calling one.
class BinderKernel {
  public:
    // Opens the device, checks the protocol version and maps the receive buffer (1 MiB - 2 pages).
    // UNAVAILABLE if there is no such device.
    static Result<std::shared_ptr<BinderKernel>> open(const std::string& path);

    virtual ~BinderKernel() = default;

    // Hands over all of `commands` (a BC_* stream). With a non-empty `returns`, then waits until
    // the kernel has something for this thread or wakeThreads() was called, and gives the number
    // of bytes of BR_* stream it wrote there. A failure means that the connection is of no more
    // use to this thread.
    virtual Result<size_t> writeRead(std::span<const uint8_t> commands,
                                     std::span<uint8_t> returns) = 0;
    // How many threads the kernel may ask for by BR_SPAWN_LOOPER.
    virtual Status setMaxThreads(uint32_t threads) = 0;
    // Makes the local object `pointer` (its own cookie) the target of everyone's handle 0.
    virtual Status becomeContextManager(uint64_t pointer) = 0;
    // Makes the waiting writeRead() of every thread return; a thread that isn't waiting returns
    // from its next one. Asynchronous.
    virtual void wakeThreads() = 0;
    // The calling thread won't come back.
    virtual void exitThread() = 0;
    // Whether the range lies in the receive buffer, as everything delivered does.
    virtual bool inReceiveBuffer(uint64_t address, uint64_t size) const = 0;
};

}  // namespace halyard::hal
