// SPDX-License-Identifier: Apache-2.0
//
// Which backend users want operations to run on: what the file of --backend-hint says.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "driver/model/codes.h"
#include "engine/base/status.h"

namespace halyard::driver {

struct BackendHint {
    // Every operation of the type, or one of the main subgraph by its index, which counts before
    // its type. What runs inside an IF or WHILE goes with it.
    std::variant<OperationType, uint32_t> operation;
    std::string backend;
    size_t line = 0;  // of the file
};

// Lines of an operation's name or index and a backend's name; empty ones, and what stands behind a
// '#', say nothing. INVALID_ARGUMENT names the line: a word is missing or too many, there is no
// such operation, or it has a hint already. Names of backends are looked at where they are known.
Result<std::vector<BackendHint>> parseBackendHints(std::string_view text);

// The same of a file. INVALID_ARGUMENT names it and says why it can't be read.
Result<std::vector<BackendHint>> readBackendHints(const std::string& path);

}  // namespace halyard::driver
