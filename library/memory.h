// SPDX-License-Identifier: Apache-2.0
//
// The contents of a halyard_memory: bytes that a caller lends, or a block on a device.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/base/status.h"
#include "engine/plan/device_memory.h"
#include "halyard/halyard.h"
#include "library/runtime.h"

namespace halyard::library {

// Bytes that the caller lends, given back at the end of its life once they were taken.
class LentBytes {
  public:
    LentBytes(void (*release)(void*), void* owner) : mRelease(release), mOwner(owner) {}
    ~LentBytes() {
        if (mTaken && mRelease != nullptr) {
            mRelease(mOwner);
        }
    }
    LentBytes(const LentBytes&) = delete;
    LentBytes& operator=(const LentBytes&) = delete;
    // From now on they have to be given back.
    void take() { mTaken = true; }

  private:
    void (*const mRelease)(void*);  // null: nothing is called
    void* const mOwner;
    bool mTaken = false;
};

// Shared by the handle and all that uses it; immutable.
struct Memory {
    // Of the host: null for a block on a device.
    std::shared_ptr<const LentBytes> lent;
    std::span<uint8_t> bytes;
    // On a device, with what keeps that.
    std::shared_ptr<const Runtime> runtime;
    engine::DeviceMemory* device = nullptr;  // null: of the host
    engine::ChargedBuffer block;
    size_t size = 0;

    // INVALID_ARGUMENT where it has no such bytes.
    Status checkRange(size_t offset, size_t count) const;
    engine::DevicePlace at(size_t offset) const {
        return {.buffer = block.get(), .offset = offset};
    }
};

// The borrowed memory that a constant names, which has to hold its bytes.
Result<std::shared_ptr<const Memory>> memoryNamedBy(const halyard_constant& constant,
                                                    std::span<const uint8_t> bytes);

}  // namespace halyard::library

struct halyard_memory {
    std::shared_ptr<const halyard::library::Memory> shared;
};
