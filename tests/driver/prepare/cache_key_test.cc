// SPDX-License-Identifier: Apache-2.0

#include "driver/prepare/cache_key.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace halyard::driver {
namespace {

std::span<const uint8_t> bytesOf(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string hexOf(std::span<const uint8_t> bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const uint8_t byte : bytes) {
        text += kDigits[byte >> 4U];
        text += kDigits[byte & 15U];
    }
    return text;
}

// RFC 2104 fills a key that is shorter than SHA-256's blocks with zeros, as these of RFC 4231 are.
CacheKey::Bytes keyOf(std::string_view key) {
    CacheKey::Bytes bytes = {};
    std::ranges::copy(key, bytes.begin());
    return bytes;
}

TEST(CacheKey, AuthenticatesAsRfc4231) {
    const CacheKey first(keyOf(std::string(20, '\x0b')));
    EXPECT_EQ(hexOf(first.authenticate({bytesOf("Hi There")})),
              "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    const CacheKey second(keyOf("Jefe"));
    EXPECT_EQ(hexOf(second.authenticate({bytesOf("what do ya "), bytesOf("want for nothing?")})),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    const CacheKey third(keyOf(std::string(20, '\xaa')));
    EXPECT_EQ(hexOf(third.authenticate({bytesOf(std::string(50, '\xdd'))})),
              "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
}

TEST(CacheKey, TellsWhetherDigestsAreEqual) {
    std::array<uint8_t, 32> left = {};
    for (uint8_t& byte : left) {
        std::array<uint8_t, 32> right = left;
        EXPECT_TRUE(equalDigests(left, right));
        right[static_cast<size_t>(&byte - left.data())] ^= 0x80;
        EXPECT_FALSE(equalDigests(left, right));
    }
    EXPECT_FALSE(equalDigests(left, std::span(left).first(31)));
}

class CacheKeys : public testing::Test {
  protected:
    void SetUp() override {
        mFolder = testing::TempDir() + "/halyard-key-XXXXXX";
        ASSERT_NE(mkdtemp(mFolder.data()), nullptr);
        mFile = mFolder + "/compilation_cache.key";
    }
    void TearDown() override { std::filesystem::remove_all(mFolder); }

    Result<std::shared_ptr<const CacheKey>> open() const { return CacheKey::open(mFolder); }
    StatusCode code() const { return open().status().code(); }
    // The key's digest of no bytes: another key gives another one.
    std::string mark() const {
        const auto key = open();
        EXPECT_TRUE(key.ok()) << key.status().toString();
        return key.ok() ? hexOf((*key)->authenticate({})) : "";
    }

    std::string mFolder;
    std::string mFile;
};

TEST_F(CacheKeys, AreMadeOnceForTheirOwnerAlone) {
    const mode_t former = umask(0);
    const std::string first = mark();
    umask(former);
    EXPECT_EQ(mark(), first);
    struct stat info = {};
    ASSERT_EQ(stat(mFile.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0600U);
    EXPECT_EQ(info.st_size, 32);
    EXPECT_EQ(info.st_uid, geteuid());
    size_t files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(mFolder)) {
        ++files;
    }
    EXPECT_EQ(files, 1U) << "nothing is left of making it";
    std::filesystem::remove(mFile);
    EXPECT_NE(mark(), first) << "of random numbers";
}

TEST_F(CacheKeys, AreNotTakenFromAFolderThatOthersMayWriteTo) {
    const std::string first = mark();
    for (const mode_t mode : {0702U, 0722U, 01777U}) {
        ASSERT_EQ(chmod(mFolder.c_str(), mode), 0);
        EXPECT_EQ(code(), StatusCode::INVALID_ARGUMENT) << mode;
    }
    ASSERT_EQ(chmod(mFolder.c_str(), 0755), 0);
    EXPECT_EQ(mark(), first);
}

TEST_F(CacheKeys, AreNotTakenWhereOthersMayReadOrWriteThem) {
    mark();
    for (const mode_t mode : {0640U, 0604U, 0620U, 0602U, 0644U}) {
        ASSERT_EQ(chmod(mFile.c_str(), mode), 0);
        EXPECT_EQ(code(), StatusCode::INVALID_ARGUMENT) << mode;
    }
    ASSERT_EQ(chmod(mFile.c_str(), 0400), 0);
    EXPECT_EQ(code(), StatusCode::OK);
}

TEST_F(CacheKeys, AreNotTakenFromWhatIsNoKey) {
    for (const size_t size : {0U, 31U, 33U}) {
        std::ofstream(mFile, std::ios::trunc) << std::string(size, 'k');
        ASSERT_EQ(chmod(mFile.c_str(), 0600), 0);
        EXPECT_EQ(code(), StatusCode::INVALID_ARGUMENT) << size;
    }
    std::filesystem::remove(mFile);
    ASSERT_EQ(mkdir(mFile.c_str(), 0700), 0);
    EXPECT_NE(open().status().message().find("it is no file that its owner alone may"),
              std::string_view::npos);
    std::filesystem::remove(mFile);
    std::ofstream(mFolder + "/elsewhere") << std::string(32, 'k');
    ASSERT_EQ(chmod((mFolder + "/elsewhere").c_str(), 0600), 0);
    ASSERT_EQ(symlink("elsewhere", mFile.c_str()), 0);
    EXPECT_NE(code(), StatusCode::OK) << "a link";
}

TEST_F(CacheKeys, AreNotTakenFromAnotherUser) {
    mark();
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root gives files away";
    }
    ASSERT_EQ(chown(mFile.c_str(), 12345, 12345), 0);
    EXPECT_EQ(code(), StatusCode::INVALID_ARGUMENT);
    std::filesystem::remove(mFile);
    ASSERT_EQ(chown(mFolder.c_str(), 12345, 12345), 0);
    EXPECT_EQ(code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(CacheKeys, AreNotMadeWhereSomethingIsInTheWay) {
    ASSERT_EQ(mkdir((mFile + "." + std::to_string(getpid())).c_str(), 0700), 0);
    EXPECT_NE(open().status().message().find("it can't be made"), std::string_view::npos);
    EXPECT_FALSE(std::filesystem::exists(mFile));
    std::ofstream(mFolder + "/file") << "no folder";
    ASSERT_EQ(chmod((mFolder + "/file").c_str(), 0600), 0);
    EXPECT_NE(
            CacheKey::open(mFolder + "/file").status().message().find("its folder can't be opened"),
            std::string_view::npos);
}

TEST_F(CacheKeys, AreNotMadeWhereThereIsNoFolder) {
    std::filesystem::remove_all(mFolder);
    EXPECT_EQ(code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_FALSE(std::filesystem::exists(mFolder));
    EXPECT_EQ(openCacheKey({}), nullptr);
    Options options;
    options.cacheKeyDirectory = mFolder;
    EXPECT_EQ(openCacheKey(options), nullptr) << "and the device comes up without one";
}

}  // namespace
}  // namespace halyard::driver
