// SPDX-License-Identifier: Apache-2.0

#include "engine/base/build_identity.h"

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstring>
#include <string_view>

namespace halyard {
namespace {

constexpr std::string_view kOwner = {"GNU\0", 4};

size_t padded(size_t size) {
    return (size + 3) & ~size_t{3};
}

// Among the notes of a segment. They are the linker's, in memory that is never written to.
std::span<const uint8_t> identityIn(std::span<const uint8_t> notes) {
    while (notes.size() >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note = {};
        std::memcpy(&note, notes.data(), sizeof note);
        const size_t content = sizeof note + padded(note.n_namesz);
        const size_t end = content + padded(note.n_descsz);
        if (end > notes.size()) {
            break;
        }
        const std::string_view owner(reinterpret_cast<const char*>(notes.data()) + sizeof note,
                                     note.n_namesz);
        if (note.n_type == NT_GNU_BUILD_ID && owner == kOwner) {
            return notes.subspan(content, note.n_descsz);
        }
        notes = notes.subspan(end);
    }
    return {};
}

struct Search {
    uintptr_t here = 0;  // an address in what is looked for
    std::span<const uint8_t> found;
};

int look(dl_phdr_info* info, size_t /*size*/, void* argument) {
    Search& search = *static_cast<Search*>(argument);
    const std::span headers(info->dlpi_phdr, info->dlpi_phnum);
    bool isHere = false;
    for (const auto& header : headers) {
        const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
        isHere = isHere || (header.p_type == PT_LOAD && search.here >= begin &&
                            search.here - begin < header.p_memsz);
    }
    if (!isHere) {
        return 0;
    }
    for (const auto& header : headers) {
        if (header.p_type == PT_NOTE && search.found.empty()) {
            search.found =
                    identityIn({reinterpret_cast<const uint8_t*>(info->dlpi_addr + header.p_vaddr),
                                header.p_memsz});
        }
    }
    return 1;
}

}  // namespace

std::span<const uint8_t> buildIdentity() {
    Search search = {.here = reinterpret_cast<uintptr_t>(&look), .found = {}};
    dl_iterate_phdr(&look, &search);
    return search.found;
}

std::string buildIdentityText() {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const uint8_t byte : buildIdentity()) {
        text.append({kDigits[byte >> 4U], kDigits[byte & 0xFU]});
    }
    return text;
}

}  // namespace halyard
