// SPDX-License-Identifier: Apache-2.0
//
// IDevice: a device as its clients see it, in canonical types, behind it either the driver in this
// process (local_device.h) or a service over a wire (hal/hidl/client, hal/aidl/client). It has what
// NNAPI's newest contract has; UNSUPPORTED is what a device, or the wire to it, can't do.
//
// Failures are statuses everywhere. UNAVAILABLE: the device behind the interface is gone, or says
// that it can't be used; ping() tells which. Everything is thread-safe. Calls that take a callback
// follow the contract of device.h; over a wire the callback runs on a thread that serves the wire,
// which it must not hold.
//
// The objects that serve a wire (hal/hidl, hal/aidl) hold a Device and not an IDevice, because a
// server says and asks more than a client can: with each call the HAL version that its method
// belongs to, and the account it is charged to; the client and the boundary of a model; whether a
// fenced request is valid, before its answer is charged; and an execution into a result that is
// kept, so that it allocates nothing. Over a wire a client has none of these, so one interface for
// both would have methods that half of its implementations refuse. local_device.cc forwards for
// programs that drive either.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "driver/execute/execution_result.h"
#include "driver/model/capabilities.h"
#include "driver/model/model.h"
#include "driver/model/request.h"
#include "driver/prepare/compile.h"
#include "engine/base/file_descriptor.h"
#include "engine/base/status.h"

namespace halyard::driver {

// Memory that the device manages, where it likes. Goes with the last reference.
class IBuffer {
  public:
    virtual ~IBuffer() = default;
    // By which requests of the same device name it, in Request::pools. Never 0.
    virtual uint32_t token() const = 0;
    // All of it, to and from memory of the same size. `dimensions` of what comes in: empty: as they
    // were said to be.
    virtual Status copyTo(const SharedMemory& destination) = 0;
    virtual Status copyFrom(const SharedMemory& source, std::span<const uint32_t> dimensions) = 0;
};

// One model's executions, one after the other, with as little as possible between them.
class IBurst {
  public:
    virtual ~IBurst() = default;
    // As IPreparedModel::execute(). `identifiers`: one for each pool of the request, by which the
    // device may know it again; -1: it need not.
    virtual ExecutionResult execute(const Request& request, std::span<const int64_t> identifiers,
                                    const ExecuteOptions& options) = 0;
    // A memory of that identifier will not come again.
    virtual Status releaseMemory(int64_t identifier) = 0;
};

// An execution that has begun.
struct FencedExecution {
    // Readable once it is over; null: it is over already.
    std::shared_ptr<const FileDescriptor> done;
    // How it ended, once it is over: `launched` from the call on, `fenced` from when the last fence
    // that it waited for had been signalled.
    struct Info {
        Status status;
        Timing launched;
        Timing fenced;
    };
    std::function<Info()> info;
};

// One request of one model, to be computed again and again, one after the other.
class IExecution {
  public:
    virtual ~IExecution() = default;
    // As IPreparedModel::execute() and executeFenced().
    virtual ExecutionResult execute(const Deadline& deadline) = 0;
    // The same into a result that is kept: in this process nothing is allocated then.
    virtual void executeInto(const Deadline& deadline, ExecutionResult& result) {
        result = execute(deadline);
    }
    virtual Result<FencedExecution> executeFenced(const Fences& waitFor, const Deadline& deadline,
                                                  const Duration& durationAfterFences) = 0;
};

class IPreparedModel {
  public:
    virtual ~IPreparedModel() = default;
    // Returns once it is over. The shapes are there, too, where an output was too small.
    virtual ExecutionResult execute(const Request& request, const ExecuteOptions& options) = 0;
    virtual Status executeAsync(Request request, const ExecuteOptions& options,
                                ExecuteCallback callback) = 0;
    virtual Result<FencedExecution> executeFenced(const Request& request,
                                                  const ExecuteOptions& options) = 0;
    virtual Result<std::shared_ptr<IBurst>> makeBurst() = 0;
    // Of the options, what is said of each computation anew is not looked at. UNSUPPORTED before
    // AIDL 4.
    virtual Result<std::shared_ptr<IExecution>> makeExecution(const Request& request,
                                                              const ExecuteOptions& options) = 0;
    // As PreparedModel::report(); empty where the device does not tell.
    virtual std::string report() = 0;
    // The program, where it runs in this process; null: elsewhere.
    virtual const engine::Program* program() const { return nullptr; }
    // Itself where it is of that kind, which an implementation knows by an address of its own; else
    // null. A buffer may be asked for with any device's models.
    virtual const void* as(const void* /*kind*/) const { return nullptr; }
};

// One input or output that a buffer will be bound to.
struct BufferRole {
    uint32_t modelIndex = 0;  // in BufferDescription::models
    uint32_t ioIndex = 0;
    float frequency = 1.0F;  // how likely it is; in (0, 1]
};

// The roles and dimensions that a buffer is allocated for.
struct BufferDescription {
    std::vector<uint32_t> dimensions;  // empty: as the models say
    std::vector<std::shared_ptr<IPreparedModel>> models;
    std::vector<BufferRole> inputs;
    std::vector<BufferRole> outputs;
};

// A failed status comes with a null model, OK with a live one.
using PreparedCallback = std::function<void(const Status&, std::shared_ptr<IPreparedModel>)>;

class IDevice {
  public:
    virtual ~IDevice() = default;

    // The version that models and requests are understood by.
    virtual HalVersion version() const = 0;
    virtual Result<std::string> versionString() = 0;
    // UNSUPPORTED before HAL 1.2.
    virtual Result<DeviceType> type() = 0;
    virtual Result<Capabilities> capabilities() = 0;
    // Whether it has time. UNSUPPORTED on AIDL, which has no such question.
    virtual Result<DeviceStatus> status() = 0;
    // UNSUPPORTED before HAL 1.2.
    virtual Result<std::vector<Extension>> extensions() = 0;
    virtual Result<std::vector<bool>> supportedOperations(const Model& model) = 0;

    // `options.client` counts for a device in this process alone: a wire knows who calls.
    virtual Result<std::shared_ptr<IPreparedModel>> prepare(const Model& model,
                                                            const PrepareOptions& options) = 0;
    virtual Status prepareAsync(Model model, const PrepareOptions& options,
                                PreparedCallback callback) = 0;

    // How many files prepare() keeps a model in, where `options.cache` has them. None: no model is
    // kept. UNSUPPORTED before HAL 1.2.
    virtual Result<NumberOfCacheFiles> numberOfCacheFiles() = 0;
    // The model that was kept in the files of `options.cache`. INVALID_ARGUMENT or INTERNAL where
    // they hold none, whole, of that token and of this device as it is now; UNSUPPORTED before HAL
    // 1.2.
    virtual Result<std::shared_ptr<IPreparedModel>> prepareFromCache(
            const PrepareOptions& options) = 0;
    virtual Status prepareFromCacheAsync(const PrepareOptions& options,
                                         PreparedCallback callback) = 0;

    virtual Result<std::shared_ptr<IBuffer>> allocate(const BufferDescription& description) = 0;

    // UNAVAILABLE: the device is gone.
    virtual Status ping() = 0;
    // The device's report about itself, for people.
    virtual Result<std::string> report() = 0;
};

}  // namespace halyard::driver
