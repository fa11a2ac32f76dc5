// SPDX-License-Identifier: Apache-2.0

#include "engine/base/section_file.h"

#include <algorithm>
#include <cstring>

#include "engine/base/byte_format.h"
#include "engine/base/checked_math.h"
#include "engine/base/checksum.h"

namespace halyard {
namespace {

constexpr std::string_view kMagic = "HALYFILE";
constexpr uint32_t kVersion = 2;
constexpr size_t kAlignment = 64;
// Bytes that are read between two looks at the checkpoint.
constexpr size_t kChunk = size_t{1} << 20;
// Bytes of the heap that a section takes while a file is open and used, beside three times its
// name: here, among those that begin alike, and where they are adopted.
constexpr size_t kSectionHeap = 512;
// Sections that are looked at between two looks at the checkpoint, and paid for at once.
constexpr size_t kSectionsAtOnce = 256;

struct Header {
    uint32_t version = kVersion;
    uint32_t sections = 0;
    uint64_t fileSize = 0;
    uint64_t tableSize = 0;
};
constexpr size_t kHeaderSize = kMagic.size() + 2 * sizeof(uint32_t) + 2 * sizeof(uint64_t);

// Writes on, and sums what goes by.
class SummingSink : public ByteSink {
  public:
    explicit SummingSink(ByteSink& sink) : mSink(sink) {}

    Status write(std::span<const uint8_t> bytes) override {
        mSum.add(bytes);
        return mSink.write(bytes);
    }
    uint64_t sum() const { return mSum.value(); }

  private:
    ByteSink& mSink;
    Checksum mSum;
};

// A file's owner: of its bytes, and of the memory reserved for them.
struct Held {
    std::shared_ptr<const void> owner;
    Reservation reservation;
    std::vector<Reservation> sections;
};

// Pays for a file's sections before they are there.
class SectionRoom {
  public:
    // `count`: as many as there are said to be.
    SectionRoom(const std::shared_ptr<Budget>& memory, size_t count, std::vector<Reservation>& held)
        : mMemory(memory), mHeld(held), mCount(count) {}

    Status take(std::string_view name) {
        const size_t bytes = kSectionHeap + 3 * name.size();
        if (bytes > mLeft) {
            const size_t more = std::max(bytes, std::min(mCount, kSectionsAtOnce) * kSectionHeap);
            HALYARD_ASSIGN_OR_RETURN(Reservation reserved, Reservation::create(mMemory, more));
            mHeld.push_back(std::move(reserved));
            mLeft = more;
        }
        mLeft -= bytes;
        --mCount;
        return {};
    }

  private:
    const std::shared_ptr<Budget>& mMemory;
    std::vector<Reservation>& mHeld;
    size_t mCount;  // of those to come
    size_t mLeft = 0;
};

Status sumInChunks(Checksum& sum, std::span<const uint8_t> bytes, const Checkpoint& checkpoint) {
    while (!bytes.empty()) {
        HALYARD_RETURN_IF_ERROR(checkpoint.check("while a file was checked"));
        const size_t count = std::min(kChunk, bytes.size());
        sum.add(bytes.first(count));
        bytes = bytes.subspan(count);
    }
    return {};
}

Result<std::span<const uint8_t>> copyOf(std::span<const uint8_t> bytes,
                                        const std::shared_ptr<Budget>& memory,
                                        const Checkpoint& checkpoint,
                                        std::vector<AlignedBuffer>& copies) {
    HALYARD_ASSIGN_OR_RETURN(AlignedBuffer copy,
                             AlignedBuffer::allocate(bytes.size(), kAlignment, memory));
    HALYARD_RETURN_IF_ERROR(copyInChunks(copy.data(), bytes.data(), bytes.size(), checkpoint,
                                         "while a file was checked"));
    const std::span<const uint8_t> copied(reinterpret_cast<const uint8_t*>(copy.data()),
                                          bytes.size());
    copies.push_back(std::move(copy));
    return copied;
}

Result<Header> readHeader(std::span<const uint8_t> bytes, size_t fileSize) {
    if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
        return invalidArgument("these bytes are no file of Halyard's");
    }
    ByteReader reader(bytes.subspan(kMagic.size()), "the header");
    Header header;
    HALYARD_RETURN_IF_ERROR(reader.get(header.version));
    HALYARD_RETURN_IF_ERROR(reader.get(header.sections));
    HALYARD_RETURN_IF_ERROR(reader.get(header.fileSize));
    HALYARD_RETURN_IF_ERROR(reader.get(header.tableSize));
    if (header.version != kVersion) {
        return unsupported("version " + std::to_string(header.version) + " of a file of sections");
    }
    if (header.fileSize != fileSize || header.tableSize > fileSize - kHeaderSize) {
        return invalidArgument("the file has " + std::to_string(fileSize) +
                               " bytes, and says that it has " + std::to_string(header.fileSize));
    }
    return header;
}

}  // namespace

void SectionWriter::addDescription(std::string name, std::vector<uint8_t> bytes) {
    Section section = {.name = std::move(name), .bytes = {}};
    section.bytes.add(std::move(bytes));
    mSections.insert(mSections.begin() + static_cast<std::ptrdiff_t>(mDescriptions),
                     std::move(section));
    ++mDescriptions;
}

void SectionWriter::addMapped(std::string name, ByteParts bytes) {
    mSections.push_back({.name = std::move(name), .kind = Kind::MAPPED, .bytes = std::move(bytes)});
}

SectionWriter::Layout SectionWriter::layout() const {
    // Offsets are as long whatever they are, so that the table's size is known beforehand.
    size_t tableSize = 0;
    for (const Section& section : mSections) {
        tableSize += sizeof(uint32_t) + section.name.size() + sizeof(Kind) + 2 * sizeof(uint64_t);
    }
    Layout layout;
    size_t end = kHeaderSize + tableSize;
    ByteWriter table;
    for (const Section& section : mSections) {
        const size_t offset =
                *checkedAlignUp(end, section.kind == Kind::MAPPED ? kSectionPage : kAlignment);
        layout.offsets.push_back(offset);
        table.putText(section.name);
        table.put(static_cast<uint8_t>(section.kind));
        table.put(static_cast<uint64_t>(offset));
        table.put(static_cast<uint64_t>(section.bytes.size()));
        end = offset + section.bytes.size();
    }
    ByteWriter header;
    for (const char c : kMagic) {
        header.put(c);
    }
    header.put(kVersion);
    header.putCount(mSections.size());
    header.put(static_cast<uint64_t>(end + sizeof(uint64_t)));
    header.put(static_cast<uint64_t>(tableSize));
    layout.beginning = header.take();
    const std::vector<uint8_t> rows = table.take();
    layout.beginning.insert(layout.beginning.end(), rows.begin(), rows.end());
    return layout;
}

size_t SectionWriter::bytesBefore(std::string_view name) const {
    const Layout file = layout();
    const auto found = std::ranges::find(mSections, name, &Section::name);
    if (found != mSections.end()) {
        return file.offsets[static_cast<size_t>(found - mSections.begin())];
    }
    return mSections.empty() ? file.beginning.size()
                             : file.offsets.back() + mSections.back().bytes.size();
}

Status SectionWriter::writeTo(ByteSink& sink) const {
    const Layout file = layout();
    SummingSink summing(sink);
    HALYARD_RETURN_IF_ERROR(summing.write(file.beginning));
    size_t at = file.beginning.size();
    for (size_t i = 0; i < mSections.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(summing.write(std::vector<uint8_t>(file.offsets[i] - at)));
        HALYARD_RETURN_IF_ERROR(mSections[i].bytes.writeTo(summing));
        at = file.offsets[i] + mSections[i].bytes.size();
    }
    ByteWriter trailer;
    trailer.put(summing.sum());
    return sink.write(trailer.take());
}

Result<SectionFile> SectionFile::open(std::shared_ptr<const void> owner,
                                      std::span<const uint8_t> bytes,
                                      const std::shared_ptr<Budget>& memory,
                                      const std::shared_ptr<Budget>& mapped,
                                      const Checkpoint& checkpoint, Bytes known) {
    if (bytes.size() < kHeaderSize + sizeof(uint64_t)) {
        return invalidArgument("the file ends early");
    }
    if (reinterpret_cast<uintptr_t>(bytes.data()) % kAlignment != 0) {
        return invalidArgument("the file does not lie at a multiple of " +
                               std::to_string(kAlignment));
    }
    auto held = std::make_shared<Held>();
    held->owner = std::move(owner);
    HALYARD_ASSIGN_OR_RETURN(held->reservation, Reservation::create(mapped, bytes.size()));
    std::vector<Reservation>& paid = held->sections;
    SectionFile file;
    file.mOwner = std::move(held);
    const std::span<const uint8_t> body = bytes.first(bytes.size() - sizeof(uint64_t));
    const bool isChecked = known == Bytes::CHECKED;
    const auto unchanging = [&](std::span<const uint8_t> part) -> Result<std::span<const uint8_t>> {
        return isChecked ? part : copyOf(part, memory, checkpoint, file.mCopies);
    };
    Checksum sum;
    const auto add = [&](std::span<const uint8_t> part) {
        return isChecked ? Status() : sumInChunks(sum, part, checkpoint);
    };
    HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> headerBytes,
                             unchanging(body.first(kHeaderSize)));
    HALYARD_ASSIGN_OR_RETURN(const Header header, readHeader(headerBytes, bytes.size()));
    const size_t tableEnd = kHeaderSize + static_cast<size_t>(header.tableSize);
    if (tableEnd > body.size()) {
        return invalidArgument("the table ends early");
    }
    HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> tableBytes,
                             unchanging(body.subspan(kHeaderSize, tableEnd - kHeaderSize)));
    HALYARD_RETURN_IF_ERROR(add(headerBytes));
    HALYARD_RETURN_IF_ERROR(add(tableBytes));

    // Sections lie in order: what is between them is summed where it lies, and not used.
    ByteReader table(tableBytes, "the table");
    SectionRoom room(memory, header.sections, paid);
    size_t at = tableEnd;
    for (uint32_t i = 0; i < header.sections; ++i) {
        std::string name;
        uint8_t kind = 0;
        uint64_t offset = 0;
        uint64_t size = 0;
        if (i % kSectionsAtOnce == 0) {
            HALYARD_RETURN_IF_ERROR(checkpoint.check("while a file's table was read"));
        }
        HALYARD_RETURN_IF_ERROR(table.getText(name));
        HALYARD_RETURN_IF_ERROR(room.take(name));
        HALYARD_RETURN_IF_ERROR(table.get(kind));
        HALYARD_RETURN_IF_ERROR(table.get(offset));
        HALYARD_RETURN_IF_ERROR(table.get(size));
        const bool isMapped = kind == static_cast<uint8_t>(SectionWriter::Kind::MAPPED);
        if (offset < at || !rangeFits<uint64_t>(offset, size, body.size()) ||
            offset % (isMapped ? kSectionPage : kAlignment) != 0 || kind > 1) {
            return invalidArgument("section '" + name + "' lies where it can't");
        }
        const auto begin = static_cast<size_t>(offset);
        std::span<const uint8_t> content = body.subspan(begin, static_cast<size_t>(size));
        HALYARD_RETURN_IF_ERROR(add(body.subspan(at, begin - at)));
        if (!isMapped) {
            HALYARD_ASSIGN_OR_RETURN(content, unchanging(content));
        }
        HALYARD_RETURN_IF_ERROR(add(content));
        at = begin + content.size();
        if (!file.mSections.emplace(name, Section{.isDescription = !isMapped, .bytes = content})
                     .second) {
            return invalidArgument("there are two sections '" + name + "'");
        }
    }
    HALYARD_RETURN_IF_ERROR(table.finish());
    if (at != body.size()) {
        return invalidArgument("there is more than the file's sections");
    }
    uint64_t expected = 0;
    std::memcpy(&expected, bytes.data() + body.size(), sizeof expected);
    if (!isChecked && expected != sum.value()) {
        return invalidArgument("the file is not as it was written: its checksum differs");
    }
    return file;
}

Result<std::span<const uint8_t>> SectionFile::section(std::string_view name,
                                                      bool isDescription) const {
    const auto found = mSections.find(name);
    if (found == mSections.end() || found->second.isDescription != isDescription) {
        return invalidArgument("the file has no section '" + std::string(name) + "'");
    }
    return found->second.bytes;
}

Result<std::span<const uint8_t>> SectionFile::description(std::string_view name) const {
    return section(name, true);
}

Result<std::span<const uint8_t>> SectionFile::mapped(std::string_view name) const {
    return section(name, false);
}

size_t SectionFile::descriptionBytes() const {
    size_t bytes = 0;
    for (const auto& [name, section] : mSections) {
        bytes += section.isDescription ? section.bytes.size() : 0;
    }
    return bytes;
}

std::map<std::string, std::span<const uint8_t>> SectionFile::mappedBeginningWith(
        std::string_view prefix) const {
    std::map<std::string, std::span<const uint8_t>> found;
    for (auto it = mSections.lower_bound(prefix);
         it != mSections.end() && it->first.starts_with(prefix); ++it) {
        if (!it->second.isDescription) {
            found.emplace(it->first.substr(prefix.size()), it->second.bytes);
        }
    }
    return found;
}

}  // namespace halyard
