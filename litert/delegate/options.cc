// SPDX-License-Identifier: Apache-2.0

#include "litert/delegate/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <system_error>

#include "engine/graph/text.h"

namespace halyard::litert {
namespace {

using engine::inQuotes;

constexpr size_t kMostThreads = 1024;
constexpr size_t kMostMinNodes = size_t{1} << 20;

Status badValue(std::string_view value, std::string_view wanted) {
    return invalidArgument("it is " + inQuotes(value) + ", and may be " + std::string(wanted));
}

Result<size_t> number(std::string_view value, size_t least, size_t most) {
    size_t found = 0;
    const auto [end, error] = std::from_chars(value.begin(), value.end(), found);
    if (error != std::errc() || end != value.end() || found < least || found > most) {
        return badValue(value, std::to_string(least) + " to " + std::to_string(most));
    }
    return found;
}

Status setText(std::string_view value, std::string& text) {
    if (value.empty()) {
        return invalidArgument("it is empty");
    }
    text = value;
    return {};
}

Status setBackends(std::string_view value, DelegateOptions& options) {
    options.runtime.backends = value;
    return parseBackends(value).status();
}

Status setThreads(std::string_view value, DelegateOptions& options) {
    HALYARD_ASSIGN_OR_RETURN(options.threads, number(value, 0, kMostThreads));
    return {};
}

Status setCacheFolder(std::string_view value, DelegateOptions& options) {
    return setText(value, options.runtime.cacheFolder);
}

Status setFastMath(std::string_view value, DelegateOptions& options) {
    if (value != "0" && value != "1") {
        return badValue(value, "0 or 1");
    }
    options.runtime.fastMath = value == "1";
    return {};
}

Status setMinNodes(std::string_view value, DelegateOptions& options) {
    HALYARD_ASSIGN_OR_RETURN(options.minNodes, number(value, 1, kMostMinNodes));
    return {};
}

Status setReport(std::string_view value, DelegateOptions& options) {
    return setText(value, options.report);
}

Status setProfile(std::string_view value, DelegateOptions& options) {
    return setText(value, options.profile);
}

Status setLog(std::string_view value, DelegateOptions& options) {
    constexpr std::array<std::pair<std::string_view, std::optional<LogLevel>>, 5> kLevels = {
            {{"silent", std::nullopt},
             {"error", LogLevel::ERROR},
             {"warning", LogLevel::WARNING},
             {"info", LogLevel::INFO},
             {"verbose", LogLevel::VERBOSE}}};
    const auto* const found =
            std::ranges::find(kLevels, value, [](const auto& level) { return level.first; });
    if (found == kLevels.end()) {
        return badValue(value, "silent, error, warning, info or verbose");
    }
    options.runtime.log = found->second;
    return {};
}

Status setPermissions(std::string_view value, DelegateOptions& options) {
    while (true) {
        const size_t comma = value.find(',');
        const std::string_view each = value.substr(0, comma);
        if (each == "tiles") {
            options.runtime.rights.asksForTiles = true;
        } else if (each == "processes") {
            options.runtime.rights.startsProcesses = true;
        } else {
            return badValue(each, "tiles or processes");
        }
        if (comma == std::string_view::npos) {
            return {};
        }
        value.remove_prefix(comma + 1);
    }
}

struct Option {
    std::string_view name;
    Status (*set)(std::string_view value, DelegateOptions& options);
};
constexpr std::array kOptions = {
        Option{"backends", setBackends},     Option{"threads", setThreads},
        Option{"cache_dir", setCacheFolder}, Option{"fast_math", setFastMath},
        Option{"min_nodes", setMinNodes},    Option{"report", setReport},
        Option{"profile", setProfile},       Option{"log", setLog},
        Option{"permit", setPermissions}};

std::string names() {
    std::string text;
    for (const Option& each : kOptions) {
        text.append(text.empty() ? "" : ", ").append(each.name);
    }
    return text;
}

}  // namespace

Result<DelegateOptions> parseOptions(
        std::span<const std::pair<std::string_view, std::string_view>> given) {
    DelegateOptions options;
    std::set<std::string_view> known;
    for (const auto& [name, value] : given) {
        const auto* const option = std::ranges::find(kOptions, name, &Option::name);
        if (option == kOptions.end()) {
            return invalidArgument("there is no option " + inQuotes(name) + "; there are " +
                                   names());
        }
        if (!known.insert(name).second) {
            return invalidArgument("the option " + std::string(name) + " is given twice");
        }
        HALYARD_RETURN_IF_ERROR(
                option->set(value, options).withContext("the option " + std::string(name)));
    }
    return options;
}

}  // namespace halyard::litert
