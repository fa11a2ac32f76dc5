// SPDX-License-Identifier: Apache-2.0
//
// Memory that programs make of descriptors, or by describing what it will be used for.

#pragma once

#include <android/NeuralNetworks.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "driver/device/device_interface.h"
#include "driver/model/memory.h"
#include "nnapi/answer.h"

namespace halyard::nnapi {

struct Compiled;
class RuntimeDevice;

// One input or output of a compilation.
struct MemoryRole {
    std::shared_ptr<const Compiled> compilation;
    bool isInput = true;
    uint32_t index = 0;
    float frequency = 1.0F;

    bool isOf(const Compiled* of, bool input, uint32_t at) const {
        return compilation.get() == of && isInput == input && index == at;
    }
};

// What a memory is for: the operand that lies in it, and where it may be used.
struct MemoryPurpose {
    driver::Operand operand;
    std::vector<uint32_t> dimensions;  // 0: unspecified; empty: of unknown rank, or a scalar
    std::vector<MemoryRole> roles;
};

// Thread-safe.
class Memory {
  public:
    // Of a descriptor, which is duplicated. The memory has no purpose.
    Memory(driver::SharedMemory shared, size_t size) : mShared(std::move(shared)), mSize(size) {}
    // Where a device likes it.
    Memory(const RuntimeDevice& device, std::shared_ptr<driver::IBuffer> buffer,
           MemoryPurpose purpose, size_t size);
    // The same where no device has any.
    Memory(driver::SharedMemory shared, MemoryPurpose purpose, size_t size);

    // Null: it lies with a device.
    const driver::SharedMemory& shared() const { return mShared; }
    const std::shared_ptr<driver::IBuffer>& buffer() const { return mBuffer; }
    const RuntimeDevice* device() const { return mDevice; }
    bool hasPurpose() const { return !mPurpose.roles.empty(); }
    size_t size() const { return mSize; }

    // BAD_DATA: bytes outside of it, or all of it where only the operand's size could tell how many
    // these are.
    Answer checkRange(size_t offset, size_t length) const;
    // Whether it may be that input or output, with these dimensions (empty: not said). BAD_DATA:
    // another purpose, or offset and length of a memory that has one.
    Answer checkRole(const Compiled& compilation, bool isInput, uint32_t index,
                     std::span<const uint32_t> dimensions, size_t offset, size_t length) const;
    // OP_FAILED unless something was written to it, of the memory's dimensions.
    Answer checkReadable(std::span<const uint32_t> dimensions) const;
    // After an execution or a copy has written to it, or has failed to. Of a memory without a
    // purpose nothing is noted.
    void noteWritten(bool isWritten, std::span<const uint32_t> dimensions) const;
    // Of what was written; empty: nothing, or it is not known.
    std::vector<uint32_t> dimensions() const;

    // Keeps it mapped from the first use on. UNMAPPABLE: it can't be.
    Answer map() const;

    // The C function's: one of both may lie with a device, or both where it is the same memory.
    static Answer copy(const Memory& from, const Memory& to);

  private:
    static Answer checkCopy(const Memory& from, const Memory& to,
                            std::vector<uint32_t>& dimensions);

    const driver::SharedMemory mShared;
    const std::shared_ptr<driver::IBuffer> mBuffer;
    const RuntimeDevice* const mDevice = nullptr;
    const MemoryPurpose mPurpose;
    const size_t mSize = 0;
    mutable std::mutex mMutex;
    mutable bool mIsWritten = false;
    mutable std::vector<uint32_t> mDimensions;
    mutable driver::MemoryUse mUse;
};

}  // namespace halyard::nnapi

struct ANeuralNetworksMemory final : halyard::nnapi::Memory {
    using Memory::Memory;
};
