// SPDX-License-Identifier: Apache-2.0

#include "hal/memory/guarded_mapping.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "hal/hidl/hidl_memory.h"

namespace halyard::hal {
namespace {

// A file of some pages, all bytes of which are 7.
class PagedFile {
  public:
    explicit PagedFile(size_t pages) : mFd(memfd_create("test", MFD_CLOEXEC)) {
        const std::vector<uint8_t> content(pages * pageSize(), 7);
        EXPECT_EQ(write(mFd, content.data(), content.size()), static_cast<ssize_t>(content.size()));
    }
    ~PagedFile() { close(mFd); }
    PagedFile(const PagedFile&) = delete;
    PagedFile& operator=(const PagedFile&) = delete;

    static size_t pageSize() { return static_cast<size_t>(sysconf(_SC_PAGE_SIZE)); }

    int fd() const { return mFd; }
    void cutTo(size_t pages) {
        EXPECT_EQ(ftruncate(mFd, static_cast<off_t>(pages * pageSize())), 0);
    }
    void* map(size_t pages) const {
        return mmap(nullptr, pages * pageSize(), PROT_READ | PROT_WRITE, MAP_SHARED, mFd, 0);
    }

  private:
    const int mFd;
};

// The compiler must not move or drop an access that may raise the signal.
uint8_t readByte(const uint8_t* address) {
    return *static_cast<const volatile uint8_t*>(address);
}

void writeByte(uint8_t* address, uint8_t value) {
    *static_cast<volatile uint8_t*>(address) = value;
}

class GuardedMappings : public ::testing::Test {
  public:
    static void SetUpTestSuite() { ASSERT_TRUE(guardMappings().ok()); }

  protected:
    const size_t mPage = PagedFile::pageSize();
};

TEST_F(GuardedMappings, ReadZerosWhereTheFileIsGone) {
    PagedFile file(4);
    const GuardedMapping mapping(file.map(4), 4 * mPage);
    file.cutTo(2);
    EXPECT_EQ(readByte(mapping.bytes()), 7);
    EXPECT_TRUE(mapping.intact()) << "nothing that is gone has been touched";
    EXPECT_EQ(readByte(mapping.bytes() + 3 * mPage + 5), 0);
    EXPECT_FALSE(mapping.intact());
    EXPECT_EQ(readByte(mapping.bytes() + 2 * mPage), 0);
    EXPECT_EQ(readByte(mapping.bytes() + 2 * mPage - 1), 7) << "what is left stays";
}

TEST_F(GuardedMappings, TakeWritesWhereTheFileIsGone) {
    PagedFile file(2);
    const GuardedMapping mapping(file.map(2), 2 * mPage);
    file.cutTo(0);
    writeByte(mapping.bytes() + mPage, 3);
    EXPECT_EQ(readByte(mapping.bytes() + mPage), 3);
    EXPECT_FALSE(mapping.intact());
}

TEST_F(GuardedMappings, DoNotAnswerForOneAnother) {
    PagedFile whole(1);
    PagedFile cut(1);
    // More than one block of records.
    std::vector<std::unique_ptr<GuardedMapping>> mappings;
    for (int i = 0; i < 200; ++i) {
        PagedFile& file = i == 150 ? cut : whole;
        mappings.push_back(std::make_unique<GuardedMapping>(file.map(1), mPage));
    }
    cut.cutTo(0);
    for (const std::unique_ptr<GuardedMapping>& mapping : mappings) {
        readByte(mapping->bytes());
    }
    for (size_t i = 0; i < mappings.size(); ++i) {
        EXPECT_EQ(mappings[i]->intact(), i != 150) << i;
    }
}

// Slots that were let go are taken again, in whatever order.
TEST_F(GuardedMappings, DoNotAnswerForThoseBeforeThem) {
    PagedFile whole(1);
    std::vector<std::unique_ptr<GuardedMapping>> mappings;
    for (int i = 0; i < 200; ++i) {
        mappings.push_back(std::make_unique<GuardedMapping>(whole.map(1), mPage));
    }
    PagedFile cut(1);
    for (int round = 0; round < 3; ++round) {
        for (size_t i = 0; i < mappings.size(); i += 3) {
            mappings[i] = nullptr;
        }
        for (size_t i = 0; i < mappings.size(); i += 3) {
            mappings[i] = std::make_unique<GuardedMapping>(cut.map(1), mPage);
        }
    }
    cut.cutTo(0);
    for (size_t i = 0; i < mappings.size(); ++i) {
        EXPECT_EQ(readByte(mappings[i]->bytes()), i % 3 == 0 ? 0 : 7) << i;
        EXPECT_EQ(mappings[i]->intact(), i % 3 != 0) << i;
    }
}

TEST_F(GuardedMappings, AnswerWhileOthersComeAndGo) {
    std::atomic<bool> done = false;
    std::thread others([&] {
        PagedFile file(1);
        while (!done) {
            const GuardedMapping first(file.map(1), mPage);
            const GuardedMapping second(file.map(1), mPage);
        }
    });
    for (int i = 0; i < 200; ++i) {
        PagedFile file(3);
        const GuardedMapping mapping(file.map(3), 3 * mPage);
        file.cutTo(1);
        EXPECT_EQ(readByte(mapping.bytes() + 2 * mPage), 0);
        EXPECT_FALSE(mapping.intact());
    }
    done = true;
    others.join();
}

TEST_F(GuardedMappings, LeaveOtherBusErrorsAlone) {
    PagedFile file(1);
    auto* const bytes = static_cast<uint8_t*>(file.map(1));
    file.cutTo(0);
    EXPECT_DEATH(readByte(bytes), "");
    munmap(bytes, mPage);
}

TEST_F(GuardedMappings, MayBeAskedForTwice) {
    ASSERT_TRUE(guardMappings().ok());
    ASSERT_TRUE(guardMappings().ok());
    PagedFile file(1);
    auto* const bytes = static_cast<uint8_t*>(file.map(1));
    file.cutTo(0);
    EXPECT_EXIT(
            {
                alarm(20);  // a handler that hands the signal to itself never ends
                readByte(bytes);
            },
            ::testing::KilledBySignal(SIGBUS), "");
    munmap(bytes, mPage);
    PagedFile cut(2);
    const GuardedMapping mapping(cut.map(2), 2 * mPage);
    cut.cutTo(0);
    EXPECT_EQ(readByte(mapping.bytes()), 0);
}

TEST_F(GuardedMappings, LeaveTheSignalAloneWhileNothingIsMapped) {
    const auto action = [] {
        struct sigaction current = {};
        EXPECT_EQ(sigaction(SIGBUS, nullptr, &current), 0);
        return current.sa_sigaction;
    };
    const auto guard = action();
    ASSERT_TRUE(guardMappings(GuardTime::WHILE_MAPPED).ok());
    const auto without = action();
    EXPECT_NE(without, guard);
    PagedFile file(2);
    {
        const GuardedMapping sealed(file.map(1), mPage, true, false);
        EXPECT_EQ(action(), without);
        auto first = std::make_unique<GuardedMapping>(file.map(2), 2 * mPage);
        const GuardedMapping second(file.map(2), 2 * mPage);
        first = nullptr;
        EXPECT_EQ(action(), guard);
        file.cutTo(1);
        EXPECT_EQ(readByte(second.bytes() + mPage), 0);
        EXPECT_FALSE(second.intact());
    }
    EXPECT_EQ(action(), without);
    {
        const GuardedMapping mapping(file.map(1), mPage);
        // As a program does that wants the signal for itself.
        struct sigaction own = {};
        own.sa_handler = SIG_IGN;
        ASSERT_EQ(sigaction(SIGBUS, &own, nullptr), 0);
    }
    struct sigaction current = {};
    ASSERT_EQ(sigaction(SIGBUS, nullptr, &current), 0);
    EXPECT_EQ(current.sa_handler, SIG_IGN);
    current.sa_handler = SIG_DFL;
    ASSERT_EQ(sigaction(SIGBUS, &current, nullptr), 0);
    ASSERT_TRUE(guardMappings().ok());
    EXPECT_EQ(action(), guard);
}

TEST_F(GuardedMappings, StandBehindImportedMemory) {
    PagedFile file(2);
    const ReceivedHandle handle = {.valid = true,
                                   .handle = {.fds = {file.fd()}, .ints = {PROT_READ, 0, 0}}};
    const driver::SharedMemory memory = hidl::importMemory("mmap_fd", handle, 2 * mPage);
    const Result<driver::MemoryUse> use = memory->useWhole(nullptr);
    ASSERT_TRUE(use.ok()) << use.status().toString();
    EXPECT_TRUE(use->intact());
    file.cutTo(1);
    EXPECT_EQ(readByte(use->bytes(mPage, 1)->data()), 0);
    EXPECT_FALSE(use->intact());
    // Such a file is refused from then on.
    EXPECT_FALSE(hidl::importMemory("mmap_fd", handle, 2 * mPage)->map().ok());
}

}  // namespace
}  // namespace halyard::hal
