// SPDX-License-Identifier: Apache-2.0

#include "driver/options/command_line.h"

#include <getopt.h>

#include <algorithm>

namespace halyard::driver {
namespace {

// getopt's values of long options, which lie above every letter.
constexpr int kFirstLong = 256;

constexpr size_t kWidth = 80;
constexpr size_t kHelpColumn = 31;

// The option that getopt stopped at, as it stands on the command line.
std::string offender(int argc, char** argv) {
    if (optopt > 0 && optopt < kFirstLong) {
        return std::string("-") + static_cast<char>(optopt);
    }
    return optind > 0 && optind <= argc ? argv[optind - 1] : "";
}

Status explain(int answer, int argc, char** argv) {
    const std::string option = offender(argc, argv);
    if (answer == ':') {
        return invalidArgument(option + ": an argument is missing");
    }
    return invalidArgument(option +
                           (optopt >= kFirstLong ? ": takes no argument" : ": no such option"));
}

// Breaks `text` between words into lines of the help column, and ends each.
void appendWrapped(std::string& lines, std::string_view text) {
    size_t column = kHelpColumn;
    bool first = true;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(text.size(), word.size() + 1));
        if (!first && column + 1 + word.size() > kWidth) {
            lines += "\n" + std::string(kHelpColumn, ' ');
            column = kHelpColumn;
            first = true;
        }
        lines.append(first ? "" : " ").append(word);
        column += word.size() + (first ? 0 : 1);
        first = false;
    }
    lines += "\n";
}

}  // namespace

Status parseOptions(int argc, char** argv, std::span<const CommandLineOption> options) {
    std::string letters = ":";
    std::vector<option> names;
    for (size_t i = 0; i < options.size(); ++i) {
        const CommandLineOption& row = options[i];
        const bool takesValue = !row.valueName.empty();
        names.push_back({.name = row.name.data(),
                         .has_arg = takesValue ? required_argument : no_argument,
                         .flag = nullptr,
                         .val = kFirstLong + static_cast<int>(i)});
        if (row.letter != 0) {
            letters.append(1, row.letter).append(takesValue ? ":" : "");
        }
    }
    names.push_back({});
    opterr = 0;
    // Where getopt stands in an earlier list of arguments is forgotten.
    optind = 0;
    int answer = 0;
    while ((answer = getopt_long(argc, argv, letters.c_str(), names.data(), nullptr)) != -1) {
        const auto row = answer >= kFirstLong
                                 ? options.begin() + (answer - kFirstLong)
                                 : std::ranges::find_if(options, [&](const auto& each) {
                                       return each.letter != 0 && each.letter == answer;
                                   });
        if (row == options.end()) {
            return explain(answer, argc, argv);
        }
        const Status taken = row->take(optarg != nullptr ? optarg : "");
        if (!taken.ok()) {
            return Status(taken.code(),
                          "--" + std::string(row->name) + ": " + std::string(taken.message()));
        }
    }
    if (optind < argc) {
        return invalidArgument(std::string(argv[optind]) + ": only options are taken");
    }
    return {};
}

std::string describeOptions(std::span<const CommandLineOption> options) {
    std::string lines;
    for (const CommandLineOption& row : options) {
        std::string left = "  ";
        left += row.letter != 0 ? std::string("-") + row.letter + ", --" : "    --";
        left.append(row.name).append(row.valueName.empty() ? "" : " ").append(row.valueName);
        if (left.size() + 2 > kHelpColumn) {
            left += "\n";
            left.append(kHelpColumn, ' ');
        } else {
            left.resize(kHelpColumn, ' ');
        }
        lines += left;
        appendWrapped(lines, row.help);
    }
    return lines;
}

}  // namespace halyard::driver
