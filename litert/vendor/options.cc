// SPDX-License-Identifier: Apache-2.0

#include "litert/vendor/options.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "engine/base/worker_set.h"

namespace halyard::vendor {
namespace {

Status wrongValue(std::string_view name, std::string_view value, std::string_view known) {
    return invalidArgument("option " + std::string(name) + " is " + std::string(known) +
                           ", not \"" + std::string(value) + "\"");
}

Result<bool> switchOf(std::string_view name, std::string_view value) {
    if (value != "on" && value != "off") {
        return wrongValue(name, value, "on or off");
    }
    return value == "on";
}

Result<LogLevel> levelOf(std::string_view value) {
    constexpr std::pair<std::string_view, LogLevel> kLevels[] = {{"verbose", LogLevel::VERBOSE},
                                                                 {"info", LogLevel::INFO},
                                                                 {"warning", LogLevel::WARNING},
                                                                 {"error", LogLevel::ERROR}};
    const auto* const found =
            std::ranges::find(kLevels, value, &std::pair<std::string_view, LogLevel>::first);
    if (found == std::end(kLevels)) {
        return wrongValue("log", value, "verbose, info, warning or error");
    }
    return found->second;
}

Status take(std::string_view name, std::string_view value, Options& options) {
    if (name == "processor") {
        options.processor = value;
    } else if (name == "threads") {
        const char* const end = value.data() + value.size();
        const auto [rest, error] = std::from_chars(value.data(), end, options.threads);
        if (error != std::errc() || rest != end || options.threads == 0 ||
            options.threads > WorkerSet::kMost) {
            return wrongValue(name, value, "1 to " + std::to_string(WorkerSet::kMost));
        }
    } else if (name == "fast_math") {
        HALYARD_ASSIGN_OR_RETURN(options.fastMath, switchOf(name, value));
    } else if (name == "resizable") {
        HALYARD_ASSIGN_OR_RETURN(options.resizable, switchOf(name, value));
    } else if (name == "report") {
        options.report = value;
    } else if (name == "log") {
        HALYARD_ASSIGN_OR_RETURN(options.log, levelOf(value));
    } else {
        return invalidArgument(
                "there is no option \"" + std::string(name) +
                "\"; there are fast_math, log, processor, report, resizable and threads");
    }
    return {};
}

}  // namespace

Result<Options> parseOptions(std::string_view text) {
    Options options;
    while (!text.empty()) {
        const std::string_view one = text.substr(0, text.find(','));
        const size_t equals = one.find('=');
        if (equals == std::string_view::npos) {
            return invalidArgument("options are NAME=VALUE with commas between, and \"" +
                                   std::string(one) + "\" is not");
        }
        HALYARD_RETURN_IF_ERROR(take(one.substr(0, equals), one.substr(equals + 1), options));
        text.remove_prefix(std::min(one.size() + 1, text.size()));
    }
    return options;
}

Result<Options> readOptions(const char* text) {
    if (text == nullptr) {
        text = std::getenv(kOptionsVariable);
    }
    return parseOptions(text == nullptr ? "" : text);
}

size_t threadCountOf(const Options& options) {
    if (options.threads != 0) {
        return options.threads;
    }
    cpu_set_t cores;
    CPU_ZERO(&cores);
    const size_t count = sched_getaffinity(0, sizeof cores, &cores) == 0
                                 ? static_cast<size_t>(CPU_COUNT(&cores))
                                 : 1;
    return std::clamp(count, size_t{1}, size_t{WorkerSet::kMost});
}

}  // namespace halyard::vendor
