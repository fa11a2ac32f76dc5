// SPDX-License-Identifier: Apache-2.0

#include "hal/binder/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "driver/client.h"
#include "engine/base/checked_math.h"
#include "engine/base/file_descriptor.h"
#include "hal/binder/client_lanes.h"
#include "hal/binder/descriptor_kind.h"
#include "hal/binder/guarded_mapping.h"

namespace halyard::hal {
namespace {

constexpr std::string_view kAshmem = "ashmem";
constexpr std::string_view kMappedFile = "mmap_fd";

Status systemError(const std::string& what) {
    return internalError(what + ": " + std::strerror(errno));
}

// Whose a dma-buf's last descriptor is nobody knows, and who is waited for when it is closed. Each
// account waits for its own.
ClientLanes::Owner laneOf(const driver::Account* account) {
    constexpr uint32_t kDmaBufs = 0xfffffffe;
    const auto number = reinterpret_cast<uintptr_t>(account);
    return {.pid = static_cast<int32_t>(number >> 4U), .uid = kDmaBufs};
}

// Whether the descriptor lives on once the memory is mapped.
enum class Descriptor : uint8_t { CLOSED_ONCE_MAPPED, KEPT };

class ImportedMemory final : public driver::Memory {
  public:
    // Takes over `fd`, which is -1 if there is none to be mapped; `fds`: how many the handle had.
    ImportedMemory(std::string name, uint64_t size, bool handleValid, int fd, DescriptorKind kind,
                   size_t fds, std::vector<int32_t> ints, Descriptor descriptor)
        : mName(std::move(name)),
          mSize(size),
          mHandleValid(handleValid),
          mKind(kind),
          mFds(fds),
          mInts(std::move(ints)),
          mDescriptor(descriptor),
          mFd(fd) {}
    ~ImportedMemory() override {
        closeDescriptor();
        if (mMapped != nullptr && !closesAtOnce(mKind)) {
            ClientLanes::here().run(mLane,
                                    [mapped = std::move(mMapped)]() mutable { mapped = nullptr; });
        }
    }
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
        if (mMapped == nullptr || !mRange.holds(offset, length)) {
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
        return mMapped == nullptr || mMapped->mapping->intact();
    }

  private:
    // A mapping, and what it takes of an account, which it gives back once it is gone.
    struct Mapped {
        Reservation place;
        Reservation addresses;
        Reservation pages;
        std::optional<GuardedMapping> mapping;
    };

    void closeDescriptor() const {
        if (mFd < 0) {
            return;
        }
        FileDescriptor descriptor(std::exchange(mFd, -1));
        if (!closesAtOnce(mKind)) {
            std::vector<FileDescriptor> slow;
            slow.push_back(std::move(descriptor));
            ClientLanes::here().close(mLane, std::move(slow));
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
            // A memfd could be kept from being cut short by a seal, but that waits for a lock of
            // the file's, which a write() of its owner may hold for good. The mapping is guarded.
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
        if (mFd < 0 && mKind != DescriptorKind::OTHER) {
            return {StatusCode::RESOURCE_EXHAUSTED, "its descriptor could not be duplicated"};
        }
        if (offset > UINT64_MAX - mSize) {
            return invalidArgument("its end, from offset " + std::to_string(offset) +
                                   ", is beyond all bytes");
        }
        HALYARD_RETURN_IF_ERROR(checkReaches(mFd, mKind, offset + mSize));
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
            return outOfReach("larger than the address space");
        }
        auto mapped = std::make_shared<Mapped>();
        if (account != nullptr) {
            mLane = laneOf(account);
            HALYARD_ASSIGN_OR_RETURN(mapped->place, Reservation::create(account->mappings, 1));
            HALYARD_ASSIGN_OR_RETURN(
                    mapped->addresses,
                    Reservation::create(account->addressSpace, static_cast<size_t>(length)));
            HALYARD_ASSIGN_OR_RETURN(mapped->pages,
                                     Reservation::create(account->sharedMemory,
                                                         static_cast<size_t>(touchedPages(
                                                                 range, length, protection))));
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
        mWritable = (protection & PROT_WRITE) != 0;
        mapped->mapping.emplace(address, static_cast<size_t>(length), mWritable);
        mBytes = {mapped->mapping->bytes() + (first - start),
                  static_cast<size_t>(range.end - range.begin)};
        mRange = range;
        mMapped = std::move(mapped);
        return {};
    }

    // How many bytes of memory may come into being, or be kept from going, by the use of so much of
    // a mapping of `length` bytes.
    uint64_t touchedPages(const driver::ByteRange& range, uint64_t length, int protection) const {
        // A disk's pages can go when they are needed. Once the file is cut short zeros take the
        // place of those that are written to.
        if (mKind == DescriptorKind::FILE && (protection & PROT_WRITE) == 0) {
            return 0;
        }
        return range.touched == 0 ? length : std::min(range.touched, length);
    }

    const std::string mName;
    const uint64_t mSize;
    const bool mHandleValid;
    const DescriptorKind mKind;
    const size_t mFds;
    const std::vector<int32_t> mInts;
    const Descriptor mDescriptor;

    mutable std::mutex mMutex;
    mutable int mFd;
    mutable std::optional<Status> mUsed;  // what the one attempt gave
    mutable std::shared_ptr<Mapped> mMapped;
    mutable ClientLanes::Owner mLane = laneOf(nullptr);
    mutable driver::ByteRange mRange;
    mutable std::span<uint8_t> mBytes;
    mutable bool mWritable = false;
};

}  // namespace

driver::SharedMemory importMemory(std::string name, const ReceivedHandle& handle, uint64_t size) {
    // No kind of memory that can be mapped has more than one. What is none is not kept: closing it
    // again may take for ever.
    const std::vector<int>& fds = handle.handle.fds;
    const DescriptorKind kind = fds.size() == 1 ? kindOf(fds[0]) : DescriptorKind::OTHER;
    const int fd = kind != DescriptorKind::OTHER ? fcntl(fds[0], F_DUPFD_CLOEXEC, 0) : -1;
    return std::make_shared<const ImportedMemory>(std::move(name), size, handle.valid, fd, kind,
                                                  fds.size(), handle.handle.ints,
                                                  Descriptor::CLOSED_ONCE_MAPPED);
}

Result<ExportedMemory> createSharedMemory(size_t size) {
    int fd = memfd_create("halyard", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        return systemError("memfd_create");
    }
    auto memory = std::make_shared<const ImportedMemory>(std::string(kAshmem), size, true, fd,
                                                         DescriptorKind::SHARED_MEMORY, 1,
                                                         std::vector<int32_t>(), Descriptor::KEPT);
    if (ftruncate(fd, static_cast<off_t>(size)) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        return systemError("shared memory of " + std::to_string(size) + " bytes");
    }
    return ExportedMemory{.memory = std::move(memory), .handle = {.fds = {fd}, .ints = {}}};
}

}  // namespace halyard::hal
