// SPDX-License-Identifier: Apache-2.0
//
// DescriptorKind: the kind of a client's descriptor, found out by calls that the client can't
// block.
//
// A file system may be the client's own (FUSE), and never answer: fstat, a page fault and even
// close() then wait for good. A pipe, a socket or whatever an epoll can watch may be held by one of
// the client's threads inside the kernel, so that the last close() waits for that. So a descriptor
// is nothing good until it is known to be.

#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/file_descriptor.h"
#include "engine/base/status.h"

namespace halyard::hal {

enum class DescriptorKind : uint8_t {
    SHARED_MEMORY,  // memfd and files of tmpfs: reading a page that is missing makes one
    ASHMEM,
    DMA_BUF,  // its pages are all there from the start
    FILE,     // a regular file of a disk that this process's mount table has
    HUGE_PAGES,
    FENCE,  // sync_file: something that a device of the kernel's will have done
    OTHER,
};

// Of an open descriptor.
DescriptorKind kindOf(int fd);
// Whether closing it, or unmapping it, never blocks on another process.
bool closesAtOnce(DescriptorKind kind);
bool closesAtOnce(int fd);
// A duplicate of a fence, which can be polled without blocking. INVALID_ARGUMENT for anything else,
// and for a fence that has failed already.
Result<FileDescriptor> duplicateFence(int fd);
// Whether `end` bytes of it, more than none, can be touched through a mapping. INVALID_ARGUMENT if
// not, or if it is no memory at all.
Status checkReaches(int fd, DescriptorKind kind, uint64_t end);

// In words, for people: "a file of overlay", "a pipe". The mount table says it: no file system is
// asked.
std::string describeDescriptor(int fd);

// Opens what kindOf() reads, the mount table and the numbers of ashmem's devices, while there are
// files to be opened; otherwise its first call does. Any number of times.
void prepareDescriptorKinds();

// A device's number, as stat tells it.
struct DeviceNumber {
    uint32_t major = 0;
    uint32_t minor = 0;

    auto operator<=>(const DeviceNumber&) const = default;
};

// The file system at a place of the mount table.
struct Mount {
    DeviceNumber device;
    std::string fileSystem;  // "ext4"

    auto operator<=>(const Mount&) const = default;
};

// The numbers of the mounts that a mount table has of a kind of file system.
std::vector<uint64_t> mountNumbersIn(std::string_view mountTable, std::string_view fileSystem);

// The kinds that may be a file of a client's, in words: "memory (...), and files of ext2, ...".
std::string describeWhatIsTaken();

// Those of a mount table (the text of /proc/self/mountinfo), each once, sorted.
std::vector<Mount> mountsIn(std::string_view mountTable);
// Of these, the disks that hold file systems of kinds that are known to wait for nothing but the
// disk.
std::vector<DeviceNumber> disksIn(std::span<const Mount> mounts);

}  // namespace halyard::hal
