// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/finding.h"

#include <cstdio>
#include <cstdlib>

namespace halyard::fuzz {

void report(std::string_view claim, std::string_view details) {
    std::fprintf(stderr, "FINDING: %.*s\n%.*s\n", static_cast<int>(claim.size()), claim.data(),
                 static_cast<int>(details.size()), details.data());
    std::abort();
}

}  // namespace halyard::fuzz
