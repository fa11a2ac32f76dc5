// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/model/call_options.h"
#include "driver/model/memory.h"
#include "engine/base/file_descriptor.h"
#include "engine/base/status.h"

namespace halyard::selftest {

// A buffer of the kernel's vgem driver, a graphics device without hardware: a real dma-buf, to
// which fences can be attached that its owner signals, and which can be had as sync_files. The
// layouts are those of the kernel's include/uapi/drm (drm.h, drm_mode.h, vgem_drm.h).
class GraphicsBuffer {
  public:
    // UNAVAILABLE where there is no such device: its module is not loaded.
    static Result<GraphicsBuffer> make(size_t size);

    // Under the name "hardware_buffer_blob".
    Result<driver::SharedMemory> memory() const;

    // A sync_file that becomes readable with signal() of the same number, or after ten seconds,
    // when the kernel signals what was forgotten. One at a time of a buffer.
    struct Fence {
        std::shared_ptr<const FileDescriptor> file;
        uint32_t number = 0;
    };
    Result<Fence> attachFence() const;
    Status signal(const Fence& fence) const;

    size_t size() const { return mSize; }

  private:
    GraphicsBuffer(FileDescriptor device, uint32_t handle, FileDescriptor dmaBuf, size_t size)
        : mDevice(std::move(device)), mHandle(handle), mDmaBuf(std::move(dmaBuf)), mSize(size) {}

    FileDescriptor mDevice;
    uint32_t mHandle;
    FileDescriptor mDmaBuf;
    size_t mSize;
};

}  // namespace halyard::selftest
