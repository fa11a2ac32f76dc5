// SPDX-License-Identifier: Apache-2.0
//
// Tables of a FlatBuffer, read with every offset checked. A table is a position in the bytes with a
// vtable that says where its fields lie; a field that is not there has its default.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace halyard::tflite {

// The bytes, and how many entries of vectors may still be copied out of them: files may point to
// the same bytes as often as they like.
class Flatbuffer {
  public:
    explicit Flatbuffer(std::span<const uint8_t> bytes) : mBytes(bytes), mLeft(4 * bytes.size()) {}

    std::span<const uint8_t> bytes() const { return mBytes; }
    // INVALID_ARGUMENT where more is read than the file could have.
    Status take(size_t entries);
    template <typename T>
    Result<T> at(size_t position) const {
        if (position > mBytes.size() || mBytes.size() - position < sizeof(T)) {
            return invalidArgument("the file ends at byte " + std::to_string(mBytes.size()) +
                                   ", and byte " + std::to_string(position) + " is wanted");
        }
        T value;
        std::memcpy(&value, mBytes.data() + position, sizeof value);
        return value;
    }

  private:
    std::span<const uint8_t> mBytes;
    size_t mLeft;
};

class Table {
  public:
    // The table that the offset at `position` leads to.
    static Result<Table> follow(Flatbuffer& file, size_t position);

    // A number, or its default.
    template <typename T>
    Result<T> number(size_t slot, T defaultValue) const {
        HALYARD_ASSIGN_OR_RETURN(const size_t position, field(slot));
        return position == 0 ? Result<T>(defaultValue) : mFile->at<T>(position);
    }
    // Nothing where it is not there.
    Result<std::optional<Table>> table(size_t slot) const;
    Result<std::vector<Table>> tables(size_t slot) const;
    // The bytes of a vector; empty where it is not there.
    Result<std::span<const uint8_t>> bytes(size_t slot) const;
    Result<std::string_view> text(size_t slot) const;
    // The entries of a vector of numbers; empty where it is not there.
    template <typename T>
    Result<std::vector<T>> numbers(size_t slot) const {
        HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> found, entries(slot, sizeof(T)));
        std::vector<T> values(found.size() / sizeof(T));
        std::memcpy(values.data(), found.data(), found.size());
        return values;
    }
    // Whether any field from this slot on is there.
    Result<bool> hasFieldsFrom(size_t slot) const;

  private:
    Table(Flatbuffer* file, size_t position, size_t vtable, size_t slots)
        : mFile(file), mPosition(position), mVtable(vtable), mSlots(slots) {}
    // Where a field lies; 0: it is not there.
    Result<size_t> field(size_t slot) const;
    // Of the vector that a field leads to.
    Result<std::span<const uint8_t>> entries(size_t slot, size_t entrySize) const;

    Flatbuffer* mFile;
    size_t mPosition;
    size_t mVtable;
    size_t mSlots;
};

}  // namespace halyard::tflite
