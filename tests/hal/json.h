// SPDX-License-Identifier: Apache-2.0
//
// A small JSON reader for recorded parcels.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace halyard::hal::testing {

struct Json {
    enum class Kind : uint8_t { NUL, BOOL, NUMBER, STRING, ARRAY, OBJECT };
    Kind kind = Kind::NUL;
    std::string text;  // of a string; of a number as written
    bool truth = false;
    std::vector<Json> items;
    std::map<std::string, Json, std::less<>> members;

    bool isNull() const { return kind == Kind::NUL; }
    // A null value if there is no such member.
    const Json& operator[](std::string_view name) const;
    const Json& operator[](size_t index) const;
    uint64_t number() const;  // two's complement where negative
    double real() const;
};

// Escapes other than \" and \\ and nesting of more than 64 levels are refused.
Result<Json> parseJson(std::string_view text);

}  // namespace halyard::hal::testing
