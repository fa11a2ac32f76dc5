// SPDX-License-Identifier: Apache-2.0

#include "driver/prepare/graph_dump.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "driver/device_state.h"
#include "engine/base/file_descriptor.h"
#include "engine/base/log.h"
#include "engine/graph/dot.h"
#include "engine/graph/text.h"

namespace halyard::driver {
namespace {

constexpr std::string_view kFirstFile = "-lowered.txt";

// "<folder>/model-007".
std::string prefixOf(const std::string& folder, uint32_t number) {
    char name[32];
    std::snprintf(name, sizeof name, "/model-%03u", number);
    return folder + name;
}

void warn(const std::string& path) {
    log(LogLevel::WARNING, "can't write " + path + ": " + std::strerror(errno));
}

bool writeAll(int file, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(file, text.data(), text.size());
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return false;
        }
        text.remove_prefix(static_cast<size_t>(written));
    }
    return true;
}

// The lines that are in the sorted list `a` more often than in `b`, behind a sign.
std::string missing(char sign, const std::vector<std::string>& a,
                    const std::vector<std::string>& b) {
    std::vector<std::string> lines;
    std::ranges::set_difference(a, b, std::back_inserter(lines));
    std::string text;
    for (const std::string& line : lines) {
        text.append(1, sign).append(" ").append(line).append("\n");
    }
    return text;
}

}  // namespace

std::optional<GraphDump> GraphDump::begin(DeviceState& state) {
    const std::string& folder = state.options.graphDumpDirectory;
    if (folder.empty()) {
        return std::nullopt;
    }
    while (state.graphDumps < kMostModels) {
        const uint32_t number = ++state.graphDumps;
        if (number > kMostModels) {
            break;
        }
        std::string prefix = prefixOf(folder, number);
        const std::string path = prefix + std::string(kFirstFile);
        const FileDescriptor file(
                ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
        if (file.valid()) {
            return GraphDump(std::move(prefix));
        }
        if (errno != EEXIST) {
            warn(path);
            return std::nullopt;
        }
    }
    return std::nullopt;
}

void GraphDump::write(std::string_view suffix, std::string_view text) const {
    const std::string path = mPrefix + std::string(suffix);
    const FileDescriptor file(
            ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!file.valid() || !writeAll(file.get(), text.substr(0, kMostFileBytes))) {
        warn(path);
    }
}

void GraphDump::came(const engine::Graph& graph) {
    write(kFirstFile, engine::toText(graph));
    write("-lowered.dot", engine::toDot(graph));
}

void GraphDump::ran(std::string_view pass, const engine::Graph& before,
                    const engine::Graph& after) {
    if (mPasses.size() >= kMostFileBytes) {
        return;
    }
    std::vector<std::string> was = engine::nodeLines(before);
    std::vector<std::string> is = engine::nodeLines(after);
    mPasses.append(pass).append(": ").append(std::to_string(was.size())).append(" nodes, then ");
    mPasses.append(std::to_string(is.size())).append("\n");
    std::ranges::sort(was);
    std::ranges::sort(is);
    mPasses += missing('-', was, is) + missing('+', is, was);
}

void GraphDump::optimized(const engine::Graph& graph) {
    write("-passes.txt", mPasses);
    write("-optimized.txt", engine::toText(graph));
    write("-optimized.dot", engine::toDot(graph));
}

}  // namespace halyard::driver
