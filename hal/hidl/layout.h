// SPDX-License-Identifier: Apache-2.0
//
// How HIDL types lie in memory, and what the interfaces look like, as tables. The structs of the
// base, manager and NN HAL packages are generated from interfaces.json into types.h with their C++
// layout equal to the wire layout; layouts.cc holds a TypeLayout for each and an InterfaceLayout
// per interface. codec.h reads and writes parcels by them.
//
// Layouts are those of 64-bit processes; on 32-bit ones they are the same.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "hal/binder/address.h"

namespace halyard::hal::hidl {

struct TypeLayout;

// A field of a struct or a member of a safe_union.
struct FieldLayout {
    std::string_view name;
    size_t offset = 0;
    const TypeLayout* type = nullptr;
};

struct TypeLayout {
    enum class Kind : uint8_t {
        BOOL,
        SIGNED,  // integers and enums of 1, 2, 4 or 8 bytes
        UNSIGNED,
        FLOAT,
        STRING,
        HANDLE,
        MEMORY,
        FMQ,         // element
        VEC,         // element
        ARRAY,       // element, count
        STRUCT,      // fields in declaration order
        SAFE_UNION,  // fields are the members by discriminator (a byte at offset 0)
        INTERFACE,   // as an argument, or the element of a vec that is one
    };
    Kind kind = Kind::UNSIGNED;
    std::string_view name;
    size_t size = 0;
    std::span<const FieldLayout> fields = {};
    const TypeLayout* element = nullptr;
    size_t count = 0;
    // Whether the codec must look inside: buffers hang off it, or it holds a safe_union.
    bool walked = false;
};

struct ArgumentLayout {
    std::string_view name;
    const TypeLayout* type = nullptr;
};

struct MethodLayout {
    std::string_view name;
    uint32_t code = 0;
    std::string_view token;  // descriptor of the interface that declares it
    bool oneway = false;
    std::span<const ArgumentLayout> arguments = {};
    std::span<const ArgumentLayout> results = {};
};

struct InterfaceLayout {
    std::string_view descriptor;
    std::span<const std::string_view> chain;          // leaf first, IBase last
    std::span<const std::array<uint8_t, 32>> hashes;  // one per chain entry
    std::span<const MethodLayout> methods;            // inherited ones included
};

// Null if there is no such interface.
const InterfaceLayout* findInterface(std::string_view descriptor);
// Null if the interface has no such method.
const MethodLayout* findMethod(const InterfaceLayout& interface, uint32_t code);

// The layout of a generated struct, or of a HidlString, HidlMemory, HidlVec, HidlFmq or std::array
// that is an argument or result of a method. Other types fail to link.
template <typename T>
const TypeLayout& layoutOf();

// ---- What the generated structs are made of ----------------------------------------------------
//
// `address` is a pointer in the process that holds the struct. In a struct that readValue() gave
// out, all of them have been checked.

// A byte that the other side chose: not every value is a bool.
struct HidlBool {
    uint8_t byte = 0;

    HidlBool() = default;
    HidlBool(bool value) : byte(value ? 1 : 0) {}  // NOLINT(google-explicit-constructor)
    operator bool() const { return byte != 0; }    // NOLINT(google-explicit-constructor)
};

struct HidlString {
    uint64_t address = 0;
    uint32_t length = 0;  // without the NUL
    uint8_t owns = 0;
    uint8_t pad[3] = {};

    std::string_view view() const { return {pointerTo<char>(address), length}; }
};

template <typename T>
struct HidlVec {
    uint64_t address = 0;
    uint32_t count = 0;
    uint8_t owns = 0;
    uint8_t pad[3] = {};

    std::span<const T> view() const { return {pointerTo<T>(address), count}; }
};

struct HidlHandle {
    uint64_t address = 0;  // of a native_handle: version 12, fd count, int count, data; 0: null
    uint8_t owns = 0;
    uint8_t pad[7] = {};
};

struct HidlMemory {
    HidlHandle handle;
    uint64_t size = 0;
    HidlString name;
};

// One region of a fast message queue, in one of its handle's descriptors.
struct HidlGrantor {
    uint32_t flags = 0;
    uint32_t fdIndex = 0;
    uint32_t offset = 0;
    uint8_t pad[4] = {};
    uint64_t extent = 0;
};

// A fast message queue of T. Grantors: read counter, write counter, ring, and an event word if the
// queue can block.
template <typename T>
struct HidlFmq {
    HidlVec<HidlGrantor> grantors;
    uint64_t handleAddress = 0;
    uint32_t quantum = 0;  // sizeof(T)
    uint32_t flags = 0;    // 1: one reader and one writer in step; 2: the writer may overrun
};

struct HidlMonostate {
    uint8_t pad = 0;
};

static_assert(sizeof(HidlBool) == 1 && sizeof(HidlMonostate) == 1);
static_assert(sizeof(HidlString) == 16 && offsetof(HidlString, length) == 8);
static_assert(sizeof(HidlVec<char>) == 16 && offsetof(HidlVec<char>, count) == 8);
static_assert(sizeof(HidlHandle) == 16);
static_assert(sizeof(HidlMemory) == 40 && offsetof(HidlMemory, size) == 16 &&
              offsetof(HidlMemory, name) == 24);
static_assert(sizeof(HidlGrantor) == 24 && offsetof(HidlGrantor, offset) == 8 &&
              offsetof(HidlGrantor, extent) == 16);
static_assert(sizeof(HidlFmq<char>) == 32 && offsetof(HidlFmq<char>, handleAddress) == 16 &&
              offsetof(HidlFmq<char>, quantum) == 24);

}  // namespace halyard::hal::hidl
