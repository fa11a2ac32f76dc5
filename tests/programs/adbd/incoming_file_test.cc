// SPDX-License-Identifier: Apache-2.0

#include "harness/device/adbd/incoming_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "harness/device/adbd/sync_service.h"
#include "tests/programs/adbd/byte_peer.h"

namespace halyard::adbd {
namespace {

using testing::BytePeer;
using testing::Packet;
using testing::packet;

// Files of this process can't grow beyond a size: the nearest thing to a full disk.
class SmallFiles {
  public:
    explicit SmallFiles(rlim_t most) : mSignal(signal(SIGXFSZ, SIG_IGN)) {
        getrlimit(RLIMIT_FSIZE, &mBefore);
        const rlimit small = {.rlim_cur = most, .rlim_max = mBefore.rlim_max};
        setrlimit(RLIMIT_FSIZE, &small);
    }
    ~SmallFiles() {
        setrlimit(RLIMIT_FSIZE, &mBefore);
        signal(SIGXFSZ, mSignal);
    }

  private:
    rlimit mBefore = {};
    sighandler_t mSignal;
};

class IncomingFileTest : public ::testing::Test {
  protected:
    IncomingFileTest() {
        std::string name = (std::filesystem::temp_directory_path() / "incoming-XXXXXX").string();
        mFolder = mkdtemp(name.data());
    }
    ~IncomingFileTest() override { std::filesystem::remove_all(mFolder); }
    std::string path(const std::string& name) const { return (mFolder / name).string(); }

    std::filesystem::path mFolder;
};

std::string contentOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(IncomingFileTest, IsWholeOnceItIsFinished) {
    IncomingFile file;
    ASSERT_TRUE(file.begin(path("a/b"), S_IFREG | 0640).ok());
    ASSERT_TRUE(file.append(testing::bytesOf("one, ")).ok());
    ASSERT_TRUE(file.append(testing::bytesOf("two")).ok());
    ASSERT_TRUE(file.finish(1'234'567'890).ok());
    file.discard();
    EXPECT_EQ(contentOf(path("a/b")), "one, two");
    struct stat status;
    ASSERT_EQ(stat(path("a/b").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0666U);
    EXPECT_EQ(status.st_mtime, 1'234'567'890);
}

TEST_F(IncomingFileTest, LeavesNothingIfItIsNotFinished) {
    {
        IncomingFile file;
        ASSERT_TRUE(file.begin(path("half"), S_IFREG | 0600).ok());
        ASSERT_TRUE(file.append(testing::bytesOf("half")).ok());
        EXPECT_TRUE(std::filesystem::exists(path("half")));
    }
    EXPECT_FALSE(std::filesystem::exists(path("half")));
}

TEST_F(IncomingFileTest, WhatIsNoFileStaysWhereItIs) {
    ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
    const FileDescriptor reader(open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    ASSERT_TRUE(reader.valid());
    {
        IncomingFile file;
        ASSERT_TRUE(file.begin(path("pipe"), S_IFREG | 0600).ok());
        // More than a pipe holds.
        const Status written = file.append(std::vector<uint8_t>(10'000'000));
        ASSERT_FALSE(written.ok());
        EXPECT_EQ(written.message(), "write failed: Resource temporarily unavailable");
    }
    EXPECT_TRUE(std::filesystem::exists(path("pipe")));
}

TEST_F(IncomingFileTest, ReportsAWriteThatFailsHalfWay) {
    IncomingFile file;
    const SmallFiles small(10'000);
    ASSERT_TRUE(file.begin(path("large"), S_IFREG | 0600).ok());
    ASSERT_TRUE(file.append(std::vector<uint8_t>(8'000)).ok());
    const Status written = file.append(std::vector<uint8_t>(8'000));
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(written.message(), "write failed: File too large");
}

std::string message(const char* name, uint32_t word, const std::string& bytes = {}) {
    return name + std::string(reinterpret_cast<const char*>(&word), 4) + bytes;
}

std::string message(const char* name, const std::string& bytes) {
    return message(name, static_cast<uint32_t>(bytes.size()), bytes);
}

// All that a sync stream answers to the payloads.
std::string answerTo(const std::vector<std::string>& payloads) {
    BytePeer peer([](std::string_view, Stream& stream) { return openSync("", stream); });
    peer.connect();
    const uint32_t stream = peer.open(1, "sync:");
    for (const std::string& payload : payloads) {
        EXPECT_TRUE(peer.send(packet(Command::WRITE, 1, stream, payload)).ok());
    }
    std::string answer;
    for (std::vector<Packet> got = peer.take(); !got.empty(); got = peer.take()) {
        for (const Packet& one : got) {
            if (one.is(Command::WRITE)) {
                answer += one.payload;
                EXPECT_TRUE(peer.send(packet(Command::OKAY, 1, stream)).ok());
            }
        }
    }
    return answer;
}

TEST_F(IncomingFileTest, TheClientIsToldWhyAWriteFailed) {
    std::string request = message("SEND", path("large") + ",33188");
    for (int i = 0; i < 3; ++i) {
        request += message("DATA", std::string(8'000, 'x'));
    }
    request += message("DONE", 1'000'000'000);
    const SmallFiles small(10'000);
    // Bytes after the failure are still taken, and the next request is answered.
    const std::string answer = answerTo({request, message("STAT", "/")});
    const std::string failure = message("FAIL", "write failed: File too large");
    EXPECT_EQ(answer.substr(0, failure.size() + 4), failure + "STAT");
    EXPECT_EQ(answer.size(), failure.size() + 16);
    EXPECT_FALSE(std::filesystem::exists(path("large")));
}

TEST_F(IncomingFileTest, TheClientIsToldWhyAFileCouldNotBeFinished) {
    std::filesystem::create_directory(path("folder"));
    // 0120777: a symbolic link, which the folder leaves no place for.
    const std::string answer = answerTo({message("SEND", path("folder") + ",41471") +
                                         message("DATA", "target") + message("DONE", 0)});
    EXPECT_EQ(answer, message("FAIL", "symlink failed: File exists"));
}

TEST_F(IncomingFileTest, TheClientIsToldThatItsFileIsWhole) {
    const std::string answer = answerTo({message("SEND", path("file") + ",33188") +
                                         message("DATA", "content") + message("DONE", 0)});
    EXPECT_EQ(answer, message("OKAY", 0));
    EXPECT_EQ(contentOf(path("file")), "content");
}

TEST_F(IncomingFileTest, MakesLinksOfBoundedLength) {
    IncomingFile file;
    ASSERT_TRUE(file.begin(path("link"), S_IFLNK | 0777).ok());
    ASSERT_TRUE(file.append(testing::bytesOf("target")).ok());
    ASSERT_TRUE(file.finish(0).ok());
    EXPECT_EQ(std::filesystem::read_symlink(path("link")), "target");

    ASSERT_TRUE(file.begin(path("long"), S_IFLNK | 0777).ok());
    ASSERT_TRUE(file.append(std::vector<uint8_t>(4096, 'x')).ok());
    EXPECT_FALSE(file.append(std::vector<uint8_t>(1, 'x')).ok());
    file.discard();
    EXPECT_FALSE(std::filesystem::is_symlink(path("long")));
}

TEST_F(IncomingFileTest, ReplacesWhatWasThereButDoesNotFollowLinks) {
    const std::string outside = path("outside");
    std::ofstream(outside) << "stays";
    std::filesystem::create_symlink(outside, path("link"));
    IncomingFile file;
    ASSERT_TRUE(file.begin(path("link"), S_IFREG | 0600).ok());
    ASSERT_TRUE(file.append(testing::bytesOf("new")).ok());
    ASSERT_TRUE(file.finish(0).ok());
    EXPECT_EQ(contentOf(outside), "stays");
    EXPECT_EQ(contentOf(path("link")), "new");
    EXPECT_FALSE(std::filesystem::is_symlink(path("link")));
}

}  // namespace
}  // namespace halyard::adbd
