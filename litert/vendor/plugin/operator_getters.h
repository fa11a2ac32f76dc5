// SPDX-License-Identifier: Apache-2.0
//
// How an operator's options are read of LiteRT, which has a function for each.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace halyard::vendor {

enum class OptionSource : uint8_t {
    GETTER,
    // LiteRT has no function for it, and what it is follows from elsewhere (generate.py).
    DEFAULT,
    DEFAULT_WITHOUT_INT16,
    INPUT_TYPE,
    OUTPUT_TYPE,
};

// What a getter writes: a pointer to one of these, or of a list a pointer to its elements and one
// to their number.
enum class OptionWritten : uint8_t { BOOL, INT32, UINT32, FLOAT, INT32S };

struct OptionGetter {
    OptionSource source = OptionSource::GETTER;
    OptionWritten written = OptionWritten::INT32;
    size_t offset = 0;  // of its slot
    const char* name = "";
};

struct OperatorGetters {
    int32_t code = 0;
    std::span<const OptionGetter> options;  // as the operator's entry has its fields
};

// Null where not all of the operator's options can be known.
const OperatorGetters* findGetters(int32_t code);

}  // namespace halyard::vendor
