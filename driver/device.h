// SPDX-License-Identifier: Apache-2.0
//
// Device: the NNAPI driver itself, in canonical types. The HIDL edge and the runner both drive it.
//
// Calls that take a callback follow one contract, the same for every HAL version:
//   - the callback runs exactly once, whatever happens, possibly before the call returns;
//   - an invalid argument is reported through the callback and returned;
//   - a passed deadline is reported through the callback, and OK is returned;
//   - otherwise OK is returned and the work happens on another thread.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "driver/model/capabilities.h"
#include "driver/model/model.h"
#include "driver/model/request.h"
#include "driver/options.h"
#include "driver/prepared_model.h"
#include "engine/base/status.h"

namespace halyard::driver {

struct DeviceState;

struct PrepareOptions {
    ExecutionPreference preference = ExecutionPreference::FAST_SINGLE_ANSWER;
    Priority priority = Priority::MEDIUM;
    TimePoint deadline;
};

// A failed status comes with a null model, OK with a live one.
using PrepareCallback = std::function<void(const Status&, std::shared_ptr<PreparedModel>)>;

// Thread-safe. Outlived by the prepared models it made, which share what they need.
class Device {
  public:
    // Fails with INVALID_ARGUMENT on a backend name that is not known (the message lists the known
    // ones). A known backend that this build or machine lacks is logged as a warning and skipped.
    static Result<std::unique_ptr<Device>> create(Options options);
    ~Device();

    // "halyard 0.1.0".
    std::string_view versionString() const;
    const Capabilities& capabilities() const { return mCapabilities; }
    // The backends in use, in order.
    std::vector<std::string> backendNames() const;

    // One flag per operation of the main subgraph: whether prepare would run it. INVALID_ARGUMENT
    // if the model is invalid for that version.
    Result<std::vector<bool>> supportedOperations(const Model& model, HalVersion version) const;

    // Prepares on the calling thread. INVALID_ARGUMENT: the model breaks a rule of its version.
    // UNSUPPORTED: valid, but an operation can't be run. RESOURCE_EXHAUSTED: it, or an execution of
    // it, would take more memory than Options::maxMemoryMib leaves.
    Result<std::shared_ptr<PreparedModel>> prepare(const Model& model, HalVersion version,
                                                   const PrepareOptions& options) const;

    // The same on another thread, by the contract above. What makes a model invalid or unsupported
    // is found before the call returns; only compiling is left to the other thread.
    Status prepareAsync(const Model& model, HalVersion version, const PrepareOptions& options,
                        PrepareCallback callback) const;

    // Text lines of TAB-separated fields for people and tools that look into a running service:
    // version, backends, threads, bytes of memory in use and at most, denied operations, dump
    // folder, models alive.
    std::string report() const;

  private:
    Device(std::shared_ptr<DeviceState> state, Capabilities capabilities);
    std::shared_ptr<DeviceState> mState;
    Capabilities mCapabilities;
};

}  // namespace halyard::driver
