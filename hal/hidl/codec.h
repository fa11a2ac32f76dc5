// SPDX-License-Identifier: Apache-2.0
//
// Values in parcels, read and written by layout (layout.h; the structs are in the generated
// types.h). Reading is in place: the kernel has put the addresses of the buffers into the structs,
// the codec checks every one of them, and the caller reads plain structs.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "engine/base/status.h"
#include "hal/binder/parcel.h"
#include "hal/hidl/hidl_parcel.h"
#include "hal/hidl/layout.h"

namespace halyard::hal::hidl {

// ---- Reading -----------------------------------------------------------------------------------
//
// All failures are INVALID_ARGUMENT. What is returned lives as long as the transaction.

// A value that travels as a buffer (struct, safe_union, vec, string, array, memory, queue), checked
// throughout: every address in it is that of a buffer of the right length, strings end in NUL,
// handles are well formed, discriminators are known. Numbers and enums are not checked.
Result<const void*> readValue(ParcelReader& reader, const TypeLayout& layout);

template <typename T>
Result<const T*> readValue(ParcelReader& reader) {
    static_assert(std::is_trivially_copyable_v<T>);
    HALYARD_ASSIGN_OR_RETURN(const void* value, readValue(reader, layoutOf<T>()));
    return static_cast<const T*>(value);
}

// A scalar argument of an enum's type.
template <typename E>
Result<E> readEnum(ParcelReader& reader) {
    static_assert(std::is_enum_v<E> && sizeof(E) <= sizeof(int32_t));
    HALYARD_ASSIGN_OR_RETURN(int32_t value, reader.readInt32());
    return static_cast<E>(value);
}

// A vec of strings, copied.
Result<std::vector<std::string>> readStrings(ParcelReader& reader);

// A vec of interfaces.
Result<std::vector<ObjectRef>> readObjects(ParcelReader& reader);

// The objects that a struct refers to, once readValue() has checked it. Descriptors are borrowed.
ReceivedHandle nativeHandle(const HidlHandle& handle);

// ---- Writing -----------------------------------------------------------------------------------

// Writes `value`, a struct of this layout whose addresses point to live memory (the make functions
// give that), with everything that hangs off it, in wire order. The writer keeps a copy of the
// struct itself.
void writeValue(ParcelWriter& writer, const TypeLayout& layout, const void* value);

template <typename T>
void writeValue(ParcelWriter& writer, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    writeValue(writer, layoutOf<T>(), &value);
}

template <typename E>
void writeEnum(ParcelWriter& writer, E value) {
    static_assert(std::is_enum_v<E> && sizeof(E) <= sizeof(int32_t));
    writer.writeInt32(static_cast<int32_t>(value));
}

void writeStrings(ParcelWriter& writer, std::span<const std::string_view> texts);
void writeObjects(ParcelWriter& writer, std::span<const ObjectRef> objects);

// Fill in the generated structs; the content is copied into the writer.
HidlString makeString(ParcelWriter& writer, std::string_view text);
HidlHandle makeHandle(ParcelWriter& writer, const NativeHandle& handle);
HidlMemory makeMemory(ParcelWriter& writer, std::string_view name, const NativeHandle& handle,
                      uint64_t size);
template <typename T>
HidlVec<T> makeVec(ParcelWriter& writer, std::span<const T> elements) {
    static_assert(std::is_trivially_copyable_v<T>);
    HidlVec<T> vec;
    vec.count = static_cast<uint32_t>(elements.size());
    if (!elements.empty()) {
        std::span<const uint8_t> kept = writer.keep(
                {reinterpret_cast<const uint8_t*>(elements.data()), elements.size_bytes()});
        vec.address = reinterpret_cast<uintptr_t>(kept.data());
    }
    return vec;
}
template <typename T>
HidlVec<T> makeVec(ParcelWriter& writer, const std::vector<T>& elements) {
    return makeVec(writer, std::span<const T>(elements));
}

}  // namespace halyard::hal::hidl
