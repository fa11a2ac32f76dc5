// SPDX-License-Identifier: Apache-2.0

#include "hal/binder/shared_memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "driver/client.h"
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

// hugetlbfs takes and gives pages of sizes that a guarded mapping could not replace when they go
// missing, and no client of this HAL has them.
bool isHugePageFile(int fd) {
    struct statfs info = {};
    return fstatfs(fd, &info) == 0 && info.f_type == HUGETLBFS_MAGIC;
}

// How many bytes can be touched through a mapping of `fd`.
Result<uint64_t> sizeBehind(int fd) {
    struct stat info = {};
    if (fstat(fd, &info) < 0) {
        return systemError("fstat");
    }
    if (S_ISREG(info.st_mode)) {
        if (isHugePageFile(fd)) {
            return unsupported("memory of huge pages can't be mapped");
        }
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

// Whether the descriptor lives on once the memory is mapped.
enum class Descriptor : uint8_t { CLOSED_ONCE_MAPPED, KEPT };

class ImportedMemory final : public driver::Memory {
  public:
    // Takes over `fd`, which is -1 if there is none; `fds`: how many the handle had.
    ImportedMemory(std::string name, uint64_t size, bool handleValid, int fd, size_t fds,
                   std::vector<int32_t> ints, Descriptor descriptor)
        : mName(std::move(name)),
          mSize(size),
          mHandleValid(handleValid),
          mFds(fds),
          mInts(std::move(ints)),
          mDescriptor(descriptor),
          mFd(fd) {}
    ~ImportedMemory() override { closeDescriptor(); }
    ImportedMemory(const ImportedMemory&) = delete;
    ImportedMemory& operator=(const ImportedMemory&) = delete;

    std::string_view name() const override { return mName; }
    size_t size() const override { return static_cast<size_t>(mSize); }
    bool valid() const override { return mHandleValid; }

    Status use(const driver::ByteRange& range, const driver::Account* account) const override {
        std::lock_guard lock(mMutex);
        if (!mUsed.has_value()) {
            mUsed = range.empty() ? Status() : mapUsed(range, account);
            if (mDescriptor == Descriptor::CLOSED_ONCE_MAPPED) {
                closeDescriptor();
            }
        } else if (mUsed->ok() && !mRange.holds(range.begin, range.end - range.begin)) {
            return internalError("more is used of it than was said at first");
        }
        return mUsed->withContext("pool " + mName + " of " + std::to_string(mSize) + " bytes");
    }

    Result<std::span<uint8_t>> bytes(size_t offset, size_t length) const override {
        std::lock_guard lock(mMutex);
        if (length == 0) {
            return std::span<uint8_t>();
        }
        if (!mMapping.has_value() || !mRange.holds(offset, length)) {
            return internalError("these bytes are not in use");
        }
        return mBytes.subspan(offset - static_cast<size_t>(mRange.begin), length);
    }

    bool writable() const override {
        std::lock_guard lock(mMutex);
        return mWritable;
    }

    bool intact() const override {
        std::lock_guard lock(mMutex);
        return !mMapping.has_value() || mMapping->intact();
    }

  private:
    void closeDescriptor() const {
        if (mFd >= 0) {
            close(std::exchange(mFd, -1));
        }
    }

    Status mapUsed(const driver::ByteRange& range, const driver::Account* account) const {
        if (!mHandleValid) {
            return invalidArgument("null handle");
        }
        if (mName == kAshmem) {
            if (mFds != 1 || !mInts.empty()) {
                return wrongHandle();
            }
            // Ashmem can't be cut short; a memfd can be kept from it, unless its owner forbade
            // seals.
            fcntl(mFd, F_ADD_SEALS, F_SEAL_SHRINK);
            return mapRange(PROT_READ | PROT_WRITE, 0, range, account);
        }
        if (mName == kMappedFile) {
            if (mFds != 1 || mInts.size() != 3) {
                return wrongHandle();
            }
            const uint64_t offset = static_cast<uint32_t>(mInts[1]) |
                                    static_cast<uint64_t>(static_cast<uint32_t>(mInts[2])) << 32;
            return mapRange(PROT_READ | (mInts[0] & PROT_WRITE), offset, range, account);
        }
        return unsupported("memory of this kind can't be mapped");
    }

    Status wrongHandle() const {
        return invalidArgument("a handle of " + std::to_string(mFds) + " descriptors and " +
                               std::to_string(mInts.size()) + " integers");
    }

    // `offset`: of the pool in its file.
    Status mapRange(int protection, uint64_t offset, const driver::ByteRange& range,
                    const driver::Account* account) const {
        if (mFd < 0) {
            return {StatusCode::RESOURCE_EXHAUSTED, "its descriptor could not be duplicated"};
        }
        HALYARD_ASSIGN_OR_RETURN(uint64_t available, sizeBehind(mFd));
        if (!rangeFits<uint64_t>(offset, mSize, available)) {
            return invalidArgument("reaches beyond the " + std::to_string(available) +
                                   " bytes that there are, from offset " + std::to_string(offset));
        }
        if (!rangeFits<uint64_t>(range.begin, range.end - range.begin, mSize)) {
            return invalidArgument("is used beyond its end");
        }
        const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
        // No overflow: both ends lie in the file, whose size fits off_t.
        const uint64_t first = offset + range.begin;
        const uint64_t start = first & ~(page - 1);
        const uint64_t length =
                (first - start + (range.end - range.begin) + page - 1) & ~(page - 1);
        if (length > SIZE_MAX) {
            return {StatusCode::RESOURCE_EXHAUSTED, "larger than the address space"};
        }
        if (account != nullptr) {
            HALYARD_ASSIGN_OR_RETURN(mPlace, Reservation::create(account->mappings, 1));
            HALYARD_ASSIGN_OR_RETURN(mAddresses, Reservation::create(account->addressSpace,
                                                                     static_cast<size_t>(length)));
        }
        auto attempt = [&] {
            return mmap(nullptr, static_cast<size_t>(length), protection, MAP_SHARED, mFd,
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
        mBytes = {mMapping->bytes() + (first - start),
                  static_cast<size_t>(range.end - range.begin)};
        mRange = range;
        mWritable = (protection & PROT_WRITE) != 0;
        return {};
    }

    const std::string mName;
    const uint64_t mSize;
    const bool mHandleValid;
    const size_t mFds;
    const std::vector<int32_t> mInts;
    const Descriptor mDescriptor;

    mutable std::mutex mMutex;
    mutable int mFd;
    mutable std::optional<Status> mUsed;  // what the one attempt gave
    mutable Reservation mPlace;
    mutable Reservation mAddresses;
    mutable std::optional<GuardedMapping> mMapping;
    mutable driver::ByteRange mRange;
    mutable std::span<uint8_t> mBytes;
    mutable bool mWritable = false;
};

}  // namespace

driver::SharedMemory importMemory(std::string name, const ReceivedHandle& handle, uint64_t size) {
    // No kind of memory that can be mapped has more than one.
    const std::vector<int>& fds = handle.handle.fds;
    const int fd = fds.size() == 1 ? fcntl(fds[0], F_DUPFD_CLOEXEC, 0) : -1;
    return std::make_shared<const ImportedMemory>(std::move(name), size, handle.valid, fd,
                                                  fds.size(), handle.handle.ints,
                                                  Descriptor::CLOSED_ONCE_MAPPED);
}

Result<ExportedMemory> createSharedMemory(size_t size) {
    int fd = memfd_create("halyard", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        return systemError("memfd_create");
    }
    auto memory = std::make_shared<const ImportedMemory>(std::string(kAshmem), size, true, fd, 1,
                                                         std::vector<int32_t>(), Descriptor::KEPT);
    if (ftruncate(fd, static_cast<off_t>(size)) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        return systemError("shared memory of " + std::to_string(size) + " bytes");
    }
    return ExportedMemory{.memory = std::move(memory), .handle = {.fds = {fd}, .ints = {}}};
}

}  // namespace halyard::hal
