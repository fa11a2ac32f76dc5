// SPDX-License-Identifier: Apache-2.0

#include "hal/descriptors/descriptor_kind.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/stat.h>
#include <linux/sync_file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/file_descriptor.h"

namespace halyard::hal {
namespace {

using Clock = std::chrono::steady_clock;

// The ashmem driver's question for a region's size; its header is not in every libc.
constexpr unsigned long kAshmemGetSize = _IO(0x77, 4);

// File systems whose files wait for nothing but their disk. Not overlay, which can stand before one
// of any other kind, a FUSE file system of the client's among them, and not fuseblk.
constexpr std::array<std::string_view, 9> kDiskFileSystems = {
        "ext2", "ext3", "ext4", "f2fs", "erofs", "squashfs", "xfs", "vfat", "exfat"};
// The same of one that has several disks: its files have a number that is no disk's and in no mount
// table, so that the number of their mount has to tell. It is taken where this process has it
// mounted; no app of Android's has files of it.
constexpr std::string_view kOfSeveralDisks = "btrfs";

// How often a mount table is looked at for a disk that is not known.
constexpr std::chrono::seconds kBetweenLooks{1};
constexpr size_t kLargestMountTable = size_t{1} << 20;

// Which mount a file was opened in (Linux 5.8).
#ifdef STATX_MNT_ID
constexpr unsigned kMountNumber = STATX_MNT_ID;
uint64_t mountNumberOf(const struct statx& status) {
    return (status.stx_mask & STATX_MNT_ID) != 0 ? status.stx_mnt_id : 0;
}
#else
constexpr unsigned kMountNumber = 0;
uint64_t mountNumberOf(const struct statx& /*status*/) {
    return 0;
}
#endif

// A file's status without a question to its file system, which a FUSE server would have to answer.
// Not in every libc.
std::optional<struct statx> statusOf(int fd) {
    struct statx status = {};
    if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
                STATX_TYPE | STATX_SIZE | kMountNumber, &status) != 0) {
        return std::nullopt;
    }
    return status;
}

bool isHugePageFile(int fd) {
    struct statfs info = {};
    return fstatfs(fd, &info) == 0 && info.f_type == HUGETLBFS_MAGIC;
}

// A sync_file's status: 1: signalled; 0: not yet; negative: it failed. Nothing of any other object
// of the kernel's own, none of which waits before it refuses the question.
std::optional<int32_t> fenceStatus(int fd) {
    sync_file_info info = {};
    return ioctl(fd, SYNC_IOC_FILE_INFO, &info) == 0 ? std::optional(info.status) : std::nullopt;
}

// The number of the device file at `path`, if there is one.
std::optional<DeviceNumber> deviceAt(const std::string& path) {
    struct stat status = {};
    if (stat(path.c_str(), &status) != 0 || !S_ISCHR(status.st_mode)) {
        return std::nullopt;
    }
    return DeviceNumber{.major = major(status.st_rdev), .minor = minor(status.st_rdev)};
}

// One word or number after the other.
std::string_view takeWord(std::string_view& line) {
    const size_t end = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    return word;
}

// "254:0"
std::optional<DeviceNumber> parseDevice(std::string_view word) {
    DeviceNumber device;
    const char* const end = word.data() + word.size();
    const auto first = std::from_chars(word.data(), end, device.major);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != ':') {
        return std::nullopt;
    }
    const auto second = std::from_chars(first.ptr + 1, end, device.minor);
    return second.ec == std::errc() && second.ptr == end ? std::optional(device) : std::nullopt;
}

// Of this process, as its mount table is: every client's descriptors are told by the same.
class Surroundings {
  public:
    Surroundings()
        : mMountTable(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)),
          mMounts(readMountTable()),
          mDisks(disksIn(mMounts)) {
        // Since Android 11 there is one with the number of the boot in its name as well.
        std::string path = "/dev/ashmem";
        mAshmem[0] = deviceAt(path);
        const FileDescriptor boot(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
        std::array<char, 64> id = {};
        if (const ssize_t size = read(boot.get(), id.data(), id.size()); size > 0) {
            path.append(id.data(), static_cast<size_t>(size));
            while (path.back() == '\n') {
                path.pop_back();
            }
            mAshmem[1] = deviceAt(path);
        }
    }

    bool isAshmem(const struct statx& status) const {
        const DeviceNumber device = {.major = status.stx_rdev_major,
                                     .minor = status.stx_rdev_minor};
        return std::ranges::find(mAshmem, std::optional(device)) != mAshmem.end();
    }

    bool isOnDisk(const struct statx& status) const {
        const DeviceNumber device = {.major = status.stx_dev_major, .minor = status.stx_dev_minor};
        const std::lock_guard lock(mMutex);
        const auto isKnown = [&] {
            return device.major != 0 ? std::ranges::binary_search(mDisks, device)
                                     : std::ranges::find(mMounts, kOfSeveralDisks,
                                                         &Mount::fileSystem) != mMounts.end();
        };
        // A disk may have been mounted later.
        if (const Clock::time_point now = Clock::now(); !isKnown() && now >= mNextLook) {
            mNextLook = now + kBetweenLooks;
            mMounts = readMountTable();
            mDisks = disksIn(mMounts);
        }
        if (device.major != 0 || !isKnown()) {
            return isKnown();
        }
        // The file's device is no disk, but a number that the kernel lends. It lends those of
        // mounts as well: the table has to be of this moment, while the descriptor keeps its own.
        const uint64_t number = mountNumberOf(status);
        return number != 0 &&
               std::ranges::count(mountNumbersIn(mountTable(), kOfSeveralDisks), number) > 0;
    }

    // Of what was mounted at the last look; empty: of none of them.
    std::string fileSystemOf(const struct statx& status) const {
        const DeviceNumber device = {.major = status.stx_dev_major, .minor = status.stx_dev_minor};
        const std::lock_guard lock(mMutex);
        const auto found = std::ranges::lower_bound(mMounts, device, {}, &Mount::device);
        return found != mMounts.end() && found->device == device ? found->fileSystem : "";
    }

  private:
    std::vector<Mount> readMountTable() const { return mountsIn(mountTable()); }
    std::string mountTable() const {
        std::string text;
        std::array<char, 16384> part;
        ssize_t size = 0;
        while (text.size() < kLargestMountTable &&
               (size = pread(mMountTable.get(), part.data(), part.size(),
                             static_cast<off_t>(text.size()))) > 0) {
            text.append(part.data(), static_cast<size_t>(size));
        }
        return text;
    }

    const FileDescriptor mMountTable;
    std::array<std::optional<DeviceNumber>, 2> mAshmem;
    mutable std::mutex mMutex;
    mutable std::vector<Mount> mMounts;        // sorted
    mutable std::vector<DeviceNumber> mDisks;  // sorted
    mutable Clock::time_point mNextLook;
};

const Surroundings& surroundings() {
    // One for a process, as there is one mount table; descriptors may be closed after main().
    static const auto* const all = new Surroundings;
    return *all;
}

}  // namespace

std::vector<uint64_t> mountNumbersIn(std::string_view mountTable, std::string_view fileSystem) {
    std::vector<uint64_t> numbers;
    while (!mountTable.empty()) {
        const size_t end = std::min(mountTable.find('\n'), mountTable.size());
        std::string_view line = mountTable.substr(0, end);
        mountTable.remove_prefix(std::min(end + 1, mountTable.size()));
        const std::string_view word = takeWord(line);
        uint64_t number = 0;
        const char* const last = word.data() + word.size();
        const auto [stopped, error] = std::from_chars(word.data(), last, number);
        while (!line.empty() && takeWord(line) != "-") {
        }
        if (error == std::errc() && stopped == last && takeWord(line) == fileSystem) {
            numbers.push_back(number);
        }
    }
    return numbers;
}

std::string describeWhatIsTaken() {
    std::string text = "memory (memfd, tmpfs), and files of ";
    for (const std::string_view name : kDiskFileSystems) {
        text.append(name).append(", ");
    }
    return text.append("or ").append(kOfSeveralDisks).append(" that this process has mounted");
}

std::vector<Mount> mountsIn(std::string_view mountTable) {
    std::vector<Mount> mounts;
    while (!mountTable.empty()) {
        const size_t end = std::min(mountTable.find('\n'), mountTable.size());
        std::string_view line = mountTable.substr(0, end);
        mountTable.remove_prefix(std::min(end + 1, mountTable.size()));
        // Its number, its parent's, the device, four words and more, "-", the kind.
        takeWord(line);
        takeWord(line);
        const std::optional<DeviceNumber> device = parseDevice(takeWord(line));
        while (!line.empty() && takeWord(line) != "-") {
        }
        const std::string_view kind = takeWord(line);
        if (device.has_value()) {
            mounts.push_back({.device = *device, .fileSystem = std::string(kind)});
        }
    }
    std::ranges::sort(mounts);
    const auto again = std::ranges::unique(mounts);
    mounts.erase(again.begin(), again.end());
    return mounts;
}

std::vector<DeviceNumber> disksIn(std::span<const Mount> mounts) {
    std::vector<DeviceNumber> disks;
    for (const Mount& mount : mounts) {
        if (mount.device.major != 0 &&
            std::ranges::find(kDiskFileSystems, mount.fileSystem) != kDiskFileSystems.end()) {
            disks.push_back(mount.device);
        }
    }
    return disks;
}

void prepareDescriptorKinds() {
    surroundings();
}

DescriptorKind kindOf(int fd) {
    // Only memory in pages has seals, and tells of them without a lock.
    if (fcntl(fd, F_GET_SEALS) >= 0) {
        return isHugePageFile(fd) ? DescriptorKind::HUGE_PAGES : DescriptorKind::SHARED_MEMORY;
    }
    const std::optional<struct statx> status = statusOf(fd);
    if (!status.has_value()) {
        return DescriptorKind::OTHER;
    }
    switch (status->stx_mode & S_IFMT) {
        case 0: {
            // An object of the kernel's own. dma-bufs have a file system of their own since Linux
            // 5.3; before, they are among those of which no other has a size.
            struct statfs info = {};
            if (fstatfs(fd, &info) != 0) {
                return DescriptorKind::OTHER;
            }
            const bool isOfMany = info.f_type == ANON_INODE_FS_MAGIC;
            if (info.f_type == DMA_BUF_MAGIC || (isOfMany && lseek(fd, 0, SEEK_END) > 0)) {
                return DescriptorKind::DMA_BUF;
            }
            return isOfMany && fenceStatus(fd).has_value() ? DescriptorKind::FENCE
                                                           : DescriptorKind::OTHER;
        }
        case S_IFCHR:
            return surroundings().isAshmem(*status) ? DescriptorKind::ASHMEM
                                                    : DescriptorKind::OTHER;
        case S_IFREG:
            return surroundings().isOnDisk(*status) ? DescriptorKind::FILE : DescriptorKind::OTHER;
        default:
            return DescriptorKind::OTHER;
    }
}

std::string describeDescriptor(int fd) {
    switch (kindOf(fd)) {
        case DescriptorKind::SHARED_MEMORY:
            return "shared memory";
        case DescriptorKind::ASHMEM:
            return "ashmem";
        case DescriptorKind::DMA_BUF:
            return "a dma-buf";
        case DescriptorKind::FILE:
            return "a file on a disk";
        case DescriptorKind::HUGE_PAGES:
            return "memory of huge pages";
        case DescriptorKind::FENCE:
            return "a fence";
        case DescriptorKind::OTHER:
            break;
    }
    const std::optional<struct statx> status = statusOf(fd);
    if (!status.has_value()) {
        return "no open descriptor";
    }
    switch (status->stx_mode & S_IFMT) {
        case S_IFREG: {
            const std::string fileSystem = surroundings().fileSystemOf(*status);
            return fileSystem.empty() ? "a file of a file system that is in no mount table here"
                                      : "a file of " + fileSystem;
        }
        case S_IFDIR:
            return "a directory";
        case S_IFIFO:
            return "a pipe";
        case S_IFSOCK:
            return "a socket";
        case S_IFCHR:
        case S_IFBLK:
            return "a device";
        default:
            return "an object of the kernel's own";
    }
}

bool closesAtOnce(DescriptorKind kind) {
    switch (kind) {
        case DescriptorKind::SHARED_MEMORY:
        case DescriptorKind::ASHMEM:
        case DescriptorKind::FILE:
        case DescriptorKind::HUGE_PAGES:
            return true;
        // Another process's epoll can watch a dma-buf, and its last close() waits for the epoll.
        case DescriptorKind::DMA_BUF:
        case DescriptorKind::FENCE:
        case DescriptorKind::OTHER:
            return false;
    }
    return false;
}

Result<FileDescriptor> duplicateFence(int fd) {
    if (kindOf(fd) != DescriptorKind::FENCE) {
        return invalidArgument("the descriptor is no sync_file");
    }
    if (fenceStatus(fd).value_or(0) < 0) {
        return invalidArgument("it has failed");
    }
    FileDescriptor own(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (own.get() < 0) {
        return Status(StatusCode::RESOURCE_EXHAUSTED, "no descriptor is left for it");
    }
    return own;
}

bool closesAtOnce(int fd) {
    // The kinds that most calls bring are told by one system call.
    return fcntl(fd, F_GET_SEALS) >= 0 || closesAtOnce(kindOf(fd));
}

Status checkReaches(int fd, DescriptorKind kind, uint64_t end) {
    const auto atMost = [end](int64_t size) {
        return size >= 0 && end <= static_cast<uint64_t>(size)
                       ? Status()
                       : invalidArgument("reaches beyond the " + std::to_string(size) +
                                         " bytes that there are");
    };
    switch (kind) {
        case DescriptorKind::SHARED_MEMORY: {
            // Neither stat nor lseek: some kernels take a lock for the one, and the other one that
            // belongs to the open file; a client's write() may hold both for good.
            uint8_t last = 0;
            const ssize_t size = end - 1 > static_cast<uint64_t>(std::numeric_limits<off_t>::max())
                                         ? 0
                                         : pread(fd, &last, 1, static_cast<off_t>(end - 1));
            if (size < 0) {
                return invalidArgument(std::string("can't be read: ") + std::strerror(errno));
            }
            return size == 1 ? Status()
                             : invalidArgument("reaches beyond the bytes that there are, to " +
                                               std::to_string(end));
        }
        case DescriptorKind::ASHMEM:
            return atMost(ioctl(fd, kAshmemGetSize, nullptr));
        case DescriptorKind::DMA_BUF:
            return atMost(lseek(fd, 0, SEEK_END));
        case DescriptorKind::FILE: {
            const std::optional<struct statx> status = statusOf(fd);
            return atMost(status.has_value() ? static_cast<int64_t>(status->stx_size) : -1);
        }
        case DescriptorKind::HUGE_PAGES:
            // Their pages are of sizes that a guarded mapping could not replace when they go
            // missing, and no client of this HAL has them.
            return unsupported("memory of huge pages can't be mapped");
        case DescriptorKind::FENCE:
        case DescriptorKind::OTHER:
            break;
    }
    return invalidArgument(
            "the descriptor is no memory, or a file that is not on a disk of this device");
}

}  // namespace halyard::hal
