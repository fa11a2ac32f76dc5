// SPDX-License-Identifier: Apache-2.0
//
// ManagedBuffer: memory that the driver manages for a client (NNAPI's memory domains). It is input
// or output of the models that it was allocated for, which requests name it to by its token, and no
// other process maps it: what one model leaves there the next reads without a copy.

#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "driver/clients/client.h"
#include "driver/model/memory.h"
#include "driver/model/pools.h"
#include "driver/model/request.h"
#include "driver/model/validate_request.h"
#include "engine/base/aligned_buffer.h"
#include "engine/base/status.h"
#include "engine/graph/tensor.h"

namespace halyard::driver {

class BufferTable;

// A prepared model as a buffer that is allocated for it knows it. Thread-safe.
class BindableModel {
  public:
    BindableModel() = default;
    virtual ~BindableModel() = default;
    BindableModel(const BindableModel&) = delete;
    BindableModel& operator=(const BindableModel&) = delete;

    // Of all models of the device, never used again.
    virtual uint64_t number() const = 0;
    // The operands that cross it, in order.
    virtual const ModelBoundary& boundary() const = 0;
    virtual const std::shared_ptr<Client>& client() const = 0;
};

// Thread-safe. Its elements are not locked: executions that write to a buffer while others read it
// give whatever was there. Goes with the last reference; then its token means nothing any more.
class ManagedBuffer {
  public:
    // The inputs and outputs of prepared models that a buffer may be bound to.
    struct Description {
        struct Role {
            std::shared_ptr<const BindableModel> model;
            uint32_t index = 0;
            float frequency = 1.0F;  // how likely it is bound to it; in (0, 1]
        };
        std::vector<uint32_t> dimensions;  // empty: as the models say; 0: not said
        std::vector<Role> inputs;
        std::vector<Role> outputs;
    };

    ~ManagedBuffer();
    ManagedBuffer(const ManagedBuffer&) = delete;
    ManagedBuffer& operator=(const ManagedBuffer&) = delete;

    // Never 0, and no other live buffer's.
    uint32_t token() const { return mToken; }
    // Fully known.
    const engine::Shape& shape() const { return mShape; }
    std::span<uint8_t> bytes() const;

    // All of it, to and from memory of the same size (INVALID_ARGUMENT otherwise), on the calling
    // thread. INTERNAL where there is nothing in the buffer yet; RESOURCE_EXHAUSTED where the
    // client's account has no room for the mapping. `dimensions`: of what comes in; empty: as the
    // buffer's.
    Status copyTo(const Memory& destination) const;
    Status copyFrom(const Memory& source, std::span<const uint32_t> dimensions);

    // Whether there is something in it: a copy or an execution has filled it, and none has failed
    // since.
    bool isInitialized() const { return mInitialized; }
    void setInitialized(bool initialized) { mInitialized = initialized; }

  private:
    friend class BufferTable;
    enum class Direction : uint8_t { INPUT, OUTPUT };
    struct Role {
        uint64_t model = 0;  // its number
        Direction direction = Direction::INPUT;
        uint32_t index = 0;

        auto operator<=>(const Role&) const = default;
    };

    ManagedBuffer(std::shared_ptr<Client> client, Reservation memory, AlignedBuffer elements,
                  size_t size, engine::Shape shape, std::vector<Role> roles)
        : mClient(std::move(client)),
          mMemory(std::move(memory)),
          mElements(std::move(elements)),
          mSize(size),
          mShape(std::move(shape)),
          mRoles(std::move(roles)) {}

    const std::shared_ptr<Client> mClient;
    const Reservation mMemory;
    const AlignedBuffer mElements;
    const size_t mSize;
    const engine::Shape mShape;
    const std::vector<Role> mRoles;  // sorted
    std::shared_ptr<BufferTable> mTable;
    uint32_t mToken = 0;
    std::atomic<bool> mInitialized = false;
};

// The buffers of a device, by their tokens. Thread-safe.
class BufferTable : public std::enable_shared_from_this<BufferTable> {
  public:
    // INVALID_ARGUMENT names the role or dimension that breaks a rule; UNSUPPORTED where not all
    // dimensions are known then, or of no tensor; RESOURCE_EXHAUSTED where the client's account has
    // no room.
    Result<std::shared_ptr<ManagedBuffer>> allocate(const ManagedBuffer::Description& description,
                                                    const std::shared_ptr<Client>& client);

    // Puts the buffers that the request of a model names into its pools in use. INVALID_ARGUMENT: a
    // token that is no buffer's of this client, a buffer that was not allocated for that input or
    // output, or one that is an output and something else in the same request.
    Status use(const Request& request, const Client& client, uint64_t model, RequestPools& pools);

  private:
    friend class ManagedBuffer;
    std::shared_ptr<ManagedBuffer> find(uint32_t token, const Client& client) const;
    void forget(uint32_t token);

    mutable std::mutex mMutex;
    uint32_t mLast = 0;
    std::unordered_map<uint32_t, std::weak_ptr<ManagedBuffer>> mBuffers;
};

}  // namespace halyard::driver
