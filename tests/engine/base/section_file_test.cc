// SPDX-License-Identifier: Apache-2.0

#include "engine/base/section_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/aligned_buffer.h"
#include "tests/engine/base/file_bytes.h"
#include "tests/engine/counting_condition.h"

namespace halyard {
namespace {

std::vector<uint8_t> bytesOf(const std::string& text) {
    return {text.begin(), text.end()};
}

std::string textOf(std::span<const uint8_t> bytes) {
    return {bytes.begin(), bytes.end()};
}

// For the sections of such a file.
constexpr size_t kOfTable = 4 * 512;

// Two descriptions and two mapped sections, one of several parts.
FileBytes written() {
    const std::vector<uint8_t> elsewhere = bytesOf("as it ");
    SectionWriter writer;
    writer.addDescription("first", bytesOf("read first"));
    ByteParts parts;
    parts.addView(elsewhere);
    parts.add(bytesOf("lies"));
    writer.addMapped("large", std::move(parts));
    writer.addMapped("large/empty", {});
    writer.addDescription("last", bytesOf("read last"));
    return FileBytes::of(writer);
}

Result<SectionFile> open(const FileBytes& file) {
    return SectionFile::open(file.owner(), file.bytes());
}

TEST(SectionFile, FindsWhatWasWrittenWhereItLies) {
    const FileBytes file = written();
    const Result<SectionFile> opened = open(file);
    ASSERT_TRUE(opened.ok()) << opened.status().toString();
    EXPECT_EQ(textOf(opened->description("first").value()), "read first");
    EXPECT_EQ(textOf(opened->description("last").value()), "read last");
    const std::span<const uint8_t> large = opened->mapped("large").value();
    EXPECT_EQ(textOf(large), "as it lies");
    EXPECT_EQ((large.data() - file.bytes().data()) % static_cast<ptrdiff_t>(kSectionPage), 0);
    EXPECT_LT(large.data(), file.bytes().data() + file.bytes().size());
    EXPECT_EQ(opened->mappedBeginningWith("large/").size(), 1U);
    EXPECT_EQ(opened->mappedBeginningWith("large/").begin()->first, "empty");
}

TEST(SectionFile, NamesWhatItDoesNotHave) {
    const FileBytes file = written();
    const SectionFile opened = open(file).value();
    EXPECT_EQ(opened.mapped("other").status().message(), "the file has no section 'other'");
    EXPECT_EQ(opened.description("other").status().message(), "the file has no section 'other'");
    EXPECT_FALSE(opened.mapped("first").ok()) << "which is a description";
    EXPECT_FALSE(opened.description("large").ok());
}

TEST(SectionFile, RefusesEveryByteThatIsFlippedAndEveryLengthThatIsCut) {
    FileBytes file = written();
    for (size_t at = 0; at < file.bytes().size(); ++at) {
        file.flip(at);
        ASSERT_FALSE(open(file).ok()) << "byte " << at;
        file.flip(at);
    }
    ASSERT_TRUE(open(file).ok());
    for (size_t size = 0; size < file.bytes().size(); ++size) {
        ASSERT_EQ(SectionFile::open(file.owner(), file.bytes().first(size)).status().code(),
                  StatusCode::INVALID_ARGUMENT)
                << size;
    }
}

// A file known to be as it was written may be another program's, of other contents.
TEST(SectionFile, IsToldByItsFirstBytesEvenWhereNothingIsSummed) {
    FileBytes file = written();
    const auto checked = [&] {
        return SectionFile::open(file.owner(), file.bytes(), nullptr, nullptr, {},
                                 SectionFile::Bytes::CHECKED)
                .status();
    };
    EXPECT_TRUE(checked().ok());
    for (size_t at = 0; at < 8; ++at) {
        file.flip(at);
        EXPECT_EQ(checked().message(), "these bytes are no file of Halyard's") << at;
        file.flip(at);
    }
}

// Of a file of which nothing is summed, with another number of eight bytes at a place of it.
Status openedWith(size_t at, uint64_t number) {
    const FileBytes file = written();
    const std::span<const uint8_t> bytes = file.bytes();
    const auto copy = std::make_shared<AlignedBuffer>(
            AlignedBuffer::allocate(bytes.size(), kSectionPage, nullptr).value());
    auto* const data = reinterpret_cast<uint8_t*>(copy->data());
    std::ranges::copy(bytes, data);
    std::memcpy(data + at, &number, sizeof number);
    return SectionFile::open(copy, {data, bytes.size()}, nullptr, nullptr, {},
                             SectionFile::Bytes::CHECKED)
            .status();
}

// Where the file's header has these, and its table the place of "large", the third.
constexpr size_t kFileSize = 16;
constexpr size_t kTableSize = 24;
constexpr size_t kHeader = 32;
constexpr size_t kOffsetOfLarge = kHeader + 26 + 25 + 10;

TEST(SectionFile, RefusesAHeaderThatSaysWhatCantBe) {
    const uint64_t size = written().bytes().size();
    EXPECT_TRUE(openedWith(kFileSize, size).ok());
    for (const uint64_t other : {size - 1, size + 1, uint64_t{0}, ~uint64_t{0}}) {
        EXPECT_NE(openedWith(kFileSize, other).message().find("and says that it has"),
                  std::string_view::npos)
                << other;
    }
    for (const uint64_t table : {size - kHeader + 1, ~uint64_t{0}, ~uint64_t{0} - kHeader}) {
        EXPECT_NE(openedWith(kTableSize, table).message().find("the file has"),
                  std::string_view::npos)
                << table;
    }
    for (const uint64_t table : {size - kHeader, size - kHeader - 7}) {
        EXPECT_EQ(openedWith(kTableSize, table).message(), "the table ends early") << table;
    }
}

TEST(SectionFile, RefusesSectionsThatLieWhereTheyCant) {
    const uint64_t at = kSectionPage;
    EXPECT_TRUE(openedWith(kOffsetOfLarge, at).ok());
    // A kind stands before the offset, and there are two.
    EXPECT_TRUE(openedWith(kOffsetOfLarge - 1, at << 8 | 1).ok());
    EXPECT_EQ(openedWith(kOffsetOfLarge - 1, at << 8 | 2).message(),
              "section 'large' lies where it can't");
    for (const uint64_t other : {at - 1, at + 1, at + 64, at - 64, uint64_t{0}, 2 * at,
                                 uint64_t{1} << 40, ~uint64_t{0} - kSectionPage + 1}) {
        EXPECT_EQ(openedWith(kOffsetOfLarge, other).message(),
                  "section 'large' lies where it can't")
                << other;
    }
}

TEST(SectionFile, RefusesATableOfMoreThanItsSections) {
    // Their number stands behind the version.
    const FileBytes file = written();
    uint64_t versionAndCount = 0;
    std::memcpy(&versionAndCount, file.bytes().data() + 8, sizeof versionAndCount);
    const Status fewer = openedWith(8, versionAndCount - (uint64_t{1} << 32));
    EXPECT_EQ(fewer.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_NE(fewer.message().find("the table"), std::string_view::npos) << fewer.toString();
    EXPECT_FALSE(openedWith(8, versionAndCount + (uint64_t{1} << 32)).ok());
}

TEST(SectionFile, RefusesWhatLiesBehindItsSections) {
    const FileBytes file = written();
    const std::span<const uint8_t> bytes = file.bytes();
    const uint64_t size = bytes.size() + 64;
    const auto copy = std::make_shared<AlignedBuffer>(
            AlignedBuffer::allocate(size, kSectionPage, nullptr).value());
    auto* const data = reinterpret_cast<uint8_t*>(copy->data());
    std::ranges::copy(bytes, data);
    std::memcpy(data + kFileSize, &size, sizeof size);
    EXPECT_EQ(
            SectionFile::open(copy, {data, size}, nullptr, nullptr, {}, SectionFile::Bytes::CHECKED)
                    .status()
                    .message(),
            "there is more than the file's sections");
}

TEST(SectionFile, RefusesWhatIsTooShortForAFile) {
    const FileBytes file = written();
    for (size_t size = 0; size < kHeader + sizeof(uint64_t); ++size) {
        EXPECT_EQ(SectionFile::open(file.owner(), file.bytes().first(size)).status().message(),
                  "the file ends early")
                << size;
    }
}

TEST(SectionFile, RefusesAnotherVersionAndBytesThatLieAskew) {
    FileBytes file = written();
    EXPECT_EQ(SectionFile::open(file.owner(), file.bytes().subspan(8)).status().message(),
              "the file does not lie at a multiple of 64");
    file.flip(8);
    EXPECT_EQ(open(file).status().code(), StatusCode::UNSUPPORTED);
}

TEST(SectionFile, IsChargedAsLongAsAnythingOfItIsHeld) {
    const FileBytes file = written();
    const auto memory = std::make_shared<Budget>(1 << 12);
    const auto mapped = std::make_shared<Budget>(file.bytes().size());
    std::shared_ptr<const void> held;
    {
        const SectionFile opened =
                SectionFile::open(file.owner(), file.bytes(), memory, mapped).value();
        EXPECT_GT(memory->reserved(), kOfTable) << "and copies";
        held = opened.owner();
    }
    EXPECT_GE(memory->reserved(), kOfTable);
    EXPECT_LT(memory->reserved(), 2 * kOfTable) << "no copies";
    EXPECT_EQ(mapped->reserved(), file.bytes().size());
    EXPECT_EQ(SectionFile::open(file.owner(), file.bytes(), memory, mapped).status().code(),
              StatusCode::RESOURCE_EXHAUSTED);
    held = nullptr;
    EXPECT_EQ(mapped->reserved(), 0U);
    EXPECT_EQ(memory->reserved(), 0U);
}

// A name and nothing else: so many of them as fit into a file of a few megabytes.
FileBytes manySections(size_t count) {
    SectionWriter writer;
    for (size_t i = 0; i < count; ++i) {
        writer.addMapped(std::to_string(i), {});
    }
    return FileBytes::of(writer);
}

TEST(SectionFile, ChargesForItsSectionsHoweverEmptyTheyAre) {
    constexpr size_t kSections = 10'000;
    const FileBytes file = manySections(kSections);
    const auto few = std::make_shared<Budget>(file.bytes().size() + (size_t{1} << 20));
    EXPECT_EQ(SectionFile::open(file.owner(), file.bytes(), few).status().code(),
              StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(few->reserved(), 0U);
    const auto enough = std::make_shared<Budget>(size_t{1} << 30);
    const Result<SectionFile> opened = SectionFile::open(file.owner(), file.bytes(), enough);
    ASSERT_TRUE(opened.ok()) << opened.status().toString();
    // Bytes of the map's nodes alone.
    EXPECT_GE(enough->reserved(), kSections * 150);
    EXPECT_EQ(opened->mappedBeginningWith("").size(), kSections);
}

// The table alone takes long where it is long.
TEST(SectionFile, StopsReadingItsTable) {
    const FileBytes file = manySections(10'000);
    for (const auto known : {SectionFile::Bytes::CHECKED, SectionFile::Bytes::OF_ANYBODY}) {
        std::atomic<bool> stopped = false;
        class Counting final : public StopCondition {
          public:
            mutable size_t looks = 0;
            bool holds() const override { return ++looks > 20; }
        } condition;
        const Checkpoint checkpoint = Checkpoint(std::nullopt, &stopped).unless(&condition);
        EXPECT_FALSE(
                SectionFile::open(file.owner(), file.bytes(), nullptr, nullptr, checkpoint, known)
                        .ok());
    }
}

// Sections that are neither copied nor named are summed, and may be of gigabytes.
TEST(SectionFile, StopsSummingWhatLiesInIt) {
    constexpr size_t kMebibytes = 16;
    SectionWriter writer;
    ByteParts parts;
    parts.add(std::vector<uint8_t>(kMebibytes << 20));
    writer.addMapped("large", std::move(parts));
    const FileBytes file = FileBytes::of(writer);
    const std::atomic<bool> ended = false;
    const auto look = [&](const CountingCondition& condition) {
        const Checkpoint checkpoint = Checkpoint(std::nullopt, &ended).unless(&condition);
        return SectionFile::open(file.owner(), file.bytes(), nullptr, nullptr, checkpoint,
                                 SectionFile::Bytes::OF_ANYBODY)
                .ok();
    };
    const CountingCondition never;
    EXPECT_TRUE(look(never));
    EXPECT_GE(never.asked(), kMebibytes);
    const CountingCondition soon(kMebibytes);
    EXPECT_FALSE(look(soon));
    EXPECT_EQ(soon.asked(), kMebibytes + 1);
}

// Checked bytes stay as they were, even where others can write to the file.
TEST(SectionFile, KeepsACopyOfDescriptions) {
    FileBytes file = written();
    const SectionFile opened = open(file).value();
    for (size_t at = 0; at < file.bytes().size(); ++at) {
        file.flip(at);
    }
    EXPECT_EQ(textOf(opened.description("first").value()), "read first");
}

class FullSink : public ByteSink {
  public:
    Status write(std::span<const uint8_t> /*bytes*/) override {
        ++writes;
        return internalError("no room left");
    }
    int writes = 0;
};

TEST(SectionWriter, StopsWhereTheSinkFails) {
    SectionWriter writer;
    writer.addDescription("text", bytesOf("text"));
    FullSink sink;
    EXPECT_EQ(writer.writeTo(sink).message(), "no room left");
    EXPECT_EQ(sink.writes, 1);
}

}  // namespace
}  // namespace halyard
