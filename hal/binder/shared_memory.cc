// SPDX-License-Identifier: Apache-2.0

#include "hal/binder/shared_memory.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/checked_math.h"
#include "hal/binder/guarded_mapping.h"

namespace halyard::hal {
namespace {

constexpr std::string_view kAshmem = "ashmem";
constexpr std::string_view kMappedFile = "mmap_fd";

// The ashmem driver's question for a region's size; its header is not in every libc.
constexpr unsigned long kAshmemGetSize = _IO(0x77, 4);

Status systemError(const std::string& what) {
    return internalError(what + ": " + std::strerror(errno));
}

// How many bytes can be touched through a mapping of `fd`.
Result<uint64_t> sizeBehind(int fd) {
    struct stat info = {};
    if (fstat(fd, &info) < 0) {
        return systemError("fstat");
    }
    if (S_ISREG(info.st_mode)) {
        return static_cast<uint64_t>(info.st_size);
    }
    if (S_ISCHR(info.st_mode)) {
        if (int size = ioctl(fd, kAshmemGetSize, nullptr); size >= 0) {
            return static_cast<uint64_t>(size);
        }
    }
    // A dma-buf, for instance.
    if (off_t end = lseek(fd, 0, SEEK_END); end >= 0) {
        return static_cast<uint64_t>(end);
    }
    return invalidArgument("the descriptor is no memory");
}

class ImportedMemory final : public driver::Memory {
  public:
    ImportedMemory(std::string name, uint64_t size, bool handleValid, std::vector<int> fds,
                   std::vector<int32_t> ints)
        : mName(std::move(name)),
          mSize(size),
          mHandleValid(handleValid),
          mFds(std::move(fds)),
          mInts(std::move(ints)) {}
    ~ImportedMemory() override {
        for (int fd : mFds) {
            if (fd >= 0) {
                close(fd);
            }
        }
    }
    ImportedMemory(const ImportedMemory&) = delete;
    ImportedMemory& operator=(const ImportedMemory&) = delete;

    std::string_view name() const override { return mName; }
    size_t size() const override { return static_cast<size_t>(mSize); }
    bool valid() const override { return mHandleValid; }

    Result<std::span<uint8_t>> map() const override {
        std::lock_guard lock(mMutex);
        if (!mMapped.has_value()) {
            mMapped = mapOnce();
        }
        if (!mMapped->ok()) {
            return mMapped->withContext("pool " + mName + " of " + std::to_string(mSize) +
                                        " bytes");
        }
        return mBytes;
    }

    bool writable() const override {
        if (!map().ok()) {
            return false;
        }
        std::lock_guard lock(mMutex);
        return mWritable;
    }

    bool intact() const override {
        std::lock_guard lock(mMutex);
        return !mMapping.has_value() || mMapping->intact();
    }

  private:
    Status mapOnce() const {
        if (!mHandleValid) {
            return invalidArgument("null handle");
        }
        if (mName == kAshmem) {
            if (mFds.size() != 1 || !mInts.empty()) {
                return wrongHandle();
            }
            // Ashmem can't be cut short; a memfd can be kept from it, unless its owner forbade
            // seals.
            fcntl(mFds[0], F_ADD_SEALS, F_SEAL_SHRINK);
            return mapRange(mFds[0], PROT_READ | PROT_WRITE, 0);
        }
        if (mName == kMappedFile) {
            if (mFds.size() != 1 || mInts.size() != 3) {
                return wrongHandle();
            }
            const uint64_t offset = static_cast<uint32_t>(mInts[1]) |
                                    static_cast<uint64_t>(static_cast<uint32_t>(mInts[2])) << 32;
            return mapRange(mFds[0], PROT_READ | (mInts[0] & PROT_WRITE), offset);
        }
        return unsupported("memory of this kind can't be mapped");
    }

    Status wrongHandle() const {
        return invalidArgument("a handle of " + std::to_string(mFds.size()) + " descriptors and " +
                               std::to_string(mInts.size()) + " integers");
    }

    Status mapRange(int fd, int protection, uint64_t offset) const {
        if (fd < 0) {
            return {StatusCode::RESOURCE_EXHAUSTED, "its descriptor could not be duplicated"};
        }
        HALYARD_ASSIGN_OR_RETURN(uint64_t available, sizeBehind(fd));
        if (!rangeFits<uint64_t>(offset, mSize, available)) {
            return invalidArgument("reaches beyond the " + std::to_string(available) +
                                   " bytes that there are, from offset " + std::to_string(offset));
        }
        if (mSize == 0) {
            mWritable = (protection & PROT_WRITE) != 0;
            return {};
        }
        const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
        const uint64_t start = offset & ~(page - 1);
        // No overflow: both ends lie in the file, whose size fits off_t.
        const uint64_t length = offset - start + mSize;
        if (length > SIZE_MAX) {
            return {StatusCode::RESOURCE_EXHAUSTED, "larger than the address space"};
        }
        auto attempt = [&] {
            return mmap(nullptr, static_cast<size_t>(length), protection, MAP_SHARED, fd,
                        static_cast<off_t>(start));
        };
        void* address = attempt();
        if (address == MAP_FAILED && (errno == EACCES || errno == EPERM) &&
            (protection & PROT_WRITE) != 0) {
            protection &= ~PROT_WRITE;
            address = attempt();
        }
        if (address == MAP_FAILED) {
            return {errno == ENOMEM ? StatusCode::RESOURCE_EXHAUSTED : StatusCode::INVALID_ARGUMENT,
                    std::string("mmap: ") + std::strerror(errno)};
        }
        mMapping.emplace(address, static_cast<size_t>(length));
        mBytes = {mMapping->bytes() + (offset - start), static_cast<size_t>(mSize)};
        mWritable = (protection & PROT_WRITE) != 0;
        return {};
    }

    const std::string mName;
    const uint64_t mSize;
    const bool mHandleValid;
    const std::vector<int> mFds;  // -1 where duplicating failed
    const std::vector<int32_t> mInts;

    mutable std::mutex mMutex;
    mutable std::optional<Status> mMapped;  // what the one attempt gave
    mutable std::optional<GuardedMapping> mMapping;
    mutable std::span<uint8_t> mBytes;
    mutable bool mWritable = false;
};

}  // namespace

driver::SharedMemory importMemory(std::string name, const ParcelReader::Handle& handle,
                                  uint64_t size) {
    std::vector<int> fds;
    for (int fd : handle.handle.fds) {
        fds.push_back(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    }
    return std::make_shared<const ImportedMemory>(std::move(name), size, handle.valid,
                                                  std::move(fds), handle.handle.ints);
}

Result<ExportedMemory> createSharedMemory(size_t size) {
    int fd = memfd_create("halyard", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        return systemError("memfd_create");
    }
    auto memory = std::make_shared<const ImportedMemory>(
            std::string(kAshmem), size, true, std::vector<int>{fd}, std::vector<int32_t>());
    if (ftruncate(fd, static_cast<off_t>(size)) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        return systemError("shared memory of " + std::to_string(size) + " bytes");
    }
    return ExportedMemory{.memory = std::move(memory), .handle = {.fds = {fd}, .ints = {}}};
}

}  // namespace halyard::hal
