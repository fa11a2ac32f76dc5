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

// Of the name that a client gave as much as is worth telling: it may have a megabyte, and lives as
// long as the memory.
driver::SharedMemory unmappable(std::string_view name, uint64_t size, bool valid, Status why) {
    constexpr size_t kMostLetters = 64;
    return unmappableMemory(std::string(name.substr(0, kMostLetters)), size, valid, std::move(why));
}

constexpr std::string_view kAshmem = "ashmem";
constexpr std::string_view kMappedFile = "mmap_fd";
constexpr std::string_view kHardwareBuffer = "hardware_buffer_blob";

}  // namespace

bool isKnownMemory(std::string_view name) {
    return name == kAshmem || name == kMappedFile || name == kHardwareBuffer;
}

driver::SharedMemory importMemory(std::string_view name, const ReceivedHandle& handle,
                                  uint64_t size, const ImportOptions& options) {
    const std::vector<int>& fds = handle.handle.fds;
    const std::vector<int32_t>& ints = handle.handle.ints;
    if (!handle.valid) {
        return unmappable(name, size, false, invalidArgument("null handle"));
    }
    if (name == kAshmem) {
        return fds.size() == 1 && ints.empty()
                       ? importAshmem(fds[0], size, options)
                       : unmappable(name, size, true, wrongHandle(handle.handle));
    }
    if (name == kMappedFile) {
        if (fds.size() != 1 || ints.size() != 3) {
            return unmappable(name, size, true, wrongHandle(handle.handle));
        }
        const uint64_t offset = static_cast<uint32_t>(ints[1]) |
                                static_cast<uint64_t>(static_cast<uint32_t>(ints[2])) << 32;
        return importMappedFile(fds[0], size, ints[0], offset, options);
    }
    if (name == kHardwareBuffer && !fds.empty()) {
        return importHardwareBuffer(fds, size, options);
    }
    return unmappable(name, size, true, unsupported("memory of this kind can't be mapped"));
}

}  // namespace halyard::hal::hidl
