// SPDX-License-Identifier: Apache-2.0

#include "hal/descriptors/descriptor_kind.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "engine/base/file_descriptor.h"
#include "hal/binder/buffer_freer.h"
#include "tests/hal/held_page.h"
#include "tests/hal/silent_file.h"

namespace halyard::hal {
namespace {

using attacker::HeldPage;
using attacker::SilentFile;

FileDescriptor memory(off_t size) {
    FileDescriptor fd(memfd_create("test", MFD_CLOEXEC));
    EXPECT_EQ(ftruncate(fd.get(), size), 0);
    return fd;
}

TEST(DescriptorKinds, MemfdsAreSharedMemory) {
    const FileDescriptor fd = memory(10000);
    EXPECT_EQ(kindOf(fd.get()), DescriptorKind::SHARED_MEMORY);
    EXPECT_TRUE(closesAtOnce(fd.get()));
    for (const uint64_t end : {1, 4096, 10000}) {
        EXPECT_TRUE(checkReaches(fd.get(), DescriptorKind::SHARED_MEMORY, end).ok()) << end;
    }
    for (const uint64_t end : {uint64_t{10001}, uint64_t{1} << 40, uint64_t{1} << 63,
                               std::numeric_limits<uint64_t>::max()}) {
        EXPECT_EQ(checkReaches(fd.get(), DescriptorKind::SHARED_MEMORY, end).code(),
                  StatusCode::INVALID_ARGUMENT)
                << end;
    }
}

TEST(DescriptorKinds, FilesOfATmpfsAreSharedMemory) {
    const FileDescriptor fd(open("/dev/shm", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
    if (!fd.valid()) {
        GTEST_SKIP() << "no tmpfs to write to";
    }
    EXPECT_EQ(kindOf(fd.get()), DescriptorKind::SHARED_MEMORY);
}

TEST(DescriptorKinds, WhatClientsMayHoldIsNothingElse) {
    int ends[2] = {-1, -1};
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const FileDescriptor from(ends[0]);
    const FileDescriptor into(ends[1]);
    const FileDescriptor event(eventfd(0, EFD_CLOEXEC));
    const FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
    const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const FileDescriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
    const FileDescriptor process(open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
    const FileDescriptor folder(open("/", O_RDONLY | O_CLOEXEC));
    for (const FileDescriptor* fd :
         {&from, &into, &event, &epoll, &socket, &null, &process, &folder}) {
        ASSERT_TRUE(fd->valid());
        EXPECT_EQ(kindOf(fd->get()), DescriptorKind::OTHER);
        EXPECT_FALSE(closesAtOnce(fd->get()));
        EXPECT_EQ(checkReaches(fd->get(), DescriptorKind::OTHER, 1).code(),
                  StatusCode::INVALID_ARGUMENT);
    }
    EXPECT_EQ(kindOf(-1), DescriptorKind::OTHER);
    EXPECT_EQ(describeDescriptor(from.get()), "a pipe");
    EXPECT_EQ(describeDescriptor(event.get()), "an object of the kernel's own");
    EXPECT_EQ(describeDescriptor(socket.get()), "a socket");
    EXPECT_EQ(describeDescriptor(null.get()), "a device");
    EXPECT_EQ(describeDescriptor(process.get()), "a file of proc");
    EXPECT_EQ(describeDescriptor(folder.get()), "a directory");
    EXPECT_EQ(describeDescriptor(-1), "no open descriptor");
}

TEST(DescriptorKinds, ReadsDisksFromAMountTable) {
    constexpr std::string_view kTable =
            "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
            "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n"
            "30 27 253:5 / /data rw,nosuid shared:2 master:1 - f2fs /dev/block/dm-5 rw\n"
            "31 27 0:55 / /mnt/own rw - fuse own rw,user_id=0\n"
            "32 27 7:0 / /mnt/block rw - fuseblk /dev/loop0 rw\n"
            "33 27 0:60 / /mnt/both rw - overlay overlay rw,lowerdir=/mnt/own\n"
            "34 27 0:61 / /mnt/ext4 rw - 9p ext4 rw\n"
            "35 27 broken / /x rw - ext4 x rw\n"
            "36";
    const std::vector<DeviceNumber> expected = {{.major = 253, .minor = 5},
                                                {.major = 254, .minor = 0}};
    const std::vector<Mount> mounts = mountsIn(kTable);
    EXPECT_EQ(disksIn(mounts), expected);
    EXPECT_EQ(mounts.size(), 7U);
    EXPECT_EQ(mounts.front(), (Mount{.device = {.major = 0, .minor = 21}, .fileSystem = "proc"}));
    EXPECT_EQ(mountsIn(std::string(kTable) + "\n" + std::string(kTable)), mounts) << "each once";
    EXPECT_TRUE(mountsIn("").empty());
    for (const std::string device : {"x:1", "8", "8.1", "8:x", "8:1x", ":1", "8:", ""}) {
        EXPECT_TRUE(mountsIn("24 1 " + device + " / / rw - ext4 /dev/sda1 rw").empty()) << device;
    }
    EXPECT_EQ(mountsIn("24 1 8:1 / / rw - ext4 /dev/sda1 rw").size(), 1U);
}

TEST(DescriptorKinds, ReadsTheMountsOfAFileSystemFromAMountTable) {
    constexpr std::string_view kTable =
            "27 1 0:30 /@ / rw,relatime - btrfs /dev/vda2 rw,subvol=/@\n"
            "33 27 0:60 / /mnt/both rw - overlay btrfs rw,lowerdir=/mnt/own\n"
            "x 27 0:30 / /x rw - btrfs /dev/vda2 rw\n"
            "41 27 0:30 /@home /home rw shared:7 - btrfs /dev/vda2 rw\n"
            "42 27 0:31";
    EXPECT_EQ(mountNumbersIn(kTable, "btrfs"), (std::vector<uint64_t>{27, 41}));
    EXPECT_TRUE(mountNumbersIn(kTable, "ext4").empty());
    EXPECT_TRUE(mountNumbersIn("", "btrfs").empty());
}

TEST(DescriptorKinds, SaysWhatIsTaken) {
    const std::string text = describeWhatIsTaken();
    for (const std::string_view name : {"memfd", "tmpfs", "ext4", "f2fs", "btrfs"}) {
        EXPECT_NE(text.find(name), std::string::npos) << text;
    }
    for (const std::string_view name : {"overlay", "fuse", "9p", "nfs"}) {
        EXPECT_EQ(text.find(name), std::string::npos) << text;
    }
}

TEST(DescriptorKinds, KnowsKernelsThatCloseInTheTableOfTheCaller) {
    for (const char* release : {"4.20.0", "5.4.61-android11", "6.1.0-28-amd64", "10.0"}) {
        EXPECT_TRUE(closesInTableOfCaller(release)) << release;
    }
    for (const char* release : {"4.19.110-g1", "4.9.0", "3.18", "", "android"}) {
        EXPECT_FALSE(closesInTableOfCaller(release)) << release;
    }
}

// Whether it comes to an end soon; where it does not, it goes on for as long as the process.
template <typename Work>
bool ends(Work work) {
    const auto done = std::make_shared<std::atomic<bool>>(false);
    std::thread([done, work] {
        work();
        *done = true;
    }).detach();
    for (int i = 0; i < 1000 && !*done; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return *done;
}

TEST(DescriptorKinds, FilesOfASilentFileSystemKeepNoCallerWaiting) {
    for (const bool tellsSize : {false, true}) {
        const Result<std::unique_ptr<SilentFile>> file = SilentFile::make(4096, tellsSize);
        if (!file.ok()) {
            GTEST_SKIP() << file.status().message();
        }
        const int fd = (*file)->fd();
        const auto kind = std::make_shared<std::atomic<DescriptorKind>>(DescriptorKind::FILE);
        EXPECT_TRUE(ends([fd, kind] { *kind = kindOf(fd); }));
        EXPECT_EQ(*kind, DescriptorKind::OTHER);
    }
}

TEST(DescriptorKinds, AFileThatIsBeingWrittenKeepsNoCallerWaiting) {
    const Result<std::unique_ptr<HeldPage>> page = HeldPage::make();
    if (!page.ok()) {
        GTEST_SKIP() << page.status().message();
    }
    const FileDescriptor fd = memory(8192);
    const int number = fd.get();
    // Also of an open file whose position is locked.
    const FileDescriptor again(
            open(("/proc/self/fd/" + std::to_string(number)).c_str(), O_RDWR | O_CLOEXEC));
    const int reopened = again.get();
    const auto written = std::make_shared<std::atomic<bool>>(false);
    (*page)->touchWith([reopened, written](void* bytes, size_t size) {
        static_cast<void>(write(reopened, bytes, size));
        *written = true;
        written->notify_all();
    });
    for (const int file : {number, reopened}) {
        EXPECT_TRUE(ends([file] {
            if (kindOf(file) == DescriptorKind::SHARED_MEMORY) {
                static_cast<void>(checkReaches(file, DescriptorKind::SHARED_MEMORY, 8192));
            }
        }));
    }
    (*page)->arrive();
    EXPECT_TRUE(ends([written] { written->wait(false); }));
}

}  // namespace
}  // namespace halyard::hal
