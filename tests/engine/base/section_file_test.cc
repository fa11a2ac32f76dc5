// SPDX-License-Identifier: Apache-2.0

#include "engine/base/section_file.h"

#include <gtest/gtest.h>

#include <algorithm>
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
    const auto memory = std::make_shared<Budget>(1 << 10);
    const auto mapped = std::make_shared<Budget>(file.bytes().size());
    std::shared_ptr<const void> held;
    {
        const SectionFile opened =
                SectionFile::open(file.owner(), file.bytes(), memory, mapped).value();
        EXPECT_GT(memory->reserved(), 0U);
        held = opened.owner();
    }
    EXPECT_EQ(memory->reserved(), 0U);
    EXPECT_EQ(mapped->reserved(), file.bytes().size());
    EXPECT_EQ(SectionFile::open(file.owner(), file.bytes(), memory, mapped).status().code(),
              StatusCode::RESOURCE_EXHAUSTED);
    held = nullptr;
    EXPECT_EQ(mapped->reserved(), 0U);
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
