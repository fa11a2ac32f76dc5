// SPDX-License-Identifier: Apache-2.0

#include "driver/options/text_lines.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

namespace halyard::driver {
namespace {

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

}  // namespace

std::vector<TextLine> linesOf(std::string_view text) {
    std::vector<TextLine> lines;
    for (size_t number = 1; !text.empty(); ++number) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        std::vector<std::string_view> words = wordsOf(line);
        if (!words.empty()) {
            lines.push_back({.number = number, .words = std::move(words)});
        }
    }
    return lines;
}

Result<std::string> readTextFile(const std::string& path, size_t mostBytes) {
    const std::unique_ptr<FILE, int (*)(FILE*)> file(fopen(path.c_str(), "re"), &fclose);
    if (file == nullptr) {
        return invalidArgument(path + ": " + std::strerror(errno));
    }
    std::string text;
    char chunk[4096];
    size_t count = 0;
    while ((count = fread(chunk, 1, sizeof(chunk), file.get())) > 0) {
        text.append(chunk, count);
        if (text.size() > mostBytes) {
            return invalidArgument(path + ": it is larger than such a file can be");
        }
    }
    if (ferror(file.get()) != 0) {
        return invalidArgument(path + ": " + std::strerror(errno));
    }
    return text;
}

}  // namespace halyard::driver
