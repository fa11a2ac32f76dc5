// SPDX-License-Identifier: Apache-2.0
//
// The data file of a kept model: what is written and what is read have one digest, and nothing can
// be changed without another.

#include "driver/prepare/kept_data.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/base/file_descriptor.h"

namespace halyard::driver {
namespace {

constexpr size_t kPart = size_t{1} << 18;
constexpr size_t kDescriptions = 1000;

std::vector<uint8_t> numbers(size_t count) {
    std::vector<uint8_t> bytes(count);
    uint32_t state = 1;
    for (uint8_t& byte : bytes) {
        state = state * 1664525 + 1013904223;
        byte = static_cast<uint8_t>(state >> 24);
    }
    return bytes;
}

FileDescriptor fileOf(const std::vector<uint8_t>& bytes) {
    FileDescriptor file(memfd_create("kept", MFD_CLOEXEC));
    EXPECT_EQ(pwrite(file.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
    return file;
}

Result<Sha256::Digest> digestOf(int fd, size_t size, std::vector<uint8_t>* copied = nullptr,
                                const Checkpoint& checkpoint = {}) {
    AlignedBuffer copy = allocateKeptData(size, nullptr).value();
    const std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(copy.data()), size);
    Result<Sha256::Digest> digest = readKeptData(fd, bytes, kDescriptions, checkpoint);
    if (copied != nullptr) {
        copied->assign(bytes.begin(), bytes.end());
    }
    return digest;
}

class NoSink final : public ByteSink {
  public:
    Status write(std::span<const uint8_t> /*bytes*/) override { return {}; }
};

TEST(KeptData, is_copied_with_the_digest_that_it_was_written_with) {
    for (const size_t constants : {size_t{0}, size_t{1}, kPart - 1, kPart, kPart + 1, 3 * kPart,
                                   17 * kPart + 5, size_t{9} << 20}) {
        const std::vector<uint8_t> bytes = numbers(kDescriptions + constants);
        NoSink nowhere;
        KeptDataSink sink(nowhere, kDescriptions);
        for (size_t at = 0, step = 1; at < bytes.size(); at += step, step = step * 3 % 70001 + 1) {
            const auto rest = std::span(bytes).subspan(at);
            ASSERT_TRUE(sink.write(rest.first(std::min(step, rest.size()))).ok());
        }
        EXPECT_EQ(sink.count(), bytes.size());
        std::vector<uint8_t> copied;
        EXPECT_EQ(digestOf(fileOf(bytes).get(), bytes.size(), &copied).value(), sink.finish());
        EXPECT_EQ(copied, bytes) << constants;
    }
}

TEST(KeptData, has_another_digest_for_a_change_in_any_part) {
    std::vector<uint8_t> bytes = numbers(kDescriptions + 17 * kPart + 5);
    std::set<Sha256::Digest> digests = {digestOf(fileOf(bytes).get(), bytes.size()).value()};
    for (size_t at = 500; at < bytes.size(); at += kPart / 3) {
        bytes[at] ^= 1;
        EXPECT_TRUE(digests.insert(digestOf(fileOf(bytes).get(), bytes.size()).value()).second)
                << at;
        bytes[at] ^= 1;
    }
    // The last byte, and two parts in each other's place.
    bytes.back() ^= 128;
    EXPECT_TRUE(digests.insert(digestOf(fileOf(bytes).get(), bytes.size()).value()).second);
    bytes.back() ^= 128;
    std::swap_ranges(bytes.begin() + kDescriptions, bytes.begin() + kDescriptions + kPart,
                     bytes.begin() + kDescriptions + kPart);
    EXPECT_TRUE(digests.insert(digestOf(fileOf(bytes).get(), bytes.size()).value()).second);
}

TEST(KeptData, refuses_a_file_of_another_length) {
    const std::vector<uint8_t> bytes = numbers(kDescriptions + 9 * kPart);
    const FileDescriptor file = fileOf(bytes);
    EXPECT_EQ(digestOf(file.get(), bytes.size() - 1).status().message(),
              "it has more than " + std::to_string(bytes.size() - 1) + " bytes");
    EXPECT_EQ(digestOf(file.get(), bytes.size() + 1).status().message(),
              "it ends after " + std::to_string(bytes.size()) + " bytes");
    EXPECT_EQ(digestOf(file.get(), bytes.size() + kPart).status().code(), StatusCode::INTERNAL);
    ASSERT_EQ(ftruncate(file.get(), kDescriptions / 2), 0);
    EXPECT_EQ(digestOf(file.get(), bytes.size()).status().message(),
              "it ends after " + std::to_string(kDescriptions / 2) + " bytes");
}

TEST(KeptData, refuses_a_file_that_cannot_be_read) {
    const FileDescriptor folder(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const Status status = digestOf(folder.get(), kDescriptions + 9 * kPart).status();
    EXPECT_EQ(status.code(), StatusCode::INTERNAL);
    EXPECT_TRUE(status.message().starts_with("it can't be read: ")) << status.message();
}

TEST(KeptData, is_read_no_longer_than_somebody_waits) {
    const std::vector<uint8_t> bytes = numbers(kDescriptions + 9 * kPart);
    const std::atomic<bool> ended = true;
    EXPECT_EQ(digestOf(fileOf(bytes).get(), bytes.size(), nullptr, Checkpoint({}, &ended))
                      .status()
                      .code(),
              StatusCode::UNAVAILABLE);
}

TEST(KeptData, charges_for_its_copy) {
    const auto budget = std::make_shared<Budget>(size_t{8} << 20);
    EXPECT_EQ(allocateKeptData(size_t{9} << 20, budget).status().code(),
              StatusCode::RESOURCE_EXHAUSTED);
    const AlignedBuffer copy = allocateKeptData(size_t{3} << 20, budget).value();
    EXPECT_FALSE(allocateKeptData(size_t{6} << 20, budget).ok()) << "5 MiB are left at most";
}

}  // namespace
}  // namespace halyard::driver
