// SPDX-License-Identifier: Apache-2.0

#include "engine/base/json_text.h"

#include <array>
#include <cstdio>

namespace halyard {

std::string jsonString(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            quoted.append(1, '\\').append(1, c);
        } else if (static_cast<unsigned char>(c) < ' ') {
            std::array<char, 8> code = {};
            std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(c));
            quoted += code.data();
        } else {
            quoted += c;
        }
    }
    return quoted + "\"";
}

}  // namespace halyard
