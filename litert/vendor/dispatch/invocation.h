// SPDX-License-Identifier: Apache-2.0
//
// Invocation: what LiteRT calls an invocation context: one island with the buffers that are
// attached to its inputs and outputs.

#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/file_descriptor.h"
#include "engine/base/status.h"
#include "litert/vendor/dispatch/counters.h"
#include "litert/vendor/dispatch/device.h"
#include "litert/vendor/dispatch/loaded_island.h"
#include "litert/vendor_abi.h"

namespace halyard::vendor {

// Numbers by their names.
using MetricList = std::vector<std::pair<const char*, int64_t>>;

// Thread-safe: runs of one come one after the other.
class Invocation {
  public:
    // Fails as LoadedIsland::load() does.
    static Result<std::unique_ptr<Invocation>> create(std::shared_ptr<Device> device,
                                                      const abi::MemBuffer& bytecode, size_t inputs,
                                                      size_t outputs, ProcessCounts& counts);
    ~Invocation();
    Invocation(const Invocation&) = delete;
    Invocation& operator=(const Invocation&) = delete;

    enum class Side : uint8_t { INPUT, OUTPUT };

    // What a buffer for the port takes, in bytes.
    Result<size_t> requiredBytes(Side side, size_t port, const abi::RankedTensorType& type) const;
    Status attach(Side side, size_t port, uint64_t handle);
    Status detach(Side side, size_t port, uint64_t handle);
    // The next asynchronous run waits for it.
    Status attachEvent(size_t port, abi::Event event);

    Status run();
    // Starts a run, and gives an event for each output. A run that fails signals them as well: the
    // log says why, and the next call to run() or runLater() fails as it did.
    Status runLater(std::span<abi::Event> events);

    const abi::RuntimeTable& litert() const { return mDevice->litert(); }

    void startMetrics();
    MetricList stopMetrics();

  private:
    Invocation(std::shared_ptr<Device> device, std::unique_ptr<LoadedIsland> island,
               ProcessCounts& counts);
    struct Port {
        uint64_t handle = 0;
        std::shared_ptr<const RegisteredBuffer> buffer;  // null: none is attached
    };
    Result<Port*> portOf(Side side, size_t port);
    Status runOnce();
    Status runAttached();
    Result<std::span<uint8_t>> bytesOfPort(const Port& port, abi::LockMode mode, const char* what,
                                           size_t index);
    Status takeFailure();

    const std::shared_ptr<Device> mDevice;
    const std::unique_ptr<LoadedIsland> mIsland;
    ProcessCounts& mProcess;
    mutable std::mutex mMutex;
    std::vector<Port> mInputs;
    std::vector<Port> mOutputs;
    std::vector<FileDescriptor> mFences;  // of inputs, for the next asynchronous run
    Status mLateFailure;                  // of an asynchronous run
    RunCounts mCounts;
    RunCounts mMetricsBegin;
    // Kept from run to run.
    PortShapes mShapes;
    std::vector<engine::InputBinding> mInputBindings;
    std::vector<engine::OutputBinding> mOutputBindings;
    std::vector<abi::TensorBuffer> mLocked;
    engine::ExecutionReport mReport;
};

}  // namespace halyard::vendor
