// SPDX-License-Identifier: Apache-2.0
//
// A parcel that the kernel delivered, with all that came with it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/file_descriptor.h"
#include "engine/base/status.h"
#include "hal/binder/parcel.h"
#include "hal/binder/received_descriptors.h"

namespace halyard::hal {

// Closes a parcel's descriptors whose closing may block on their sender, where that blocks no other
// client.
class DescriptorDisposal {
  public:
    virtual ~DescriptorDisposal() = default;
    virtual void close(std::vector<FileDescriptor> descriptors) = 0;
    // Gives the kernel the parcel's buffer, and closes the descriptors of its arrays.
    virtual void freeBuffer(std::span<const int> inArrays) = 0;
};

// Owns the kernel's buffer, in which everything lies that the reader gives out, and the parcel's
// descriptors. Not thread-safe.
class ReceivedParcel {
  public:
    // `freeBuffer` gives the buffer back to the kernel; called once. The resolver outlives the
    // parcel. `disposal` does what may take long; null: all is done here.
    ReceivedParcel(std::span<const uint8_t> data, std::span<const uint64_t> offsets,
                   ObjectResolver* resolver, std::function<void()> freeBuffer,
                   std::unique_ptr<DescriptorDisposal> disposal = nullptr);
    ~ReceivedParcel() { release(); }
    ReceivedParcel(const ReceivedParcel&) = delete;
    ReceivedParcel& operator=(const ReceivedParcel&) = delete;

    // No call has more callbacks or models among its arguments. Each costs the kernel and the
    // receiver more than it costs the sender.
    static constexpr size_t kMostObjects = 64;

    // Whether it may be read at all: INVALID_ARGUMENT if it carries too many descriptors or
    // objects.
    Status check() const;
    // Whether letting go of it here would never wait for its sender.
    bool closesAtOnce() const;
    ParcelReader& reader() { return mReader; }
    // There is nothing to read afterwards. Closes the descriptors that were not taken, and keeps
    // the buffer.
    void endReading();
    // The same, and frees the buffer.
    void release();

  private:
    const size_t mObjects;
    ReceivedDescriptors mDescriptors;
    ParcelReader mReader;
    std::function<void()> mFreeBuffer;
    const std::unique_ptr<DescriptorDisposal> mDisposal;
};

}  // namespace halyard::hal
