// SPDX-License-Identifier: Apache-2.0
//
// The delegate's options, as hosts hand them over: names and values that are text.

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/status.h"
#include "litert/program/runtime.h"

namespace halyard::litert {

struct DelegateOptions {
    RuntimeOptions runtime;
    std::optional<size_t> threads;  // nothing: as many as the interpreter has; 0: one per core
    size_t minNodes = 1;            // partitions of fewer operators are left to the host
    std::string report;             // file; empty: none
    std::string profile;            // file; empty: none
};

// Each option once: backends, threads, cache_dir, fast_math (0, 1), min_nodes, report, profile, log
// (silent, error, warning, info, verbose), permit (tiles, processes; separated by commas).
// INVALID_ARGUMENT quotes a name that there is not, and a value that is none of an option's.
Result<DelegateOptions> parseOptions(
        std::span<const std::pair<std::string_view, std::string_view>> given);

}  // namespace halyard::litert
