// SPDX-License-Identifier: Apache-2.0
//
// RawParcel: a transaction put together by hand, so that it can hold what a correct client would
// never send.

#pragma once

#include <linux/android/binder.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "hal/hidl/layout.h"

namespace halyard::attacker {

// Where a child buffer's address is stored: at `offset` bytes inside the object `index`.
struct Slot {
    uint64_t index = 0;
    uint64_t offset = 0;
};

// Not thread-safe. Descriptors that are written stay the caller's, and must stay open until the
// parcel has been sent.
class RawParcel {
  public:
    RawParcel() = default;
    RawParcel(const RawParcel&) = delete;
    RawParcel& operator=(const RawParcel&) = delete;
    RawParcel(RawParcel&&) = default;
    RawParcel& operator=(RawParcel&&) = default;

    void token(std::string_view descriptor);
    void int32(int32_t value);
    void uint64(uint64_t value);
    // Zeros that belong to nothing.
    void zeros(size_t count);

    // A hidl string as an argument.
    void string(std::string_view text);
    // A value of a generated type as an argument, with all that hangs off it.
    void value(const hal::hidl::TypeLayout& layout, const void* value);
    template <typename T>
    void value(const T& value) {
        this->value(hal::hidl::layoutOf<T>(), &value);
    }
    // A native_handle as an argument; its descriptors are an array (FDA), which the kernel closes
    // with the buffer.
    void handle(std::span<const int> descriptors, std::span<const int32_t> numbers = {});
    void nullHandle() { uint64(0); }

    // A plain descriptor object (FD), which is the receiver's to close.
    void descriptor(int fd);
    // An object of this process, by the id that Link::serve() gave.
    void ownObject(uint64_t id);
    // An object of another process.
    void othersObject(uint32_t handle);
    void nullObject();

    // Memory that lives as long as the parcel.
    std::span<uint8_t> keep(const void* bytes, size_t size);

    std::span<const uint8_t> data() const { return mData; }
    std::span<const uint64_t> offsets() const { return mOffsets; }
    uint64_t buffersSize() const { return mBuffersSize; }

  private:
    uint64_t buffer(const void* bytes, size_t size, const Slot* parent);
    void children(const hal::hidl::TypeLayout& layout, const uint8_t* bytes, Slot slot);
    void handleBody(uint64_t address, const Slot* parent);
    void append(const void* bytes, size_t size);
    uint64_t object(const void* bytes, size_t size);

    std::vector<uint8_t> mData;
    std::vector<uint64_t> mOffsets;
    uint64_t mBuffersSize = 0;
    std::deque<std::vector<uint64_t>> mKept;
};

}  // namespace halyard::attacker
