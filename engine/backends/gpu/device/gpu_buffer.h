// SPDX-License-Identifier: Apache-2.0
//
// GpuBuffer: a block of a device's memory.

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "engine/backends/gpu/opencl/handles.h"
#include "engine/plan/device_memory.h"

namespace halyard::engine::gpu {

class GpuBuffer final : public DeviceBuffer {
  public:
    GpuBuffer(MemoryHandle memory, size_t bytes, uint64_t number)
        : mMemory(std::move(memory)), mBytes(bytes), mNumber(number) {}
    size_t size() const override { return mBytes; }
    cl_mem get() const { return mMemory.get(); }
    // No other of the process has or had it, whereas a handle may come again.
    uint64_t number() const { return mNumber; }

  private:
    const MemoryHandle mMemory;
    const size_t mBytes;
    const uint64_t mNumber;
};

// Of a place's buffer, which is a GpuBuffer: every block of a home comes from its memory.
inline cl_mem memoryOf(const DeviceBuffer* buffer) {
    return static_cast<const GpuBuffer*>(buffer)->get();
}

}  // namespace halyard::engine::gpu
