// SPDX-License-Identifier: Apache-2.0
//
// How values of AIDL's types stand in a parcel. The structs, and what is here for each of them, are
// generated (types.h). No type of these interfaces holds itself, so that nothing nests deeper than
// the types do.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/status.h"
#include "hal/aidl/parcel.h"

namespace halyard::hal::aidl {

// Types whose encoding begins with whether the value is there.
template <typename T>
concept Optionable = std::is_same_v<T, BorrowedDescriptor> || requires {
    T::kIsParcelable;
} || requires {
    T::kIsUnion;
};

// ---- Writing ------------------------------------------------------------------------------------

inline void write(AidlWriter& writer, bool value) {
    writer.writeInt32(value ? 1 : 0);
}
inline void write(AidlWriter& writer, char16_t value) {
    writer.writeInt32(value);
}
inline void write(AidlWriter& writer, int32_t value) {
    writer.writeInt32(value);
}
inline void write(AidlWriter& writer, int64_t value) {
    writer.writeInt64(value);
}
inline void write(AidlWriter& writer, float value) {
    writer.writeFloat(value);
}
template <typename E>
requires std::is_enum_v<E>
void write(AidlWriter& writer, E value) {
    static_assert(sizeof(E) == sizeof(int32_t));
    writer.writeInt32(static_cast<int32_t>(value));
}
inline void write(AidlWriter& writer, const std::string& value) {
    writer.writeString(value);
}
inline void write(AidlWriter& writer, const std::optional<std::string>& value) {
    if (value.has_value()) {
        writer.writeString(*value);
    } else {
        writer.writeNullString();
    }
}
inline void write(AidlWriter& writer, const std::vector<uint8_t>& value) {
    writer.writeBytes(value);
}
template <size_t N>
void write(AidlWriter& writer, const std::array<uint8_t, N>& value) {
    writer.writeBytes(value);
}
inline void write(AidlWriter& writer, BorrowedDescriptor value) {
    writer.writeDescriptor(value);
}
inline void write(AidlWriter& writer, const ObjectRef& value) {
    writer.writeObject(value);
}
inline void write(AidlWriter& writer, const MarkedObject& value) {
    writer.writeMarkedObject(value);
}
template <Optionable T>
void write(AidlWriter& writer, const std::optional<T>& value) {
    if (value.has_value()) {
        write(writer, *value);
    } else {
        writer.writeInt32(0);
    }
}
template <typename T>
void write(AidlWriter& writer, const std::vector<T>& values) {
    writer.writeInt32(static_cast<int32_t>(values.size()));
    for (const auto& value : values) {
        write(writer, value);
    }
}

template <typename T>
void writeEach(AidlWriter& writer, const T& fields) {
    static_cast<void>(
            T::forEachField(fields, [&writer](std::string_view /*name*/, const auto& field) {
                write(writer, field);
                return Status();
            }));
}

template <typename T>
void writeParcelable(AidlWriter& writer, const T& value) {
    const size_t at = writer.beginParcelable();
    writeEach(writer, value);
    writer.endParcelable(at);
}

template <typename T>
void writeUnion(AidlWriter& writer, const T& value) {
    writer.writeInt32(1);
    writer.writeInt32(static_cast<int32_t>(value.value.index()));
    std::visit([&writer](const auto& member) { write(writer, member); }, value.value);
}

// ---- Reading: all failures are INVALID_ARGUMENT -------------------------------------------------

inline Status read(AidlReader& reader, bool& value) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t number, reader.readInt32());
    value = number != 0;
    return {};
}
inline Status read(AidlReader& reader, char16_t& value) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t number, reader.readInt32());
    value = static_cast<char16_t>(number);
    return {};
}
inline Status read(AidlReader& reader, int32_t& value) {
    HALYARD_ASSIGN_OR_RETURN(value, reader.readInt32());
    return {};
}
inline Status read(AidlReader& reader, int64_t& value) {
    HALYARD_ASSIGN_OR_RETURN(value, reader.readInt64());
    return {};
}
inline Status read(AidlReader& reader, float& value) {
    HALYARD_ASSIGN_OR_RETURN(value, reader.readFloat());
    return {};
}
template <typename E>
requires std::is_enum_v<E> Status read(AidlReader& reader, E& value) {
    static_assert(sizeof(E) == sizeof(int32_t));
    HALYARD_ASSIGN_OR_RETURN(const int32_t number, reader.readInt32());
    value = static_cast<E>(number);
    return {};
}
inline Status read(AidlReader& reader, std::string& value) {
    HALYARD_ASSIGN_OR_RETURN(value, reader.readString());
    return {};
}
inline Status read(AidlReader& reader, std::optional<std::string>& value) {
    HALYARD_ASSIGN_OR_RETURN(value, reader.readNullableString());
    return {};
}
inline Status read(AidlReader& reader, std::vector<uint8_t>& value) {
    HALYARD_ASSIGN_OR_RETURN(value, reader.readBytes());
    return {};
}
template <size_t N>
Status read(AidlReader& reader, std::array<uint8_t, N>& value) {
    HALYARD_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, reader.readBytes());
    if (bytes.size() != N) {
        return invalidArgument("parcel: " + std::to_string(bytes.size()) + " bytes in place of " +
                               std::to_string(N));
    }
    std::ranges::copy(bytes, value.begin());
    return {};
}
inline Status read(AidlReader& reader, BorrowedDescriptor& value) {
    HALYARD_RETURN_IF_ERROR(reader.readRequired());
    HALYARD_ASSIGN_OR_RETURN(value, reader.readDescriptor());
    return {};
}
inline Status read(AidlReader& reader, ObjectRef& value) {
    HALYARD_ASSIGN_OR_RETURN(value, reader.readObject());
    return {};
}
inline Status read(AidlReader& reader, MarkedObject& value) {
    HALYARD_ASSIGN_OR_RETURN(value, reader.readMarkedObject());
    return {};
}

template <typename T>
Status readEach(AidlReader& reader, T& fields) {
    return T::forEachField(fields, [&reader](std::string_view name, auto& field) {
        const Status status = read(reader, field);
        return status.ok() ? status : status.withContext(name);
    });
}

// The members of a struct that is there.
template <typename T>
requires requires {
    T::kIsParcelable;
}
Status readContent(AidlReader& reader, T& value) {
    HALYARD_ASSIGN_OR_RETURN(const AidlReader::Outer outer, reader.beginParcelable());
    const Status fields =
            T::forEachField(value, [&reader](std::string_view name, auto& field) -> Status {
                if (reader.atEndOfParcelable()) {
                    return {};
                }
                const Status status = read(reader, field);
                return status.ok() ? status : status.withContext(name);
            });
    const Status ended = reader.endParcelable(outer);
    return fields.ok() ? ended : fields;
}

template <typename T, size_t index = 0>
Status readMember(AidlReader& reader, int32_t tag, T& value) {
    if constexpr (index == std::variant_size_v<decltype(value.value)>) {
        return invalidArgument("a union with the unknown tag " + std::to_string(tag));
    } else {
        if (tag != static_cast<int32_t>(index)) {
            return readMember<T, index + 1>(reader, tag, value);
        }
        return read(reader, value.value.template emplace<index>()).withContext(T::kMembers[index]);
    }
}
template <typename T>
requires requires {
    T::kIsUnion;
}
Status readContent(AidlReader& reader, T& value) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t tag, reader.readInt32());
    return readMember(reader, tag, value);
}
inline Status readContent(AidlReader& reader, BorrowedDescriptor& value) {
    HALYARD_ASSIGN_OR_RETURN(value, reader.readDescriptor());
    return {};
}

// A parcelable or a union that must be there.
template <typename T>
Status readStruct(AidlReader& reader, T& value) {
    HALYARD_RETURN_IF_ERROR(reader.readRequired());
    return readContent(reader, value);
}
template <Optionable T>
Status read(AidlReader& reader, std::optional<T>& value) {
    HALYARD_ASSIGN_OR_RETURN(const bool present, reader.readPresence());
    value.reset();
    return present ? readContent(reader, value.emplace()) : Status();
}
template <typename T>
Status read(AidlReader& reader, std::vector<T>& values) {
    HALYARD_ASSIGN_OR_RETURN(const size_t count, reader.readCount());
    values.clear();
    // Not set aside beforehand: a struct takes far more room than the least that it can travel as.
    for (size_t i = 0; i < count; ++i) {
        HALYARD_RETURN_IF_ERROR(reader.takeRoom(sizeof(T)));
        T value = {};
        HALYARD_RETURN_IF_ERROR(read(reader, value));
        values.push_back(std::move(value));
    }
    return {};
}

}  // namespace halyard::hal::aidl
