// SPDX-License-Identifier: Apache-2.0

#include "hal/memory/shared_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "driver/clients/client.h"
#include "engine/base/file_descriptor.h"
#include "hal/descriptors/descriptor_kind.h"
#include "hal/hidl/hidl_memory.h"
#include "tests/hal/open_descriptors.h"

namespace halyard::hal {
namespace {

// A memfd of the test's own, closed with it.
class File {
  public:
    explicit File(size_t size, unsigned flags = MFD_ALLOW_SEALING)
        : mFd(memfd_create("test", MFD_CLOEXEC | flags)) {
        EXPECT_EQ(ftruncate(mFd, static_cast<off_t>(size)), 0);
    }
    ~File() { close(mFd); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    int fd() const { return mFd; }

  private:
    const int mFd;
};

ReceivedHandle handleOf(std::vector<int> fds, std::vector<int32_t> ints = {}) {
    return {.valid = true, .handle = {.fds = std::move(fds), .ints = std::move(ints)}};
}

std::vector<int32_t> mappedFile(int32_t protection, uint64_t offset) {
    return {protection, static_cast<int32_t>(offset & 0xffffffff),
            static_cast<int32_t>(offset >> 32)};
}

StatusCode mapCode(const std::string& name, const ReceivedHandle& handle, uint64_t size) {
    return hidl::importMemory(name, handle, size)->map().status().code();
}

TEST(SharedMemory, ReachesTheOtherSideThroughItsHandle) {
    Result<ExportedMemory> made = createSharedMemory(5000);
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(made->memory->name(), "ashmem");
    EXPECT_EQ(made->handle.fds.size(), 1u);
    EXPECT_TRUE(made->handle.ints.empty());
    std::memset(made->memory->map()->data(), 0x5a, 5000);

    driver::SharedMemory other =
            hidl::importMemory("ashmem", {.valid = true, .handle = made->handle}, 5000);
    Result<std::span<uint8_t>> bytes = other->map();
    ASSERT_TRUE(bytes.ok());
    EXPECT_EQ(bytes->size(), 5000u);
    EXPECT_EQ((*bytes)[4999], 0x5a);
    EXPECT_TRUE(other->useWhole(nullptr)->writable());
    (*bytes)[0] = 1;
    EXPECT_EQ(made->memory->map()->data()[0], 1);
    EXPECT_EQ(other->map()->data(), bytes->data()) << "mapped once";
}

TEST(SharedMemory, IsSealedAgainstChangesOfSize) {
    Result<ExportedMemory> made = createSharedMemory(4096);
    ASSERT_TRUE(made.ok());
    EXPECT_LT(ftruncate(made->handle.fds[0], 10), 0);
    EXPECT_LT(ftruncate(made->handle.fds[0], 10000), 0);
}

TEST(SharedMemory, KeepsDescriptorsOfItsOwn) {
    driver::SharedMemory memory;
    {
        File file(100);
        memory = hidl::importMemory("ashmem", handleOf({file.fd()}), 100);
    }
    EXPECT_TRUE(memory->map().ok());
}

TEST(SharedMemory, IsNotSealed) {
    // A seal waits for a writer to the file, and that may be for good.
    File file(8192);
    driver::SharedMemory memory = hidl::importMemory("ashmem", handleOf({file.fd()}), 8192);
    const Result<driver::MemoryUse> use = memory->useWhole(nullptr);
    ASSERT_TRUE(use.ok());
    EXPECT_EQ(fcntl(file.fd(), F_GET_SEALS), 0);
    EXPECT_TRUE(use->intact());
}

TEST(SharedMemory, RefusesMoreThanThereIs) {
    File file(100);
    EXPECT_EQ(mapCode("ashmem", handleOf({file.fd()}), 101), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(mapCode("ashmem", handleOf({file.fd()}), std::numeric_limits<uint64_t>::max()),
              StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(mapCode("ashmem", handleOf({file.fd()}), 100), StatusCode::OK);
    EXPECT_EQ(mapCode("ashmem", handleOf({file.fd()}), 0), StatusCode::OK);
}

TEST(SharedMemory, IsUsedWithinItselfAndOnceWhereItIsForOneUse) {
    const File file(100);
    const driver::SharedMemory memory =
            importAshmem(file.fd(), 50, {.uses = Uses::MANY, .account = nullptr});
    EXPECT_TRUE(memory->use({.begin = 10, .end = 50}, nullptr).ok());
    const std::string beyond(memory->use({.begin = 10, .end = 51}, nullptr).status().message());
    EXPECT_NE(beyond.find("is used beyond its end"), std::string::npos) << beyond;
    const driver::SharedMemory once = importAshmem(file.fd(), 50, {});
    EXPECT_TRUE(once->use({.begin = 10, .end = 50}, nullptr).ok());
    const Status again = once->use({.begin = 10, .end = 50}, nullptr).status();
    EXPECT_EQ(again.code(), StatusCode::INTERNAL);
    EXPECT_NE(again.message().find("was for one use"), std::string_view::npos);
}

// A file of holes may be larger than all addresses.
TEST(SharedMemory, FailsWhereTheKernelDoesNotMapIt) {
    constexpr uint64_t kSize = uint64_t{1} << 52;
    const File file(0);
    if (ftruncate(file.fd(), kSize) != 0) {
        GTEST_SKIP() << "no file is as long here";
    }
    EXPECT_EQ(mapCode("ashmem", handleOf({file.fd()}), kSize), StatusCode::RESOURCE_EXHAUSTED);
}

TEST(SharedMemory, RefusesWhatCantBeRead) {
    const File file(100);
    const FileDescriptor writeOnly(
            open(("/proc/self/fd/" + std::to_string(file.fd())).c_str(), O_WRONLY | O_CLOEXEC));
    const std::string refused(importAshmem(writeOnly.get(), 10, {})->map().status().message());
    EXPECT_NE(refused.find("can't be read"), std::string::npos) << refused;
}

TEST(SharedMemory, RefusesHandlesOfAnotherShape) {
    File file(100);
    EXPECT_EQ(mapCode("ashmem", handleOf({}), 10), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(mapCode("ashmem", handleOf({file.fd(), file.fd()}), 10),
              StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(mapCode("ashmem", handleOf({file.fd()}, {1}), 10), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(mapCode("mmap_fd", handleOf({file.fd()}, {PROT_READ, 0}), 10),
              StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(mapCode("mmap_fd", handleOf({}, {PROT_READ, 0, 0}), 10),
              StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(mapCode("ashmem", handleOf({-1}), 10), StatusCode::INVALID_ARGUMENT);

    driver::SharedMemory null = hidl::importMemory("ashmem", {}, 10);
    EXPECT_FALSE(null->valid());
    EXPECT_EQ(null->map().status().code(), StatusCode::INVALID_ARGUMENT);
}

TEST(SharedMemory, RefusesDescriptorsThatAreNoMemory) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    EXPECT_EQ(mapCode("ashmem", handleOf({ends[0]}), 1), StatusCode::INVALID_ARGUMENT);
    close(ends[0]);
    close(ends[1]);
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    EXPECT_EQ(mapCode("ashmem", handleOf({null}), 1), StatusCode::INVALID_ARGUMENT);
    close(null);
}

TEST(SharedMemory, MapsAFileFromAnyOffset) {
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
    File file(3 * page);
    for (uint64_t offset : {uint64_t{0}, uint64_t{1}, page - 1, page, page + 5, 2 * page + 17}) {
        const uint8_t mark = static_cast<uint8_t>(offset % 251 + 1);
        ASSERT_EQ(pwrite(file.fd(), &mark, 1, static_cast<off_t>(offset)), 1);
        driver::SharedMemory memory = hidl::importMemory(
                "mmap_fd", handleOf({file.fd()}, mappedFile(PROT_READ, offset)), page);
        if (offset + page > 3 * page) {
            EXPECT_EQ(memory->map().status().code(), StatusCode::INVALID_ARGUMENT);
            continue;
        }
        ASSERT_TRUE(memory->map().ok()) << offset;
        EXPECT_EQ(memory->map()->size(), page);
        EXPECT_EQ((*memory->map())[0], mark) << offset;
        EXPECT_FALSE(memory->useWhole(nullptr)->writable());
    }
}

TEST(SharedMemory, RefusesOffsetsThatOverflow) {
    File file(4096);
    for (uint64_t offset : {uint64_t{4096}, uint64_t{1} << 32, uint64_t{1} << 63,
                            std::numeric_limits<uint64_t>::max()}) {
        EXPECT_EQ(mapCode("mmap_fd", handleOf({file.fd()}, mappedFile(PROT_READ, offset)), 1),
                  StatusCode::INVALID_ARGUMENT)
                << offset;
    }
    // Of which the end alone would lie within the file.
    const Status wrapped =
            hidl::importMemory("mmap_fd",
                               handleOf({file.fd()}, mappedFile(PROT_READ, uint64_t{0} - 4096)),
                               4100)
                    ->map()
                    .status();
    EXPECT_NE(wrapped.message().find("is beyond all bytes"), std::string_view::npos)
            << wrapped.message();
}

// The account of a client with room for so much.
driver::Account accountWith(size_t mappings, size_t bytes) {
    driver::Account account;
    account.mappings = std::make_shared<Budget>(mappings, nullptr, "mappings");
    account.addressSpace = std::make_shared<Budget>(bytes, nullptr, "bytes mapped");
    account.sharedMemory = std::make_shared<Budget>(bytes, nullptr, "bytes of shared memory");
    account.descriptors = std::make_shared<Budget>(1, nullptr, "descriptors");
    return account;
}

TEST(SharedMemory, MapsTheRangeThatIsUsedAndChargesIt) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
    const uint64_t size = uint64_t{1} << 40;  // sparse
    File file(0);
    ASSERT_EQ(ftruncate(file.fd(), static_cast<off_t>(size)), 0);
    const uint64_t at = (size / 2) + 100;
    ASSERT_EQ(pwrite(file.fd(), "here", 4, static_cast<off_t>(at)), 4);
    const driver::Account account = accountWith(1, 2 * page);
    {
        const driver::SharedMemory memory =
                hidl::importMemory("ashmem", handleOf({file.fd()}), size);
        const Result<driver::MemoryUse> use =
                memory->use({.begin = at, .end = at + page}, &account);
        ASSERT_TRUE(use.ok()) << use.status().toString();
        EXPECT_EQ(account.mappings->reserved(), 1U);
        EXPECT_EQ(account.addressSpace->reserved(), 2 * page) << "whole pages";
        const Result<std::span<uint8_t>> bytes = use->bytes(at, 4);
        ASSERT_TRUE(bytes.ok()) << bytes.status().toString();
        EXPECT_EQ(std::string(bytes->begin(), bytes->end()), "here");
        EXPECT_TRUE(use->bytes(0, 0).ok()) << "no bytes are always there";
        EXPECT_EQ(use->bytes(at - 1, 1).status().code(), StatusCode::INTERNAL);
        EXPECT_EQ(use->bytes(at + page, 1).status().code(), StatusCode::INTERNAL);
        EXPECT_FALSE(memory->use({.begin = 0, .end = 10}, &account).ok()) << "it was for one";
        const driver::SharedMemory other =
                hidl::importMemory("ashmem", handleOf({file.fd()}), size);
        EXPECT_EQ(other->use({.begin = 0, .end = 1}, &account).status().code(),
                  StatusCode::RESOURCE_EXHAUSTED);
    }
    EXPECT_EQ(account.mappings->reserved(), 0U);
    EXPECT_EQ(account.addressSpace->reserved(), 0U);
}

TEST(SharedMemory, ChargesWhatMayBeTouched) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
    File file(1000 * page);
    const driver::Account account = accountWith(100, 10000 * page);
    const auto chargeOf = [&](const driver::ByteRange& range) {
        const driver::SharedMemory memory =
                hidl::importMemory("ashmem", handleOf({file.fd()}), 1000 * page);
        const Result<driver::MemoryUse> use = memory->use(range, &account);
        EXPECT_TRUE(use.ok()) << use.status().toString();
        return account.sharedMemory->reserved() / page;
    };
    EXPECT_EQ(chargeOf({.begin = 0, .end = 1000 * page}), 1000U);
    driver::ByteRange two;
    two.include(10, 20);
    two.include(990 * page - 1, 2);
    EXPECT_EQ(chargeOf(two), 3U) << "not what lies between";
    driver::ByteRange same;
    same.include(0, page);
    same.include(0, page);
    EXPECT_EQ(chargeOf(same), 1U) << "not more than there is";
    EXPECT_EQ(account.sharedMemory->reserved(), 0U) << "nothing once it is gone";
}

TEST(SharedMemory, RefusesToTouchMoreThanTheAccountHas) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
    File file(10 * page);
    driver::Account account = accountWith(100, 100 * page);
    account.sharedMemory = std::make_shared<Budget>(15 * page, nullptr, "bytes of shared memory");
    const auto import = [&] {
        return hidl::importMemory("ashmem", handleOf({file.fd()}), 10 * page);
    };
    std::optional<driver::MemoryUse> first = import()->useWhole(&account).value();
    const Status refused = import()->useWhole(&account).status();
    EXPECT_EQ(refused.code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_NE(refused.message().find("bytes of shared memory"), std::string_view::npos);
    EXPECT_EQ(account.mappings->reserved(), 1U) << "nothing of what is refused";
    EXPECT_FALSE(refused.persistent()) << "there will be room once the other one ends";
    first.reset();
    EXPECT_TRUE(import()->useWhole(&account).ok());
}

TEST(SharedMemory, PagesOfADiskAreNotCharged) {
    const FileDescriptor file(open(HALYARD_SOURCE_DIR "/README.md", O_RDONLY | O_CLOEXEC));
    if (kindOf(file.get()) != DescriptorKind::FILE) {
        GTEST_SKIP() << "the sources lie on no disk";
    }
    const driver::Account account = accountWith(1, 4096 * 1024);
    const driver::SharedMemory memory =
            hidl::importMemory("mmap_fd", handleOf({file.get()}, mappedFile(PROT_READ, 0)), 100);
    const Result<driver::MemoryUse> use = memory->useWhole(&account);
    ASSERT_TRUE(use.ok()) << use.status().toString();
    EXPECT_EQ(account.sharedMemory->reserved(), 0U);
    EXPECT_FALSE(use->writable());
}

TEST(SharedMemory, KeepsNoDescriptorOfWhatIsNoMemory) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const size_t before = testing::openDescriptors();
    const driver::SharedMemory memory = hidl::importMemory("ashmem", handleOf({ends[0]}), 10);
    EXPECT_LE(testing::openDescriptors(), before);
    close(ends[0]);
    close(ends[1]);
}

TEST(SharedMemory, KeepsNoDescriptorOnceItIsUsedOrKnownNotToBe) {
    File file(8192);
    const size_t before = testing::openDescriptors();
    const driver::SharedMemory used = hidl::importMemory("ashmem", handleOf({file.fd()}), 8192);
    const driver::SharedMemory unused = hidl::importMemory("ashmem", handleOf({file.fd()}), 8192);
    const driver::SharedMemory odd =
            hidl::importMemory("ashmem", handleOf({file.fd(), file.fd()}), 8192);
    EXPECT_EQ(testing::openDescriptors(), before + 2) << "none for a handle that can't be mapped";
    EXPECT_TRUE(used->use({.begin = 0, .end = 8192}, nullptr).ok());
    EXPECT_TRUE(unused->use({}, nullptr).ok());
    EXPECT_LE(testing::openDescriptors(), before);
    EXPECT_FALSE(unused->map().ok());
    EXPECT_FALSE(odd->map().ok());
}

TEST(SharedMemory, OfManyUsesKeepsItsDescriptorOnTheAccount) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
    File file(8 * page);
    const size_t before = testing::openDescriptors();
    const driver::Account account = accountWith(2, 16 * page);
    const ImportOptions many = {.uses = Uses::MANY, .account = &account};
    {
        const driver::SharedMemory memory = importAshmem(file.fd(), 8 * page, many);
        EXPECT_EQ(testing::openDescriptors(), before + 1);
        EXPECT_EQ(account.descriptors->reserved(), 1U);
        const driver::SharedMemory second = importAshmem(file.fd(), 8 * page, many);
        EXPECT_EQ(testing::openDescriptors(), before + 1) << "none that is not paid for";
        EXPECT_EQ(second->useWhole(&account).status().code(), StatusCode::RESOURCE_EXHAUSTED);

        const Result<driver::MemoryUse> one = memory->use({.begin = 0, .end = page}, &account);
        {
            const Result<driver::MemoryUse> other =
                    memory->use({.begin = 3 * page, .end = 5 * page}, &account);
            ASSERT_TRUE(one.ok() && other.ok());
            EXPECT_EQ(account.mappings->reserved(), 2U) << "each use pays for itself";
            EXPECT_EQ(account.addressSpace->reserved(), 3 * page);
            EXPECT_EQ(memory->use({.begin = 0, .end = 1}, &account).status().code(),
                      StatusCode::RESOURCE_EXHAUSTED);
        }
        EXPECT_EQ(account.mappings->reserved(), 1U) << "and ends by itself";
        EXPECT_EQ(account.addressSpace->reserved(), page);
        EXPECT_EQ(testing::openDescriptors(), before + 1);
    }
    EXPECT_LE(testing::openDescriptors(), before);
    EXPECT_EQ(account.descriptors->reserved(), 0U);
    EXPECT_EQ(account.mappings->reserved(), 0U);
}

TEST(SharedMemory, InUseAsAWholeIsMappedOnceAndOutlivesTheMemory) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
    File file(8 * page);
    const driver::Account account = accountWith(1, 8 * page);
    driver::SharedMemory memory = importAshmem(file.fd(), 8 * page, {.uses = Uses::MANY});
    std::optional<driver::MemoryUse> whole = memory->useWhole(&account).value();
    EXPECT_EQ(account.sharedMemory->reserved(), 8 * page);
    std::optional<driver::MemoryUse> part =
            memory->use({.begin = 100, .end = 200}, &account).value();
    EXPECT_EQ(account.mappings->reserved(), 1U) << "the part lies in the whole";
    EXPECT_EQ(part->bytes(100, 100)->data(), whole->bytes(0, 8 * page)->data() + 100);
    EXPECT_FALSE(part->bytes(99, 1).ok()) << "of which it is no more than it asked for";
    whole.reset();
    memory = nullptr;
    (*part->bytes(100, 1))[0] = 7;
    EXPECT_EQ(account.mappings->reserved(), 1U) << "as long as anybody uses it";
    part.reset();
    EXPECT_EQ(account.mappings->reserved(), 0U);
    EXPECT_EQ(account.sharedMemory->reserved(), 0U);
    uint8_t written = 0;
    EXPECT_EQ(pread(file.fd(), &written, 1, 100), 1);
    EXPECT_EQ(written, 7);
}

TEST(SharedMemory, OfWhichPartsAreChargedIsMappedAnewForOthers) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
    File file(100 * page);
    const driver::Account account = accountWith(10, 1000 * page);
    const driver::SharedMemory memory = importAshmem(file.fd(), 100 * page, {.uses = Uses::MANY});
    driver::ByteRange ends;
    ends.include(0, 1);
    ends.include(100 * page - 1, 1);
    const Result<driver::MemoryUse> first = memory->use(ends, &account);
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(account.sharedMemory->reserved(), 2 * page);
    driver::ByteRange middle;
    middle.include(50 * page, page);
    const Result<driver::MemoryUse> second = memory->use(middle, &account);
    ASSERT_TRUE(second.ok());
    EXPECT_EQ(account.sharedMemory->reserved(), 3 * page) << "what the first has not paid for";
}

TEST(SharedMemory, RefusesFilesOfHugePages) {
    const int fd = memfd_create("huge", MFD_CLOEXEC | MFD_HUGETLB);
    if (fd < 0) {
        GTEST_SKIP() << "this kernel has no huge pages";
    }
    constexpr size_t kHuge = size_t{2} << 20;
    ASSERT_EQ(ftruncate(fd, kHuge), 0);
    EXPECT_EQ(hidl::importMemory("ashmem", handleOf({fd}), kHuge)->map().status().code(),
              StatusCode::UNSUPPORTED);
    close(fd);
}

TEST(SharedMemory, WritableIsWhatTheHandleAndTheDescriptorAllow) {
    File file(4096);
    auto memory = [&](int fd, int32_t protection) {
        driver::SharedMemory made =
                hidl::importMemory("mmap_fd", handleOf({fd}, mappedFile(protection, 0)), 4096);
        EXPECT_TRUE(made->map().ok());
        return made;
    };
    const auto writable = [](const driver::SharedMemory& made) {
        return made->useWhole(nullptr)->writable();
    };
    EXPECT_TRUE(writable(memory(file.fd(), PROT_READ | PROT_WRITE)));
    EXPECT_FALSE(writable(memory(file.fd(), PROT_READ)));
    const std::string path = "/proc/self/fd/" + std::to_string(file.fd());
    const int readOnly = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    driver::SharedMemory limited = memory(readOnly, PROT_READ | PROT_WRITE);
    EXPECT_TRUE(limited->map().ok());
    EXPECT_FALSE(writable(limited));
    close(readOnly);
}

TEST(SharedMemory, OtherHardwareBuffersAreKnownButNotMapped) {
    File file(4096);
    for (const char* name : {"hardware_buffer", "something else"}) {
        driver::SharedMemory memory = hidl::importMemory(name, handleOf({file.fd()}), 4096);
        EXPECT_TRUE(memory->valid());
        EXPECT_EQ(memory->name(), name);
        EXPECT_EQ(memory->map().status().code(), StatusCode::UNSUPPORTED);
    }
}

TEST(SharedMemory, BlobsOfHardwareBuffersAreMappedByTheFirstDescriptorThatHoldsThem) {
    File file(4096);
    const driver::SharedMemory memory =
            hidl::importMemory("hardware_buffer_blob", handleOf({file.fd()}), 4096);
    EXPECT_EQ(memory->name(), "hardware_buffer_blob");
    const Result<driver::MemoryUse> use = memory->useWhole(nullptr);
    ASSERT_TRUE(use.ok()) << use.status().toString();
    EXPECT_TRUE(use->writable());
    const FileDescriptor device(open("/dev/null", O_RDWR | O_CLOEXEC));
    File shorter(1000);
    File later(8192);
    const driver::SharedMemory behind =
            hidl::importMemory("hardware_buffer_blob",
                               handleOf({device.get(), shorter.fd(), file.fd(), later.fd()}), 4096);
    const Result<driver::MemoryUse> used = behind->useWhole(nullptr);
    ASSERT_TRUE(used.ok()) << used.status().toString();
    (*used->bytes(0, 1))[0] = 77;
    EXPECT_EQ((*use->bytes(0, 1))[0], 77) << "and no later one";
    EXPECT_EQ(
            hidl::importMemory("hardware_buffer_blob", handleOf({shorter.fd(), device.get()}), 4096)
                    ->useWhole(nullptr)
                    .status()
                    .code(),
            StatusCode::INVALID_ARGUMENT);
    const driver::SharedMemory none =
            hidl::importMemory("hardware_buffer_blob", handleOf({}), 4096);
    EXPECT_FALSE(none->useWhole(nullptr).ok());
}

}  // namespace
}  // namespace halyard::hal
