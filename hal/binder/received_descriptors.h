// SPDX-License-Identifier: Apache-2.0
//
// The file descriptors that came with a parcel. The kernel puts them into this process before the
// parcel is seen, and treats the two kinds differently: those of an array (BINDER_TYPE_FDA) it
// closes itself when the parcel's buffer is freed, so the receiver must not; those of single
// objects (BINDER_TYPE_FD) it leaves to the receiver for good.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "engine/base/file_descriptor.h"
#include "engine/base/status.h"

namespace halyard::hal {

// Owns the descriptors of single objects, read or not, until they are taken.
class ReceivedDescriptors {
  public:
    // As many as a native_handle may hold. What a sender can put into a parcel beyond that serves
    // nothing but using up the receiver's.
    static constexpr uint64_t kMost = 1024;

    ReceivedDescriptors() = default;
    // `offsets` are of the objects in `data`, as the kernel delivered both.
    ReceivedDescriptors(std::span<const uint8_t> data, std::span<const uint64_t> offsets);

    // Of both kinds.
    uint64_t count() const { return mCount; }
    // That of the object at `offset`. INVALID_ARGUMENT if there is none or it was taken.
    Result<FileDescriptor> take(uint64_t offset);
    // The same one, which stays here.
    Result<int> borrow(uint64_t offset) const;
    // Closes those that were not taken, except those whose closing might block on their sender:
    // these become the caller's.
    std::vector<FileDescriptor> closeAll();

    // Of arrays, all, whether read or not.
    std::span<const int> inArrays() const { return mInArrays; }
    // Whether none of these might wait for the sender when it is closed.
    bool arraysCloseAtOnce() const { return mArraysCloseAtOnce; }
    // The same of those that closeAll() would close.
    bool singlesCloseAtOnce() const;

  private:
    std::map<uint64_t, FileDescriptor> mOwned;  // by the object's offset
    std::vector<int> mInArrays;
    bool mArraysCloseAtOnce = true;
    uint64_t mCount = 0;
};

}  // namespace halyard::hal
