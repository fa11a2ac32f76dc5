// SPDX-License-Identifier: Apache-2.0

#include "engine/base/section_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "tests/engine/base/file_bytes.h"

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
    // What the nodes of a map take alone.
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

// What has been checked stays as it was, whoever can write to the file.
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
