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
#include "hal/binder/object.h"

namespace halyard::hal {

// Thread-safe. The kernel tells threads apart: replies and nested calls belong to the calling one.
class BinderKernel {
  public:
    // Opens the device, checks the protocol version and maps the receive buffer (1 MiB - 2 pages).
    // UNAVAILABLE if there is no such device. Defined in binder_device.cc.
    static Result<std::shared_ptr<BinderKernel>> open(const std::string& path);

    virtual ~BinderKernel() = default;

    // The outcome of an exchange.
    struct Exchange {
        Status status;
        // Bytes of the commands that the kernel took, which are whole ones. Fewer than all where it
        // failed, and where the kernel has to tell first of a command that did.
        size_t taken = 0;
        size_t received = 0;  // bytes of returns
    };
    // Hands over `commands` (a BC_* stream). With a non-empty `returns`, then waits until the
    // kernel has something for this thread or wakeThreads() was called, and puts a BR_* stream
    // there.
    virtual Exchange writeRead(std::span<const uint8_t> commands, std::span<uint8_t> returns) = 0;
    // Hands over commands that nothing is returned to. What the kernel does not take is offered
    // again; a failure where it is not taken then either.
    Status write(std::span<const uint8_t> commands);
    // Gives back a received buffer without closing the descriptors of its arrays, which are the
    // caller's from then on. UNSUPPORTED: the kernel closes them in any case.
    virtual Status freeBufferOnly(uint64_t address) = 0;
    // How many threads the kernel may ask for by BR_SPAWN_LOOPER.
    virtual Status setMaxThreads(uint32_t threads) = 0;
    // Makes the local object `pointer` (its own cookie) the target of everyone's handle 0.
    virtual Status becomeContextManager(uint64_t pointer, const ObjectFlags& flags) = 0;
    // Makes the waiting writeRead() of every thread return; a thread that isn't waiting returns
    // from its next one. Asynchronous.
    virtual void wakeThreads() = 0;
    // The calling thread won't come back, or only as a new one: its calls in progress are over. Its
    // callers are told that it is dead, and replies to its own calls are dropped.
    virtual void exitThread() = 0;
    // Whether the range lies in the receive buffer, as everything delivered does.
    virtual bool inReceiveBuffer(uint64_t address, uint64_t size) const = 0;
};

}  // namespace halyard::hal
