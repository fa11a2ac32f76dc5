// SPDX-License-Identifier: Apache-2.0
//
// BinderProcess: this process's connection to one binder device (/dev/hwbinder): its mapping, its
// threads, the objects it serves and the handles it holds.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "engine/base/status.h"
#include "hal/binder/object.h"
#include "hal/binder/parcel.h"
#include "hal/binder/received_parcel.h"

namespace halyard::hal {

// The parcel that a call was answered with.
using Reply = ReceivedParcel;

// Whether what this process calls may answer with descriptors. The kernel fails the call where it
// does and may not.
enum class ReplyDescriptors : uint8_t { TAKEN, REFUSED };

class BinderProcess {
  public:
    // Opens the device, checks the protocol version, maps the receive buffer (1 MiB - 2 pages).
    // UNAVAILABLE if there is no such device. Defined in binder_device.cc.
    static Result<std::shared_ptr<BinderProcess>> open(
            const std::string& path, ReplyDescriptors descriptors = ReplyDescriptors::TAKEN);
    virtual ~BinderProcess() = default;

    // Handle 0: the service manager of this device.
    virtual std::shared_ptr<RemoteObject> contextManager() = 0;
    // Makes `object` the context manager (what hwservicemanager does).
    virtual Status becomeContextManager(std::shared_ptr<LocalObject> object) = 0;

    // A synchronous call; serves nested calls while it waits. UNAVAILABLE: the target is dead.
    // UNSUPPORTED: it does not know the code. INVALID_ARGUMENT / INTERNAL: other failures.
    virtual Result<std::unique_ptr<Reply>> transact(const std::shared_ptr<RemoteObject>& target,
                                                    uint32_t code,
                                                    const ParcelWriter& arguments) = 0;
    // Returns once the kernel has queued the call.
    virtual Status transactOneway(const std::shared_ptr<RemoteObject>& target, uint32_t code,
                                  const ParcelWriter& arguments) = 0;

    // Starts `threads` >= 1 threads that serve calls; the kernel may ask for `maxSpawned` more.
    virtual Status startThreads(size_t threads, size_t maxSpawned) = 0;
    // Makes the serving threads return and waits for them. Calls in progress finish first.
    virtual void stop() = 0;
};

}  // namespace halyard::hal
