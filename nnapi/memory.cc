// SPDX-License-Identifier: Apache-2.0

#include "nnapi/memory.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "hal/memory/shared_memory.h"
#include "nnapi/operand_size.h"

namespace halyard::nnapi {

Memory::Memory(const RuntimeDevice& device, std::shared_ptr<driver::IBuffer> buffer,
               MemoryPurpose purpose, size_t size)
    : mBuffer(std::move(buffer)),
      mDevice(&device),
      mPurpose(std::move(purpose)),
      mSize(size),
      mDimensions(mPurpose.dimensions) {}

Memory::Memory(driver::SharedMemory shared, MemoryPurpose purpose, size_t size)
    : mShared(std::move(shared)),
      mPurpose(std::move(purpose)),
      mSize(size),
      mDimensions(mPurpose.dimensions) {}

Answer Memory::checkRange(size_t offset, size_t length) const {
    if (offset == 0 && length == 0) {
        return badData("offset 0 and length 0 tell no size of a memory");
    }
    return offset <= mSize && length <= mSize - offset
                   ? Answer()
                   : badData(std::to_string(length) + " bytes from " + std::to_string(offset) +
                             " on are not in a memory of " + std::to_string(mSize));
}

Answer Memory::checkRole(const Compiled& compilation, bool isInput, uint32_t index,
                         std::span<const uint32_t> dimensions, size_t offset, size_t length) const {
    if (!hasPurpose()) {
        return {};
    }
    if (std::ranges::none_of(mPurpose.roles, [&](const MemoryRole& role) {
            return role.isOf(&compilation, isInput, index);
        })) {
        return badData("the memory was not described as this " +
                       std::string(isInput ? "input" : "output"));
    }
    if (offset != 0 || length != 0) {
        return badData("a memory that was described is taken as a whole: offset and length are 0");
    }
    return mergedDimensions(mPurpose.dimensions, dimensions).has_value()
                   ? Answer()
                   : badData("the memory has other dimensions");
}

Answer Memory::checkReadable(std::span<const uint32_t> dimensions) const {
    if (!hasPurpose()) {
        return {};
    }
    const std::lock_guard lock(mMutex);
    if (!mIsWritten) {
        return {ANEURALNETWORKS_OP_FAILED, "nothing has been written to the memory"};
    }
    return mergedDimensions(mDimensions, dimensions).has_value()
                   ? Answer()
                   : Answer(ANEURALNETWORKS_OP_FAILED,
                            "what was written to the memory has other dimensions");
}

void Memory::noteWritten(bool isWritten, std::span<const uint32_t> dimensions) const {
    if (!hasPurpose()) {
        return;
    }
    const std::lock_guard lock(mMutex);
    mIsWritten = isWritten;
    if (isWritten && !dimensions.empty()) {
        mDimensions.assign(dimensions.begin(), dimensions.end());
    }
}

std::vector<uint32_t> Memory::dimensions() const {
    const std::lock_guard lock(mMutex);
    return mDimensions;
}

Answer Memory::map() const {
    if (mShared == nullptr) {
        return {};
    }
    const std::lock_guard lock(mMutex);
    if (mUse.mapping() != nullptr) {
        return {};
    }
    Result<driver::MemoryUse> use = mShared->useWhole(nullptr);
    if (!use.ok()) {
        return {ANEURALNETWORKS_UNMAPPABLE, std::string(use.status().message())};
    }
    mUse = *std::move(use);
    return {};
}

Answer Memory::checkCopy(const Memory& from, const Memory& to, std::vector<uint32_t>& dimensions) {
    if (from.hasPurpose() && to.hasPurpose() &&
        !haveOneType(from.mPurpose.operand, to.mPurpose.operand)) {
        return badData("the memories are of two operand types");
    }
    {
        const std::lock_guard lock(from.mMutex);
        if (from.hasPurpose() && !from.mIsWritten) {
            return badData("nothing has been written to the source");
        }
        dimensions = from.mDimensions;
    }
    if (from.hasPurpose() && to.hasPurpose() &&
        !mergedDimensions(dimensions, to.mPurpose.dimensions).has_value()) {
        return badData("the memories have other dimensions");
    }
    // A memory whose size only a device knows has none here.
    if (from.size() != 0 && to.size() != 0 && from.size() != to.size()) {
        return badData("one memory has " + std::to_string(from.size()) + " bytes, the other one " +
                       std::to_string(to.size()));
    }
    return {};
}

Answer Memory::copy(const Memory& from, const Memory& to) {
    if (&from == &to) {
        return {};
    }
    std::vector<uint32_t> dimensions;
    HALYARD_RETURN_UNLESS_OK(checkCopy(from, to, dimensions));
    Status copied;
    if (to.buffer() != nullptr && from.buffer() != nullptr) {
        // Through memory that both devices can reach.
        const Result<hal::ExportedMemory> between =
                hal::createSharedMemory(std::max(from.size(), to.size()));
        copied = between.ok() ? from.buffer()->copyTo(between->memory) : between.status();
        if (copied.ok()) {
            copied = to.buffer()->copyFrom(between->memory, dimensions);
        }
    } else if (to.buffer() != nullptr) {
        copied = to.buffer()->copyFrom(from.shared(), dimensions);
    } else if (from.buffer() != nullptr) {
        copied = from.buffer()->copyTo(to.shared());
    } else {
        HALYARD_RETURN_UNLESS_OK(from.map());
        HALYARD_RETURN_UNLESS_OK(to.map());
        const Result<std::span<uint8_t>> source = from.mUse.bytes(0, from.size());
        const Result<std::span<uint8_t>> destination = to.mUse.bytes(0, to.size());
        copied = source.ok() ? destination.status() : source.status();
        if (copied.ok() && !to.mUse.writable()) {
            copied = invalidArgument("the destination can't be written");
        }
        if (copied.ok()) {
            std::ranges::copy(*source, destination->begin());
        }
    }
    to.noteWritten(copied.ok(), dimensions);
    return answerOf(copied);
}

}  // namespace halyard::nnapi
