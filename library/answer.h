// SPDX-License-Identifier: Apache-2.0
//
// Answers of the C API's functions, and how they read and fill the structs of callers that were
// compiled with another version of its header.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "engine/base/status.h"
#include "halyard/types.h"

namespace halyard::library {

// The code of a status, and its sentence in the message, which may be null. `stopped`: a caller's
// wish to stop is what ended it.
halyard_status answer(const Status& status, halyard_message* message, bool stopped = false);

// INVALID_ARGUMENT "<name> is null" where the pointer is.
Status present(const void* pointer, const char* name);

// No struct of any version is larger.
inline constexpr uint32_t kMostStructBytes = 4096;
// Of the struct `name`, of which this version has `known` bytes and the first had `first`.
Status checkStructSize(const char* name, uint32_t size, size_t first, size_t known,
                       const void* bytes);

// A copy of the caller's options; the defaults where there are none. `first`: what the struct had
// in the first version, where that was less.
template <typename Options>
Result<Options> readOptions(const Options* from, const char* name, size_t first = sizeof(Options)) {
    Options options = {};
    if (from == nullptr) {
        return options;
    }
    uint32_t size = 0;
    std::memcpy(&size, from, sizeof size);
    HALYARD_RETURN_IF_ERROR(checkStructSize(name, size, first, sizeof options, from));
    std::memcpy(static_cast<void*>(&options), from, std::min<size_t>(size, sizeof options));
    return options;
}

// The same of a struct that there has to be.
template <typename Options>
Result<Options> readStruct(const Options* from, const char* name, size_t first = sizeof(Options)) {
    HALYARD_RETURN_IF_ERROR(present(from, name));
    return readOptions(from, name, first);
}

// As much of it as the caller's struct holds. `first`: as readOptions() has it.
template <typename Info>
Status fillStruct(const Info& info, Info* to, const char* name, size_t first = sizeof(Info)) {
    HALYARD_RETURN_IF_ERROR(present(to, name));
    const uint32_t size = to->struct_size;
    HALYARD_RETURN_IF_ERROR(checkStructSize(name, size, first, sizeof info, nullptr));
    std::memcpy(static_cast<void*>(to), &info, std::min<size_t>(size, sizeof info));
    to->struct_size = size;
    return {};
}

// INVALID_ARGUMENT where there is a count and no array.
template <typename T>
Result<std::span<const T>> readArray(const T* array, size_t count, const char* name) {
    if (count > 0) {
        HALYARD_RETURN_IF_ERROR(present(array, name));
    }
    if (count > PTRDIFF_MAX / sizeof(T)) {
        return invalidArgument(std::string(name) + " has " + std::to_string(count) + " elements");
    }
    return std::span<const T>(array, count);
}

}  // namespace halyard::library
