// SPDX-License-Identifier: Apache-2.0

#include "driver/options/backend_hints.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <set>

#include "driver/ops/operation_table.h"
#include "driver/options/text_lines.h"

namespace halyard::driver {
namespace {

// Far more than any model has operations.
constexpr size_t kMostBytes = size_t{16} << 20;

std::optional<OperationType> operationNamed(std::string_view name) {
    for (const OperationDefinition& definition : allOperations()) {
        if (nameOf(definition.type) == name) {
            return definition.type;
        }
    }
    return std::nullopt;
}

Result<std::variant<OperationType, uint32_t>> parseOperation(std::string_view word) {
    const auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
    if (std::ranges::all_of(word, isDigit)) {
        uint32_t index = 0;
        const char* end = word.data() + word.size();
        if (std::from_chars(word.data(), end, index).ec != std::errc()) {
            return invalidArgument("no model has an operation " + std::string(word));
        }
        return std::variant<OperationType, uint32_t>(index);
    }
    const std::optional<OperationType> type = operationNamed(word);
    if (!type.has_value()) {
        return invalidArgument("there is no operation \"" + std::string(word) +
                               "\"; --list-operations prints their names");
    }
    return std::variant<OperationType, uint32_t>(*type);
}

Result<BackendHint> parseHint(const std::vector<std::string_view>& words) {
    if (words.size() != 2) {
        return invalidArgument("a line is an operation's name or index and a backend, not " +
                               std::to_string(words.size()) +
                               (words.size() == 1 ? " word" : " words"));
    }
    BackendHint hint;
    HALYARD_ASSIGN_OR_RETURN(hint.operation, parseOperation(words[0]));
    hint.backend = words[1];
    return hint;
}

}  // namespace

Result<std::vector<BackendHint>> parseBackendHints(std::string_view text) {
    std::vector<BackendHint> hints;
    std::set<std::variant<OperationType, uint32_t>> seen;
    for (const TextLine& line : linesOf(text)) {
        Result<BackendHint> hint = parseHint(line.words);
        if (!hint.ok()) {
            return hint.status().withContext(line.name());
        }
        if (!seen.insert(hint->operation).second) {
            return invalidArgument("operation " + std::string(line.words[0]) +
                                   " has a hint already")
                    .withContext(line.name());
        }
        hint->line = line.number;
        hints.push_back(std::move(*hint));
    }
    return hints;
}

Result<std::vector<BackendHint>> readBackendHints(const std::string& path) {
    HALYARD_ASSIGN_OR_RETURN(const std::string text, readTextFile(path, kMostBytes));
    Result<std::vector<BackendHint>> hints = parseBackendHints(text);
    return hints.ok() ? std::move(hints) : hints.status().withContext(path);
}

}  // namespace halyard::driver
