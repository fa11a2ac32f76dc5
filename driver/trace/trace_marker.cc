// SPDX-License-Identifier: Apache-2.0

#include "driver/trace/trace_marker.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace halyard::driver {
namespace {

// Of linux/magic.h, which old headers lack.
constexpr auto kTracefs = 0x74726163;

// A write of more is cut off by the kernel, and its end with it.
constexpr size_t kMostMarkBytes = 1000;

// A name as a part of a mark, of which a bar ends a field and a new line the whole.
std::string fieldOf(std::string_view name) {
    std::string field(name.substr(0, kMostMarkBytes / 2));
    // char has a sign on some machines and none on others.
    std::ranges::replace_if(
            field, [](char c) { return c == '|' || static_cast<unsigned char>(c) < ' '; }, '_');
    return field;
}

}  // namespace

Result<std::unique_ptr<TraceMarker>> TraceMarker::open(const std::string& path) {
    if (path.empty()) {
        return std::unique_ptr<TraceMarker>();
    }
    FileDescriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK));
    struct stat about = {};
    struct statfs system = {};
    if (!file.valid() || ::fstat(file.get(), &about) != 0 || ::fstatfs(file.get(), &system) != 0) {
        return invalidArgument("--atrace: can't open " + path + ": " + std::strerror(errno));
    }
    // The reader of a pipe could block the driver, or end it by going away (SIGPIPE).
    if (!S_ISREG(about.st_mode)) {
        return invalidArgument("--atrace: " + path +
                               " is neither tracefs's trace_marker nor an ordinary file");
    }
    return std::unique_ptr<TraceMarker>(
            new TraceMarker(std::move(file), system.f_type == kTracefs));
}

TraceMarker::TraceMarker(FileDescriptor file, bool isRing)
    : mFile(std::move(file)), mIsRing(isRing), mProcess(std::to_string(::getpid())) {}

void TraceMarker::begin(std::string_view name) const {
    write("B|" + mProcess + "|" + fieldOf(name) + "\n");
}

void TraceMarker::end() const {
    write("E|" + mProcess + "\n");
}

void TraceMarker::count(std::string_view name, int64_t value) const {
    write("C|" + mProcess + "|" + fieldOf(name) + "|" + std::to_string(value) + "\n");
}

void TraceMarker::runs(int more) const {
    count("halyard requests", mRunning += more);
}

void TraceMarker::write(std::string_view text) const {
    if (!mIsRing && mWritten.fetch_add(text.size()) + text.size() > kMostFileBytes) {
        return;
    }
    // One write is one mark.
    [[maybe_unused]] const ssize_t written = ::write(mFile.get(), text.data(), text.size());
}

}  // namespace halyard::driver
