// SPDX-License-Identifier: Apache-2.0
//
// hidl_memory pools as driver::Memory: "ashmem" and "mmap_fd" are mapped; the hardware buffer
// names are known but can't be mapped yet.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "driver/model/memory.h"
#include "hal/binder/native_handle.h"

namespace halyard::hal {

// Takes its own duplicate of the handle's descriptor, until the memory is used. Never fails: what
// is wrong with the handle is reported by valid() or use(), where the contract wants it.
driver::SharedMemory importMemory(std::string name, const ReceivedHandle& handle, uint64_t size);

// Anonymous shared memory for sending to a service: a sealed memfd under the name "ashmem", whose
// layout on the wire is the same (one descriptor, no integers). `handle` is for writing it.
struct ExportedMemory {
    driver::SharedMemory memory;
    NativeHandle handle;  // borrows memory's descriptor
};
Result<ExportedMemory> createSharedMemory(size_t size);

}  // namespace halyard::hal
