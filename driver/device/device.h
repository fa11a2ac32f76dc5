// SPDX-License-Identifier: Apache-2.0
//
// Device: the NNAPI driver itself, in canonical types, for those that serve it: each call says the
// HAL version and the client that it is of. The wires of hal/ serve it directly; device_interface.h
// has what clients see, and why these are two contracts.
//
// Calls that take a callback follow one contract, the same for every HAL version:
//   - the callback runs exactly once, whatever happens, possibly before the call returns;
//   - an invalid argument is reported through the callback and returned, and so is a queue that is
//     full;
//   - a passed deadline is reported through the callback, and OK is returned;
//   - otherwise OK is returned and the work happens on another thread.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "driver/clients/client.h"
#include "driver/execute/managed_buffer.h"
#include "driver/model/call_options.h"
#include "driver/model/capabilities.h"
#include "driver/model/codes.h"
#include "driver/model/model.h"
#include "driver/model/verdicts.h"
#include "driver/options/options.h"
#include "driver/prepare/cache_key.h"
#include "driver/prepare/compile.h"
#include "engine/base/status.h"
#include "engine/plan/backend.h"

namespace halyard::driver {

struct DeviceState;

// A failed status comes with a null model, OK with a live one.
using PrepareCallback = std::function<void(const Status&, std::shared_ptr<PreparedModel>)>;

// Thread-safe. Outlived by the prepared models it made, which share what they need.
class Device {
  public:
    // Fails with INVALID_ARGUMENT on a backend name that is not known (the message lists the known
    // ones), and on hints that can't be read or followed. A known backend that this build or
    // machine lacks is logged as a warning and skipped.
    static Result<std::unique_ptr<Device>> create(Options options);
    // With backends and a key of the caller's instead of those that the options name, in that
    // order; null: it has no key.
    static Result<std::unique_ptr<Device>> create(
            Options options, std::vector<std::unique_ptr<const engine::Backend>> backends,
            std::shared_ptr<const CacheKey> key = nullptr);
    ~Device();

    // "halyard 0.1.0".
    std::string_view versionString() const;
    // That of the backend which is asked first.
    DeviceType type() const;
    const Capabilities& capabilities() const { return mCapabilities; }
    // BUSY: all slots that clients share to prepare or to execute are taken, and a task waits for
    // one. It tells a client no more of the others than that, and the client may be served all the
    // same: users of whom nothing runs have slots of their own.
    DeviceStatus status() const;
    // Those of which operations and operands may stand in models.
    const std::vector<Extension>& extensions() const;
    // How many a model is kept in where the options of prepare() have them; none where this build
    // can't be told from others.
    NumberOfCacheFiles numberOfCacheFiles() const;
    // The backends in use, in order.
    std::vector<std::string> backendNames() const;

    // The account of a process that uses the device, to be given with what it asks for.
    // RESOURCE_EXHAUSTED: its user, or all, have too many.
    Result<std::shared_ptr<Client>> client(ProcessId process) const;

    // One flag per operation of the main subgraph: whether prepare would run it. INVALID_ARGUMENT
    // if the model is invalid for that version: in its structure, or in the signature of an
    // operation. `client`: who asks; null: this process. RESOURCE_EXHAUSTED: it asks too much at
    // once. DEADLINE_EXCEEDED: it took longer than the device lets anything take. `verdicts`: null,
    // or where one is added for each operation that is to blame, of invalid models as well; none is
    // where a model is refused as a whole.
    Result<std::vector<bool>> supportedOperations(const Model& model, HalVersion version,
                                                  const std::shared_ptr<Client>& client = nullptr,
                                                  Verdicts* verdicts = nullptr) const;

    // Prepares on the calling thread, and keeps the model in the files of the options' cache, if
    // that can be done; the log says why not. INVALID_ARGUMENT: as above. UNSUPPORTED: valid, but
    // an operation can't be run, or constants or shapes contradict each other. RESOURCE_EXHAUSTED:
    // it, or an execution of it, would take more memory than Options::maxMemoryMib or the client's
    // account leaves. DEADLINE_EXCEEDED: stopped part-way. UNAVAILABLE: the client died.
    Result<std::shared_ptr<PreparedModel>> prepare(const Model& model, HalVersion version,
                                                   const PrepareOptions& options) const;

    // The same on another thread, by the contract above. Only what makes a model invalid is found
    // before the call returns; all that takes long is left to the other thread.
    Status prepareAsync(Model model, HalVersion version, const PrepareOptions& options,
                        PrepareCallback callback) const;

    // Prepares what was kept in the files of the options' cache, on the calling thread; fails as
    // findKeptModel() and loadKeptModel() (prepare/compilation_cache.h) do.
    Result<std::shared_ptr<PreparedModel>> prepareFromCache(const PrepareOptions& options) const;
    // The same on another thread, by the contract above. Whether there is a kept model is found
    // before the call returns; what is kept of it is looked at on the other thread.
    Status prepareFromCacheAsync(const PrepareOptions& options, PrepareCallback callback) const;

    // From a file that PreparedModel::save() wrote, on the calling thread; fails as loadModel()
    // (prepare/load_model.h) does.
    Result<std::shared_ptr<PreparedModel>> load(const Memory& file,
                                                const PrepareOptions& options) const;

    // A buffer of a client (null: this process), uninitialized; fails as BufferTable::allocate()
    // (execute/managed_buffer.h) does.
    Result<std::shared_ptr<ManagedBuffer>> allocate(
            const ManagedBuffer::Description& description,
            const std::shared_ptr<Client>& client = nullptr) const;

    // Text lines of TAB-separated fields for people and tools that look into a running service:
    // version, backends, threads, bytes of memory in use and at most, bytes of the process's heap
    // in use and held, denied operations, dump folder, models alive; one line per user and one per
    // account that is open, each field with its name before it, e.g.
    // "client pid 312 uid 1000 models 1 ...".
    std::string report() const;

  private:
    Device(std::shared_ptr<DeviceState> state, Capabilities capabilities);
    std::shared_ptr<DeviceState> mState;
    Capabilities mCapabilities;
};

}  // namespace halyard::driver
