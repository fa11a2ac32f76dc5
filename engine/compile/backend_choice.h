// SPDX-License-Identifier: Apache-2.0
//
// How users name a backend, and what they ask of it: "CpuRef", "CpuAcc:features=avx2".

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace halyard::engine {

struct BackendOption {
    std::string name;   // "features"
    std::string value;  // "avx2"

    bool operator==(const BackendOption&) const = default;
};

struct BackendChoice {
    std::string name;
    std::vector<BackendOption> options = {};  // each name once

    bool operator==(const BackendChoice&) const = default;
};

// A name, and options behind it with a ':' before each, so that a list of choices may have commas
// between them. INVALID_ARGUMENT quotes what is no name or option, and an option that is there
// twice. Which backends and options there are is openBackends()'s to say.
Result<BackendChoice> parseBackendChoice(std::string_view text);

}  // namespace halyard::engine
