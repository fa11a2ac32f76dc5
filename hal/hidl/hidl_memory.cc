// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/hidl_memory.h"

#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "hal/memory/shared_memory.h"

namespace halyard::hal::hidl {
namespace {

Status wrongHandle(const NativeHandle& handle) {
    return invalidArgument("a handle of " + std::to_string(handle.fds.size()) +
                           " descriptors and " + std::to_string(handle.ints.size()) + " integers");
}

}  // namespace

driver::SharedMemory importMemory(std::string name, const ReceivedHandle& handle, uint64_t size,
                                  const ImportOptions& options) {
    const std::vector<int>& fds = handle.handle.fds;
    const std::vector<int32_t>& ints = handle.handle.ints;
    if (!handle.valid) {
        return unmappableMemory(std::move(name), size, false, invalidArgument("null handle"));
    }
    if (name == "ashmem") {
        return fds.size() == 1 && ints.empty()
                       ? importAshmem(fds[0], size, options)
                       : unmappableMemory(std::move(name), size, true, wrongHandle(handle.handle));
    }
    if (name == "mmap_fd") {
        if (fds.size() != 1 || ints.size() != 3) {
            return unmappableMemory(std::move(name), size, true, wrongHandle(handle.handle));
        }
        const uint64_t offset = static_cast<uint32_t>(ints[1]) |
                                static_cast<uint64_t>(static_cast<uint32_t>(ints[2])) << 32;
        return importMappedFile(fds[0], size, ints[0], offset, options);
    }
    if (name == "hardware_buffer_blob" && !fds.empty()) {
        return importHardwareBuffer(fds, size, options);
    }
    return unmappableMemory(std::move(name), size, true,
                            unsupported("memory of this kind can't be mapped"));
}

}  // namespace halyard::hal::hidl
