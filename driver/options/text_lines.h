// SPDX-License-Identifier: Apache-2.0
//
// Files of options that people write: a line an entry, of words, with comments behind '#'.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace halyard::driver {

struct TextLine {
    size_t number = 0;  // from 1
    std::vector<std::string_view> words;

    // "line 3", for messages.
    std::string name() const { return "line " + std::to_string(number); }
};

// Those that have words, which lie in `text`.
std::vector<TextLine> linesOf(std::string_view text);

// INVALID_ARGUMENT names the file: it can't be read, or has more than `mostBytes`.
Result<std::string> readTextFile(const std::string& path, size_t mostBytes);

}  // namespace halyard::driver
