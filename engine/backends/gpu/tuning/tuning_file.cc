// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/tuning/tuning_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "engine/base/file_descriptor.h"
#include "engine/base/write_all.h"

namespace halyard::engine::gpu {
namespace {

constexpr std::string_view kTuningTitle = "halyard tuning ";
constexpr std::string_view kTuningVersion = "1";
constexpr std::string_view kDeviceLine = "device ";
constexpr std::string_view kEndLine = "end ";
constexpr size_t kMostDeviceBytes = 2000;
constexpr size_t kMostFileBytes =
        kMostTunedChoices * (kMostTunedKeyBytes + kMostTunedNameBytes + 2) + 2 * kMostDeviceBytes;
constexpr std::string_view kTemporary = ".new";

bool isPrintable(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

// On one line: what a driver calls its device may be anything.
std::string onOneLine(std::string_view device) {
    std::string line(device.substr(0, kMostDeviceBytes));
    std::ranges::replace_if(
            line, [](char c) { return c < ' ' || c > '~'; }, ' ');
    return line;
}

Status malformedLine(size_t line, std::string_view what) {
    return invalidArgument("line " + std::to_string(line) + " " + std::string(what));
}

Status systemFailure(const std::string& path) {
    return internalError(path + ": " + std::strerror(errno));
}

// Takes whole lines off a text; one without an end is no line.
class WholeLines {
  public:
    explicit WholeLines(std::string_view text) : mRest(text) {}
    bool next(std::string_view& line) {
        const size_t end = mRest.find('\n');
        if (end == std::string_view::npos) {
            return false;
        }
        line = mRest.substr(0, end);
        mRest.remove_prefix(end + 1);
        ++mNumber;
        return true;
    }
    size_t number() const { return mNumber; }
    bool isDone() const { return mRest.empty(); }

  private:
    std::string_view mRest;
    size_t mNumber = 0;
};

}  // namespace

bool canBeTuned(std::string_view key, std::string_view name) {
    return !key.empty() && key.size() <= kMostTunedKeyBytes && isPrintable(key) &&
           !key.starts_with(kEndLine) && !name.empty() && name.size() <= kMostTunedNameBytes &&
           isPrintable(name);
}

std::string tuningText(const TunedChoices& choices, std::string_view device) {
    std::string text(kTuningTitle);
    text.append(kTuningVersion)
            .append("\n")
            .append(kDeviceLine)
            .append(onOneLine(device))
            .append("\n");
    for (const auto& [key, name] : choices) {
        text.append(key).append("\t").append(name).append("\n");
    }
    return text.append(kEndLine).append(std::to_string(choices.size())).append("\n");
}

bool beginsAsTuning(std::string_view text) {
    return text.starts_with(kTuningTitle);
}

Result<TunedChoices> parseTuning(std::string_view text, std::string_view device) {
    WholeLines lines(text);
    std::string_view line;
    if (!lines.next(line) || !line.starts_with(kTuningTitle)) {
        return invalidArgument("it is no tuning file");
    }
    if (line.substr(kTuningTitle.size()) != kTuningVersion) {
        return malformedLine(1, "names a version of the file that is not known here");
    }
    if (!lines.next(line) || !line.starts_with(kDeviceLine)) {
        return malformedLine(2, "does not name the device");
    }
    if (const std::string here = onOneLine(device); line.substr(kDeviceLine.size()) != here) {
        return unsupported("it is that of '" + onOneLine(line.substr(kDeviceLine.size())) +
                           "', and here is '" + here + "'");
    }
    TunedChoices choices;
    while (lines.next(line)) {
        if (line.starts_with(kEndLine)) {
            size_t count = 0;
            const char* const end = line.data() + line.size();
            const auto [stopped, error] =
                    std::from_chars(line.data() + kEndLine.size(), end, count);
            if (error != std::errc() || stopped != end || count != choices.size() ||
                !lines.isDone()) {
                return malformedLine(lines.number(), "is not the end of as many choices");
            }
            return choices;
        }
        const size_t tab = std::min(line.find('\t'), line.size());
        const std::string_view key = line.substr(0, tab);
        const std::string_view name = line.substr(std::min(tab + 1, line.size()));
        if (!canBeTuned(key, name)) {
            return malformedLine(lines.number(), "is no key and a variant's name behind a tab");
        }
        if (choices.size() >= kMostTunedChoices) {
            return malformedLine(lines.number(), "is one choice too many");
        }
        if (!choices.emplace(key, name).second) {
            return malformedLine(lines.number(), "has a key for the second time");
        }
    }
    return malformedLine(lines.number() + 1, "is missing: it was cut off");
}

Result<std::string> readTuningFile(const std::string& path) {
    // A pipe without a writer must not keep the driver waiting.
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file.valid()) {
        return Status(errno == ENOENT ? StatusCode::UNAVAILABLE : StatusCode::INVALID_ARGUMENT,
                      std::strerror(errno));
    }
    struct stat facts = {};
    if (fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
        return invalidArgument("it is not an ordinary file");
    }
    std::string text;
    char chunk[4096];
    while (true) {
        const ssize_t count = ::read(file.get(), chunk, sizeof chunk);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return invalidArgument(std::strerror(errno));
        }
        if (count == 0) {
            return text;
        }
        text.append(chunk, static_cast<size_t>(count));
        if (text.size() > kMostFileBytes) {
            return invalidArgument("it is larger than a tuning file can be");
        }
    }
}

// By renameat() and unlinkat(), which every architecture's kernel has: a filter of system calls
// lets them through by these names.
Status writeTuningFile(const std::string& path, std::string_view text) {
    const std::string temporary = path + "." + std::to_string(getpid()) + std::string(kTemporary);
    FileDescriptor file(
            ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!file.valid()) {
        return systemFailure(temporary);
    }
    Status status;
    if (!writeAll(file.get(), text) || fsync(file.get()) != 0) {
        status = systemFailure(temporary);
    }
    file.reset();
    if (status.ok() && renameat(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str()) != 0) {
        status = systemFailure(path);
    }
    if (!status.ok()) {
        static_cast<void>(unlinkat(AT_FDCWD, temporary.c_str(), 0));
        return status;
    }
    // The new name outlives a loss of power as well; where it does not, the old file does.
    const size_t slash = path.rfind('/');
    const std::string folder =
            slash == std::string::npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
    const FileDescriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (opened.valid()) {
        static_cast<void>(fsync(opened.get()));
    }
    return {};
}

std::vector<std::string> callsOfTuning() {
    return {"openat", "fsync", "renameat", "unlinkat"};
}

}  // namespace halyard::engine::gpu
