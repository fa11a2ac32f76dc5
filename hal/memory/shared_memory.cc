// SPDX-License-Identifier: Apache-2.0

#include "hal/memory/shared_memory.h"

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

#include "driver/clients/client.h"
#include "engine/base/checked_math.h"
#include "engine/base/file_descriptor.h"
#include "hal/descriptors/client_workers.h"
#include "hal/descriptors/descriptor_kind.h"
#include "hal/memory/guarded_mapping.h"

namespace halyard::hal {
namespace {

constexpr std::string_view kAshmem = "ashmem";
constexpr std::string_view kMappedFile = "mmap_fd";
constexpr std::string_view kHardwareBuffer = "hardware_buffer_blob";

Status systemError(const std::string& what) {
    return internalError(what + ": " + std::strerror(errno));
}

// The process that closing a dma-buf's last descriptor blocks on is not known. So each account has
// one worker for all of its own.
ClientWorkers::Owner ownerOf(const driver::Account* account) {
    constexpr uint32_t kDmaBufs = 0xfffffffe;
    const auto number = reinterpret_cast<uintptr_t>(account);
    return {.pid = static_cast<int32_t>(number >> 4U), .uid = kDmaBufs};
}

// A mapping, and what it takes of an account, which it gives back once it is gone.
class ChargedMapping final : public driver::Mapping {
  public:
    // `owner`: on whose worker it is unmapped, where that may block; null: it never does.
    ChargedMapping(Reservation place, Reservation addresses, Reservation pages,
                   std::optional<ClientWorkers::Owner> owner)
        : mOwner(owner) {
        mHeld->place = std::move(place);
        mHeld->addresses = std::move(addresses);
        mHeld->pages = std::move(pages);
    }
    ~ChargedMapping() override {
        if (mOwner.has_value()) {
            ClientWorkers::here().run(
                    *mOwner,
                    [held = std::shared_ptr<Held>(std::move(mHeld))]() mutable { held = nullptr; });
        }
    }
    ChargedMapping(const ChargedMapping&) = delete;
    ChargedMapping& operator=(const ChargedMapping&) = delete;

    // Takes over what mmap gave; once.
    uint8_t* hold(void* address, size_t length, bool writable, bool canShrink) {
        mWritable = writable;
        mHeld->mapping.emplace(address, length, writable, canShrink);
        return mHeld->mapping->bytes();
    }
    bool writable() const override { return mWritable; }
    bool intact() const override { return mHeld->mapping->intact(); }

  private:
    struct Held {
        Reservation place;
        Reservation addresses;
        Reservation pages;
        std::optional<GuardedMapping> mapping;
    };
    std::unique_ptr<Held> mHeld = std::make_unique<Held>();
    const std::optional<ClientWorkers::Owner> mOwner;
    bool mWritable = false;
};

// Where in its descriptor a memory lies, and how it may be mapped.
struct Place {
    int protection = PROT_READ | PROT_WRITE;
    uint64_t offset = 0;
};

class ImportedMemory final : public driver::Memory {
  public:
    // Takes over `fd`, which is -1 if there is none to be mapped. `place`: a failure is why it
    // can't be mapped at all. `descriptor`: what the descriptor takes of an account.
    ImportedMemory(std::string name, uint64_t size, bool handleValid, int fd, DescriptorKind kind,
                   Result<Place> place, Uses uses, bool canShrink, Reservation descriptor)
        : mName(std::move(name)),
          mSize(size),
          mHandleValid(handleValid),
          mKind(kind),
          mPlace(std::move(place)),
          mUses(uses),
          mCanShrink(canShrink),
          mDescriptor(std::move(descriptor)),
          mFd(fd) {}
    ~ImportedMemory() override { closeDescriptor(); }
    ImportedMemory(const ImportedMemory&) = delete;
    ImportedMemory& operator=(const ImportedMemory&) = delete;

    std::string_view name() const override { return mName; }
    size_t size() const override { return static_cast<size_t>(mSize); }
    bool valid() const override { return mHandleValid; }

    Result<driver::MemoryUse> use(const driver::ByteRange& range,
                                  const driver::Account* account) const override {
        const std::lock_guard lock(mMutex);
        Result<driver::MemoryUse> used = take(range, account);
        if (mUses == Uses::ONE) {
            closeDescriptor();
        }
        return used.ok() ? used
                         : used.status().withContext("pool " + mName + " of " +
                                                     std::to_string(mSize) + " bytes");
    }

    Result<std::span<uint8_t>> map() const override {
        HALYARD_ASSIGN_OR_RETURN(driver::MemoryUse whole, useWhole(nullptr));
        const std::lock_guard lock(mMutex);
        if (mOwn.mapping() == nullptr) {
            mOwn = std::move(whole);
        }
        return mOwn.bytes(0, mSize);
    }

  private:
    // All of it, while it is in use.
    struct Whole {
        std::weak_ptr<const driver::Mapping> mapping;
        std::span<uint8_t> bytes;
    };

    void closeDescriptor() const {
        if (mFd < 0) {
            return;
        }
        FileDescriptor descriptor(std::exchange(mFd, -1));
        if (!closesAtOnce(mKind)) {
            std::vector<FileDescriptor> slow;
            slow.push_back(std::move(descriptor));
            ClientWorkers::here().close(mOwner, std::move(slow));
        }
    }

    Result<driver::MemoryUse> take(const driver::ByteRange& range,
                                   const driver::Account* account) const {
        if (range.empty()) {
            mClosed = mUses == Uses::ONE;
            return driver::MemoryUse();
        }
        if (!rangeFits<uint64_t>(range.begin, range.end - range.begin, mSize)) {
            return invalidArgument("is used beyond its end");
        }
        if (std::shared_ptr<const driver::Mapping> whole = mWhole.mapping.lock()) {
            const auto begin = static_cast<size_t>(range.begin);
            return driver::MemoryUse(
                    std::move(whole), range.begin,
                    mWhole.bytes.subspan(begin, static_cast<size_t>(range.end) - begin));
        }
        if (mClosed) {
            return internalError("was for one use");
        }
        mClosed = mUses == Uses::ONE;
        HALYARD_RETURN_IF_ERROR(mPlace.status());
        return mapRange(*mPlace, range, account);
    }

    Result<driver::MemoryUse> mapRange(const Place& place, const driver::ByteRange& range,
                                       const driver::Account* account) const {
        if (mFd < 0 && mKind != DescriptorKind::OTHER) {
            return Status(StatusCode::RESOURCE_EXHAUSTED, "its descriptor could not be duplicated");
        }
        if (place.offset > UINT64_MAX - mSize) {
            return invalidArgument("its end, from offset " + std::to_string(place.offset) +
                                   ", is beyond all bytes");
        }
        HALYARD_RETURN_IF_ERROR(checkReaches(mFd, mKind, place.offset + mSize));
        const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
        // No overflow: both ends lie in the file, whose size fits off_t.
        const uint64_t first = place.offset + range.begin;
        const uint64_t start = first & ~(page - 1);
        const uint64_t length =
                (first - start + (range.end - range.begin) + page - 1) & ~(page - 1);
        if (length > SIZE_MAX) {
            return outOfReach("larger than the address space");
        }
        Reservation mappings;
        Reservation addresses;
        Reservation pages;
        if (account != nullptr) {
            mOwner = ownerOf(account);
            HALYARD_ASSIGN_OR_RETURN(mappings, Reservation::create(account->mappings, 1));
            HALYARD_ASSIGN_OR_RETURN(addresses, Reservation::create(account->addressSpace,
                                                                    static_cast<size_t>(length)));
            HALYARD_ASSIGN_OR_RETURN(
                    pages, Reservation::create(account->sharedMemory,
                                               static_cast<size_t>(touchedPages(
                                                       range, length, place.protection))));
        }
        auto mapping = std::make_shared<ChargedMapping>(
                std::move(mappings), std::move(addresses), std::move(pages),
                closesAtOnce(mKind) ? std::nullopt : std::optional(mOwner));
        int protection = place.protection;
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
            return Status(
                    errno == ENOMEM ? StatusCode::RESOURCE_EXHAUSTED : StatusCode::INVALID_ARGUMENT,
                    std::string("mmap: ") + std::strerror(errno));
        }
        const std::span<uint8_t> bytes = {
                mapping->hold(address, static_cast<size_t>(length), (protection & PROT_WRITE) != 0,
                              mCanShrink) +
                        (first - start),
                static_cast<size_t>(range.end - range.begin)};
        // A use that is charged as a whole may be touched anywhere, by further uses as well.
        if (bytes.size() == mSize && range.touched == 0) {
            mWhole = {.mapping = mapping, .bytes = bytes};
        }
        return driver::MemoryUse(std::move(mapping), range.begin, bytes);
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
    const Result<Place> mPlace;
    const Uses mUses;
    const bool mCanShrink;
    const Reservation mDescriptor;

    mutable std::mutex mMutex;
    mutable int mFd;
    mutable bool mClosed = false;  // the one use has been
    mutable Whole mWhole;
    mutable driver::MemoryUse mOwn;  // of map()
    mutable ClientWorkers::Owner mOwner = ownerOf(nullptr);
};

driver::SharedMemory import(std::string_view name, int fd, uint64_t size, Result<Place> place,
                            const ImportOptions& options) {
    // A descriptor that is no memory is not kept: closing it later may block for ever.
    const DescriptorKind kind = kindOf(fd);
    Reservation descriptor;
    if (options.uses == Uses::MANY && options.account != nullptr) {
        Result<Reservation> reserved = Reservation::create(options.account->descriptors, 1);
        if (!reserved.ok()) {
            return unmappableMemory(std::string(name), size, true, reserved.status());
        }
        descriptor = std::move(*reserved);
    }
    const int own = kind != DescriptorKind::OTHER ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    return std::make_shared<const ImportedMemory>(std::string(name), size, true, own, kind,
                                                  std::move(place), options.uses, options.canShrink,
                                                  std::move(descriptor));
}

// The kinds that a graphics allocator may make a buffer of.
bool isMemory(DescriptorKind kind) {
    return kind == DescriptorKind::DMA_BUF || kind == DescriptorKind::SHARED_MEMORY ||
           kind == DescriptorKind::ASHMEM;
}

}  // namespace

driver::SharedMemory importAshmem(int fd, uint64_t size, const ImportOptions& options) {
    // A memfd could be kept from being cut short by a seal, but that waits for a lock of the
    // file's, which a write() of its owner may hold for good. The mapping is guarded.
    return import(kAshmem, fd, size, Place(), options);
}

driver::SharedMemory importHardwareBuffer(std::span<const int> fds, uint64_t size,
                                          const ImportOptions& options) {
    const auto memory = std::ranges::find_if(fds, [size](int fd) {
        const DescriptorKind kind = kindOf(fd);
        return isMemory(kind) && (size == 0 || checkReaches(fd, kind, size).ok());
    });
    // Where none of them is, the first one's use says why.
    return import(kHardwareBuffer, memory != fds.end() ? *memory : fds.front(), size, Place(),
                  options);
}

driver::SharedMemory importMappedFile(int fd, uint64_t size, int protection, uint64_t offset,
                                      const ImportOptions& options) {
    return import(kMappedFile, fd, size,
                  Place{.protection = PROT_READ | (protection & PROT_WRITE), .offset = offset},
                  options);
}

driver::SharedMemory unmappableMemory(std::string name, uint64_t size, bool valid, Status why) {
    return std::make_shared<const ImportedMemory>(std::move(name), size, valid, -1,
                                                  DescriptorKind::OTHER, std::move(why), Uses::ONE,
                                                  true, Reservation());
}

namespace {

// Of this process, which keeps its descriptor for sending it.
class OwnMemory final : public driver::Memory {
  public:
    OwnMemory(driver::SharedMemory memory, std::shared_ptr<const FileDescriptor> descriptor)
        : mMemory(std::move(memory)),
          mDescriptor(std::move(descriptor)),
          mHandle{.descriptors = {mDescriptor->get()}, .numbers = {}} {}

    std::string_view name() const override { return mMemory->name(); }
    size_t size() const override { return mMemory->size(); }
    bool valid() const override { return mMemory->valid(); }
    Result<driver::MemoryUse> use(const driver::ByteRange& range,
                                  const driver::Account* account) const override {
        return mMemory->use(range, account);
    }
    Result<std::span<uint8_t>> map() const override { return mMemory->map(); }
    const driver::MemoryHandle* handle() const override { return &mHandle; }

  private:
    const driver::SharedMemory mMemory;
    const std::shared_ptr<const FileDescriptor> mDescriptor;
    const driver::MemoryHandle mHandle;
};

}  // namespace

Result<ExportedMemory> createSharedMemory(size_t size) {
    auto descriptor = std::make_shared<const FileDescriptor>(
            memfd_create("halyard", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    const int fd = descriptor->get();
    if (fd < 0) {
        return systemError("memfd_create");
    }
    if (ftruncate(fd, static_cast<off_t>(size)) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        return systemError("shared memory of " + std::to_string(size) + " bytes");
    }
    return ExportedMemory{
            .memory = std::make_shared<const OwnMemory>(
                    importAshmem(fd, size, {.uses = Uses::MANY, .canShrink = false}), descriptor),
            .handle = {.fds = {fd}, .ints = {}},
            .descriptor = std::move(descriptor)};
}

}  // namespace halyard::hal
