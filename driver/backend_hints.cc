// SPDX-License-Identifier: Apache-2.0

#include "driver/backend_hints.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <set>

#include "driver/ops/operation.h"

namespace halyard::driver {
namespace {

// Far more than any model has operations.
constexpr size_t kMostBytes = size_t{16} << 20;

constexpr std::string_view kBlanks = " \t\r";

std::vector<std::string_view> wordsOf(std::string_view line) {
    line = line.substr(0, line.find('#'));
    std::vector<std::string_view> words;
    for (size_t begin = 0; (begin = line.find_first_not_of(kBlanks, begin)) != line.npos;) {
        const size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
        words.push_back(line.substr(begin, end - begin));
        begin = end;
    }
    return words;
}

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
    for (size_t number = 1; !text.empty(); ++number) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        const std::vector<std::string_view> words = wordsOf(line);
        if (words.empty()) {
            continue;
        }
        const std::string where = "line " + std::to_string(number);
        Result<BackendHint> hint = parseHint(words);
        if (!hint.ok()) {
            return hint.status().withContext(where);
        }
        if (!seen.insert(hint->operation).second) {
            return invalidArgument("operation " + std::string(words[0]) + " has a hint already")
                    .withContext(where);
        }
        hint->line = number;
        hints.push_back(std::move(*hint));
    }
    return hints;
}

Result<std::vector<BackendHint>> readBackendHints(const std::string& path) {
    const std::unique_ptr<FILE, int (*)(FILE*)> file(fopen(path.c_str(), "re"), &fclose);
    if (file == nullptr) {
        return invalidArgument(path + ": " + std::strerror(errno));
    }
    std::string text;
    char chunk[4096];
    size_t count = 0;
    while ((count = fread(chunk, 1, sizeof(chunk), file.get())) > 0) {
        text.append(chunk, count);
        if (text.size() > kMostBytes) {
            return invalidArgument(path + ": it is larger than a file of hints can be");
        }
    }
    if (ferror(file.get()) != 0) {
        return invalidArgument(path + ": " + std::strerror(errno));
    }
    Result<std::vector<BackendHint>> hints = parseBackendHints(text);
    return hints.ok() ? std::move(hints) : hints.status().withContext(path);
}

}  // namespace halyard::driver
