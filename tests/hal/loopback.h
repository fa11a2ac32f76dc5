// SPDX-License-Identifier: Apache-2.0
//
// The kernel's translation of a parcel between sender and receiver, in one process: for tests that
// need no /dev/hwbinder.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "hal/binder/object.h"
#include "hal/binder/parcel.h"
#include "hal/binder/process.h"
#include "hal/binder/received_parcel.h"

namespace halyard::hal::testing {

// A parcel as its sender hands it to the kernel.
struct SentParcel {
    std::vector<uint8_t> data;
    std::vector<uint64_t> offsets;
    // By object; nothing where the object is no buffer.
    std::vector<std::optional<std::vector<uint8_t>>> buffers;
    uint64_t buffersSize = 0;
    // The bytes that a buffer object points to; null where the object is none.
    std::vector<uint8_t>* buffer(size_t index) {
        if (index >= buffers.size()) {
            return nullptr;
        }
        std::optional<std::vector<uint8_t>>& content = buffers[index];
        return content.has_value() ? &*content : nullptr;
    }
    std::vector<ObjectRef> objects;  // the sender's own, by which pointers in `data` are known
};

SentParcel capture(const ParcelWriter& writer);

// A parcel as its receiver sees it. Each buffer is an allocation of its exact length, so that a
// sanitizer notices reads past it. The descriptors of arrays are closed with the parcel, as by the
// kernel; those of single objects are the receiver's.
class DeliveredParcel {
  public:
    DeliveredParcel() = default;
    DeliveredParcel(DeliveredParcel&&) = default;
    DeliveredParcel& operator=(DeliveredParcel&&) = delete;
    ~DeliveredParcel();

    ParcelReader reader(ObjectResolver* resolver) const { return {mData, mOffsets, resolver}; }
    std::span<const uint8_t> data() const { return mData; }
    std::span<const uint64_t> offsets() const { return mOffsets; }
    // The parcel as the transport hands it on, which frees what is here with it.
    static std::unique_ptr<ReceivedParcel> receive(DeliveredParcel parcel,
                                                   ObjectResolver* resolver);
    // True if `address` is that of a delivered buffer.
    bool holds(uint64_t address) const;

  private:
    friend class Delivery;
    std::vector<uint8_t> mData;
    std::vector<uint64_t> mOffsets;
    std::vector<std::unique_ptr<uint8_t[]>> mBuffers;
    std::vector<int> mOwnedFds;
};

// DUPLICATE: as the kernel does. KEEP: for recorded parcels, whose descriptors are only numbers.
enum class Descriptors : uint8_t { DUPLICATE, KEEP };

// Fails where the kernel would refuse the transaction: objects out of bounds or order, a wrong
// parent, fix-ups that go backwards, too small a buffersSize. Binder objects pass unchanged.
Result<DeliveredParcel> deliver(const SentParcel& sent, Descriptors descriptors);

// A BinderProcess that is both sides: calls run on the calling thread. Objects of the caller reach
// the callee as RemoteObjects, and come home as themselves. Thread-safe.
class LoopbackProcess : public BinderProcess,
                        public ObjectResolver,
                        public std::enable_shared_from_this<LoopbackProcess> {
  public:
    // The caller as callees see it.
    Caller caller{.pid = 4711, .euid = 1000};

    // The handle by which the other side knows `object`.
    std::shared_ptr<RemoteObject> remote(const std::shared_ptr<LocalObject>& object);
    // The other way round; null if it is dead.
    std::shared_ptr<LocalObject> behind(const RemoteObject& remote);
    // From now on calls to the object fail as calls to a dead process do. Links fire.
    void kill(const std::shared_ptr<LocalObject>& object);

    std::shared_ptr<RemoteObject> contextManager() override { return nullptr; }
    Status becomeContextManager(std::shared_ptr<LocalObject> object) override;
    Result<std::unique_ptr<Reply>> transact(const std::shared_ptr<RemoteObject>& target,
                                            uint32_t code, const ParcelWriter& arguments) override;
    Status transactOneway(const std::shared_ptr<RemoteObject>& target, uint32_t code,
                          const ParcelWriter& arguments) override;
    Status startThreads(size_t threads, size_t maxSpawned) override;
    // Forgets all objects.
    void stop() override;

    // Calls with a parcel that may be damaged; what the callee answered.
    struct Answer {
        WireStatus status = WireStatus::OK;
        std::unique_ptr<Reply> reply;
    };
    Result<Answer> call(const std::shared_ptr<LocalObject>& target, uint32_t code, bool oneway,
                        const SentParcel& sent);

  private:
    class LoopbackRemote;
    Result<ObjectRef> resolve(uint32_t type, uint64_t binderOrHandle, uint64_t cookie) override;
    void registerObjects(std::span<const ObjectRef> objects);

    std::mutex mMutex;
    std::map<uint32_t, std::shared_ptr<LoopbackRemote>> mRemotes;
};

}  // namespace halyard::hal::testing
