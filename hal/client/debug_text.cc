// SPDX-License-Identifier: Apache-2.0

#include "hal/client/debug_text.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "engine/base/file_descriptor.h"

namespace halyard::hal {
namespace {

// Until the other end is closed, or nothing has come for a while.
std::string readToEnd(int fd) {
    constexpr int kPatienceMilliseconds = 10000;
    std::string text;
    std::array<char, 4096> buffer;
    for (;;) {
        pollfd ready = {.fd = fd, .events = POLLIN, .revents = 0};
        if (poll(&ready, 1, kPatienceMilliseconds) <= 0) {
            return text;
        }
        const ssize_t size = read(fd, buffer.data(), buffer.size());
        if (size <= 0) {
            return text;
        }
        text.append(buffer.data(), static_cast<size_t>(size));
    }
}

}  // namespace

Result<std::string> readDebugText(const std::function<Status(int into)>& call) {
    std::array<int, 2> ends = {-1, -1};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        return internalError(std::string("pipe2: ") + strerror(errno));
    }
    const FileDescriptor from(ends[0]);
    FileDescriptor into(ends[1]);
    // The service does not wait for a reader for long, so it is read while it writes.
    std::string text;
    std::thread reader([&text, fd = from.get()] { text = readToEnd(fd); });
    const Status called = call(into.get());
    into.reset();
    reader.join();
    if (!called.ok()) {
        return called;
    }
    return text;
}

}  // namespace halyard::hal
