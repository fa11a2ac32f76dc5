// SPDX-License-Identifier: Apache-2.0

#include "engine/base/trusted_path.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace halyard {
namespace {

class TrustedPath : public testing::Test {
  protected:
    void SetUp() override {
        mFolder = testing::TempDir() + "/halyard-path-XXXXXX";
        ASSERT_NE(mkdtemp(mFolder.data()), nullptr);
        mFolder = std::filesystem::canonical(mFolder);
        std::filesystem::create_directories(mFolder + "/a/b");
        std::ofstream(mFolder + "/a/b/file") << "here";
        allow("/a", 0755);
        allow("/a/b", 0755);
        allow("/a/b/file", 0644);
    }
    void TearDown() override { std::filesystem::remove_all(mFolder); }

    void allow(const std::string& path, mode_t mode) const {
        ASSERT_EQ(chmod((mFolder + path).c_str(), mode), 0);
    }
    std::string messageOf(const std::string& path) const {
        return std::string(trustedPath(mFolder + path).status().message());
    }

    std::string mFolder;
};

TEST_F(TrustedPath, IsThatOfTheUsersOwnFiles) {
    EXPECT_EQ(trustedPath(mFolder + "/a/b/file").value(), mFolder + "/a/b/file");
    EXPECT_EQ(trustedPath(mFolder + "//a/./b/../b/").value(), mFolder + "/a/b");
    EXPECT_EQ(trustedPath("/").value(), "/");
    EXPECT_EQ(trustedPath("/..").value(), "/");
}

TEST_F(TrustedPath, NamesTheFirstThatOthersMayWriteTo) {
    for (const std::string path : {"/a", "/a/b", "/a/b/file"}) {
        for (const mode_t mode : {0757U, 0777U}) {
            allow(path, mode);
            EXPECT_EQ(messageOf("/a/b/file"), mFolder + path + ": everybody may write to it");
        }
        allow(path, 0755);
    }
    EXPECT_EQ(messageOf("/a/b/file"), "");
}

// Who may write to /tmp can't replace what is another's there, but can put more beside it.
TEST_F(TrustedPath, GoesThroughAFolderWithTheStickyBit) {
    allow("/a", 01777);
    EXPECT_EQ(messageOf("/a/b/file"), "");
    EXPECT_EQ(messageOf("/a"), mFolder + "/a: everybody may write to it");
}

TEST_F(TrustedPath, FollowsLinksAndLooksAtWhereTheyLead) {
    std::filesystem::create_directories(mFolder + "/c");
    ASSERT_EQ(symlink("../a/b", (mFolder + "/c/relative").c_str()), 0);
    ASSERT_EQ(symlink((mFolder + "/a/b").c_str(), (mFolder + "/c/absolute").c_str()), 0);
    ASSERT_EQ(symlink("loop", (mFolder + "/c/loop").c_str()), 0);
    for (const std::string link : {"/c/relative", "/c/absolute"}) {
        EXPECT_EQ(trustedPath(mFolder + link + "/file").value(), mFolder + "/a/b/file");
        allow("/a", 0777);
        EXPECT_EQ(messageOf(link + "/file"), mFolder + "/a: everybody may write to it");
        allow("/a", 0755);
        allow("/c", 0777);
        EXPECT_EQ(messageOf(link + "/file"), mFolder + "/c: everybody may write to it")
                << "who may replace the link decides where it leads";
        allow("/c", 0755);
    }
    EXPECT_NE(messageOf("/c/loop"), "");
}

TEST_F(TrustedPath, IsNoneOfWhatIsNotThere) {
    EXPECT_EQ(trustedPath(mFolder + "/a/none").status().code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(trustedPath(mFolder + "/a/b/file/none").status().code(),
              StatusCode::INVALID_ARGUMENT);
}

TEST_F(TrustedPath, IsNoneBelowAFolderThatIsGone) {
    const int here = ::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ASSERT_GE(here, 0);
    std::filesystem::create_directories(mFolder + "/gone");
    std::filesystem::current_path(mFolder + "/gone");
    std::filesystem::remove(mFolder + "/gone");
    // The same name lies below the root.
    const Status status = trustedPath("usr").status();
    EXPECT_EQ(fchdir(here), 0);
    close(here);
    EXPECT_EQ(status.message(), "usr: No such file or directory");
}

TEST_F(TrustedPath, IsNoneOfAnotherUsersOrOfAnothersGroup) {
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root gives files away";
    }
    for (const std::string path : {"/a", "/a/b", "/a/b/file"}) {
        ASSERT_EQ(chown((mFolder + path).c_str(), 12345, 0), 0);
        EXPECT_NE(messageOf("/a/b/file").find("belongs to user 12345"), std::string::npos) << path;
        ASSERT_EQ(chown((mFolder + path).c_str(), 0, 12345), 0);
        EXPECT_EQ(messageOf("/a/b/file"), "") << "the group may not write";
        allow(path, 0775);
        EXPECT_EQ(messageOf("/a/b/file"), mFolder + path + ": a group may write to it");
        allow(path, 0755);
        ASSERT_EQ(chown((mFolder + path).c_str(), 0, 0), 0);
        allow(path, 0775);
        EXPECT_EQ(messageOf("/a/b/file"), "") << "root's own group";
        allow(path, 0755);
    }
    ASSERT_EQ(symlink("a", (mFolder + "/link").c_str()), 0);
    ASSERT_EQ(lchown((mFolder + "/link").c_str(), 12345, 12345), 0);
    EXPECT_NE(messageOf("/link/b").find("/link belongs to user 12345"), std::string::npos);
}

}  // namespace
}  // namespace halyard
