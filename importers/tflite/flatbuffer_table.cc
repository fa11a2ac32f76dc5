// SPDX-License-Identifier: Apache-2.0

#include "importers/tflite/flatbuffer_table.h"

namespace halyard::tflite {

Status Flatbuffer::take(size_t entries) {
    if (entries > mLeft) {
        return invalidArgument("the file leads to more than its " + std::to_string(mBytes.size()) +
                               " bytes can hold");
    }
    mLeft -= entries;
    return {};
}

Result<Table> Table::follow(Flatbuffer& file, size_t position) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t offset, file.at<uint32_t>(position));
    const size_t table = position + offset;
    HALYARD_ASSIGN_OR_RETURN(const int32_t back, file.at<int32_t>(table));
    const int64_t vtable = static_cast<int64_t>(table) - back;
    if (vtable < 0) {
        return invalidArgument("the table at byte " + std::to_string(table) +
                               " has its vtable before the file");
    }
    HALYARD_ASSIGN_OR_RETURN(const uint16_t size, file.at<uint16_t>(static_cast<size_t>(vtable)));
    if (size < 4 || size % 2 != 0 || static_cast<size_t>(vtable) + size > file.bytes().size()) {
        return invalidArgument("the table at byte " + std::to_string(table) + " has a vtable of " +
                               std::to_string(size) + " bytes");
    }
    HALYARD_RETURN_IF_ERROR(file.take(1));
    return Table(&file, table, static_cast<size_t>(vtable), (size - 4) / 2);
}

Result<size_t> Table::field(size_t slot) const {
    if (slot >= mSlots) {
        return size_t{0};
    }
    HALYARD_ASSIGN_OR_RETURN(const uint16_t offset, mFile->at<uint16_t>(mVtable + 4 + 2 * slot));
    return offset == 0 ? size_t{0} : mPosition + offset;
}

Result<std::optional<Table>> Table::table(size_t slot) const {
    HALYARD_ASSIGN_OR_RETURN(const size_t position, field(slot));
    if (position == 0) {
        return std::optional<Table>();
    }
    HALYARD_ASSIGN_OR_RETURN(const Table found, follow(*mFile, position));
    return std::optional(found);
}

Result<std::span<const uint8_t>> Table::entries(size_t slot, size_t entrySize) const {
    HALYARD_ASSIGN_OR_RETURN(const size_t position, field(slot));
    if (position == 0) {
        return std::span<const uint8_t>();
    }
    HALYARD_ASSIGN_OR_RETURN(const uint32_t offset, mFile->at<uint32_t>(position));
    const size_t vector = position + offset;
    HALYARD_ASSIGN_OR_RETURN(const uint32_t count, mFile->at<uint32_t>(vector));
    const std::span<const uint8_t> all = mFile->bytes();
    const size_t begin = vector + sizeof count;
    if (count > (all.size() - begin) / entrySize) {
        return invalidArgument("the vector at byte " + std::to_string(vector) + " has " +
                               std::to_string(count) + " entries, past the end of the file");
    }
    if (entrySize > 1) {
        HALYARD_RETURN_IF_ERROR(mFile->take(count));
    }
    return all.subspan(begin, count * entrySize);
}

Result<std::vector<Table>> Table::tables(size_t slot) const {
    HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> offsets,
                             entries(slot, sizeof(uint32_t)));
    const size_t begin = static_cast<size_t>(offsets.data() - mFile->bytes().data());
    std::vector<Table> found;
    for (size_t i = 0; i < offsets.size(); i += sizeof(uint32_t)) {
        HALYARD_ASSIGN_OR_RETURN(const Table each, follow(*mFile, begin + i));
        found.push_back(each);
    }
    return found;
}

Result<std::span<const uint8_t>> Table::bytes(size_t slot) const {
    return entries(slot, 1);
}

Result<std::string_view> Table::text(size_t slot) const {
    HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> found, entries(slot, 1));
    HALYARD_RETURN_IF_ERROR(mFile->take(found.size() / 8));
    return std::string_view(reinterpret_cast<const char*>(found.data()), found.size());
}

Result<bool> Table::hasFieldsFrom(size_t slot) const {
    for (size_t each = slot; each < mSlots; ++each) {
        HALYARD_ASSIGN_OR_RETURN(const size_t position, field(each));
        if (position != 0) {
            return true;
        }
    }
    return false;
}

}  // namespace halyard::tflite
