// SPDX-License-Identifier: Apache-2.0
//
// The options of custom operators, where they are a map in the format of FlexBuffers: the last byte
// is the root's width, the one before its type, and offsets point backwards. Everything in it may
// be anything: what lies outside of the bytes is a failure.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "engine/base/status.h"

namespace halyard::tflite {

class FlexMap {
  public:
    // The bytes outlive it. UNSUPPORTED where they are no such map.
    static Result<FlexMap> create(std::span<const uint8_t> bytes);

    // A number, or a truth value as 0 or 1. Nothing where there is no such key; UNSUPPORTED where
    // its value is something else.
    Result<std::optional<double>> number(std::string_view key) const;

  private:
    explicit FlexMap(std::span<const uint8_t> bytes) : mBytes(bytes) {}
    Status readRoot();
    // An unsigned number of so many bytes.
    Result<uint64_t> unsignedAt(size_t at, size_t width) const;
    // What an offset of that width at that place points to.
    Result<size_t> target(size_t at, size_t width) const;
    Result<double> numberAt(size_t at, size_t width, uint8_t type) const;
    Result<bool> isKey(size_t entry, std::string_view key) const;

    std::span<const uint8_t> mBytes;
    size_t mValues = 0;  // where they lie
    size_t mWidth = 0;   // of each
    size_t mKeys = 0;    // the same of offsets to keys
    size_t mKeyWidth = 0;
    size_t mCount = 0;
};

}  // namespace halyard::tflite
