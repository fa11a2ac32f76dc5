// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>

namespace halyard::fuzz {

// Ends the process as a finding: something that must hold of every input does not.
[[noreturn]] void report(std::string_view claim, std::string_view details);

inline void require(bool holds, std::string_view claim, std::string_view details = {}) {
    if (!holds) {
        report(claim, details);
    }
}

}  // namespace halyard::fuzz
