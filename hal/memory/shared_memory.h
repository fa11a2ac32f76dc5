// SPDX-License-Identifier: Apache-2.0
//
// Shared memory as driver::Memory: what clients send, by the kind of its descriptor, and what is
// made to be sent.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "driver/clients/account.h"
#include "driver/model/memory.h"
#include "engine/base/file_descriptor.h"
#include "engine/base/status.h"
#include "hal/memory/native_handle.h"

namespace halyard::hal {

// How often an imported memory may be used.
enum class Uses : uint8_t {
    ONE,   // and all that happens while it is in use as a whole; then the descriptor is closed
    MANY,  // as long as it lives, and its descriptor with it
};

struct ImportOptions {
    Uses uses = Uses::ONE;
    // The account that a descriptor kept for many uses is charged to; null: none.
    const driver::Account* account = nullptr;
    // False: the file is sealed against being cut short, and needs no guard.
    bool canShrink = true;
};

// Each takes its own duplicate of the descriptor. None ever fails: what is wrong is reported by
// use().

// "ashmem": a whole region that may be written, of ashmem, a memfd or a dma-buf.
driver::SharedMemory importAshmem(int fd, uint64_t size, const ImportOptions& options = {});
// "hardware_buffer_blob": a buffer of format BLOB, which graphics allocators make of a dma-buf or
// of shared memory, from its first byte on. Of its descriptors, which are one at least, the first
// that is memory of so many bytes: some allocators put others before it.
driver::SharedMemory importHardwareBuffer(std::span<const int> fds, uint64_t size,
                                          const ImportOptions& options = {});
// "mmap_fd": `size` bytes from `offset` on, to be mapped with no more than this protection
// (PROT_*).
driver::SharedMemory importMappedFile(int fd, uint64_t size, int protection, uint64_t offset,
                                      const ImportOptions& options = {});
// Of a known name or of none, that can't be mapped. `valid`: whether there is anything behind it.
driver::SharedMemory unmappableMemory(std::string name, uint64_t size, bool valid, Status why);

// Anonymous shared memory for sending to a service: a sealed memfd under the name "ashmem", whose
// layout on the wire is the same (one descriptor, no integers). `handle` is for writing it.
struct ExportedMemory {
    driver::SharedMemory memory;
    NativeHandle handle;                                         // borrows the descriptor
    std::shared_ptr<const FileDescriptor> descriptor = nullptr;  // null: owned elsewhere
};
Result<ExportedMemory> createSharedMemory(size_t size);

}  // namespace halyard::hal
