// SPDX-License-Identifier: Apache-2.0
//
// A file of named sections that is written as a stream, from where the bytes lie, and mapped again:
// what is large lies in it as it was in memory, at the start of a page.
//
// Little-endian. A header (magic, version, the number of sections, the sizes of the file and of the
// table), the table (each section's name, kind, offset and size), the sections with zeros between
// them, descriptions first, and a checksum of all that is before it. A file holds one thing of one
// version: the writer of the sections says which.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/aligned_buffer.h"
#include "engine/base/budget.h"
#include "engine/base/byte_parts.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"

namespace halyard {

// Of a mapped section: no page of any device is larger.
inline constexpr size_t kSectionPage = size_t{1} << 14;

class SectionWriter {
  public:
    // A section that is read in full before anything is believed: it is copied when the file is
    // opened.
    void addDescription(std::string name, std::vector<uint8_t> bytes);
    // A section that is used where it lies. The bytes outlive the writer, or the parts own them.
    void addMapped(std::string name, ByteParts bytes);

    // The sink's status.
    Status writeTo(ByteSink& sink) const;
    // Of the file, the bytes from its beginning to a section; all but the checksum at its end where
    // there is no such section.
    size_t bytesBefore(std::string_view name) const;

  private:
    friend class SectionFile;
    enum class Kind : uint8_t { DESCRIPTION, MAPPED };
    struct Section {
        std::string name;
        Kind kind = Kind::DESCRIPTION;
        ByteParts bytes;
    };
    struct Layout {
        std::vector<uint8_t> beginning;  // the header and the table
        std::vector<size_t> offsets;     // of the sections
    };
    Layout layout() const;

    std::vector<Section> mSections;  // descriptions first
    size_t mDescriptions = 0;        // how many
};

// An open file. Others may be able to write to its memory: what is in a description has been copied
// and checked, and stays as it is; what is in a mapped section was right once, and may change.
class SectionFile {
  public:
    // How far a file's bytes are trusted. CHECKED: they are as they were written and can't be
    // changed; then nothing is copied, and no checksum computed.
    enum class Bytes : uint8_t { OF_ANYBODY, CHECKED };

    // INVALID_ARGUMENT where the bytes are no such file, whole and as it was written; UNSUPPORTED
    // for another version. They begin at a multiple of 64, and `owner` keeps them. All of them are
    // reserved from `mapped` as long as the file is open or its owner is held, from `memory` copies
    // as long as the file is open, and what its table takes as long as its owner is held; null: not
    // limited.
    static Result<SectionFile> open(std::shared_ptr<const void> owner,
                                    std::span<const uint8_t> bytes,
                                    const std::shared_ptr<Budget>& memory = nullptr,
                                    const std::shared_ptr<Budget>& mapped = nullptr,
                                    const Checkpoint& checkpoint = {},
                                    Bytes known = Bytes::OF_ANYBODY);

    // INVALID_ARGUMENT where there is no such section. The bytes of a description live as long as
    // the file.
    Result<std::span<const uint8_t>> description(std::string_view name) const;
    Result<std::span<const uint8_t>> mapped(std::string_view name) const;
    // Those whose name begins so, by what follows.
    std::map<std::string, std::span<const uint8_t>> mappedBeginningWith(
            std::string_view prefix) const;
    // Of all descriptions.
    size_t descriptionBytes() const;
    // Keeps the bytes of mapped sections, and what is reserved for them.
    const std::shared_ptr<const void>& owner() const { return mOwner; }

  private:
    struct Section {
        bool isDescription = false;
        std::span<const uint8_t> bytes;
    };
    Result<std::span<const uint8_t>> section(std::string_view name, bool isDescription) const;

    std::shared_ptr<const void> mOwner;
    std::vector<AlignedBuffer> mCopies;
    std::map<std::string, Section, std::less<>> mSections;
};

}  // namespace halyard
