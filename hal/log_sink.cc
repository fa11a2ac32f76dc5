// SPDX-License-Identifier: Apache-2.0

#include "hal/log_sink.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <ctime>
#include <string>
#include <utility>

#include "hal/log_limit.h"

namespace halyard::hal {
namespace {

constexpr char kLogdSocket[] = "/dev/socket/logdw";
constexpr char kTag[] = "halyard";
// logd's limit on the text of an entry is 4068 bytes with priority, tag and two NULs.
constexpr size_t kMaxLine = 4000;

// The head of a datagram to logd.
struct [[gnu::packed]] LogdHeader {
    uint8_t buffer = 0;  // main
    uint16_t thread = 0;
    uint32_t seconds = 0;
    uint32_t nanoseconds = 0;
};
static_assert(sizeof(LogdHeader) == 11);

// -1 where there is no logd.
int connectToLogd() {
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -1;
    }
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, kLogdSocket, sizeof(kLogdSocket));
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

void writeToLogd(int fd, LogLevel level, std::string_view line) {
    // android/log.h: VERBOSE 2, DEBUG 3, INFO 4, WARN 5, ERROR 6.
    constexpr char kPriorities[] = {2, 4, 5, 6};
    timespec now = {};
    clock_gettime(CLOCK_REALTIME, &now);
    LogdHeader header;
    header.thread = static_cast<uint16_t>(gettid());
    header.seconds = static_cast<uint32_t>(now.tv_sec);
    header.nanoseconds = static_cast<uint32_t>(now.tv_nsec);
    std::string datagram(reinterpret_cast<const char*>(&header), sizeof(header));
    datagram.push_back(kPriorities[static_cast<size_t>(level)]);
    datagram.append(kTag, sizeof(kTag));
    datagram.append(line.substr(0, kMaxLine)).push_back('\0');
    // A full queue drops the line, as Android's own logging does.
    static_cast<void>(send(fd, datagram.data(), datagram.size(), MSG_NOSIGNAL));
}

void writeToStderr(LogLevel level, std::string_view line) {
    constexpr char kLetters[] = {'V', 'I', 'W', 'E'};
    std::string text(1, kLetters[static_cast<size_t>(level)]);
    text.append("/halyard: ").append(line).push_back('\n');
    // One write per line, so that lines of several threads and processes stay whole.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

int logd() {
    static const int fd = connectToLogd();
    return fd;
}

void writeLine(LogLevel level, std::string_view line) {
    if (logd() >= 0) {
        writeToLogd(logd(), level, line);
    }
    writeToStderr(level, line);
}

}  // namespace

void openLog() {
    logd();
}

void logToStderrAndLogd(LogLevel level, std::string_view line) {
    static LogLimit limit(LogLimit::Rate{});
    const LogLimit::Clock::time_point now = LogLimit::Clock::now();
    for (const auto& [limited, name] :
         {std::pair(LogLevel::WARNING, "warnings"), std::pair(LogLevel::ERROR, "errors")}) {
        if (const uint64_t leftOut = limit.takeLeftOut(limited, now); leftOut > 0) {
            writeLine(limited, std::to_string(leftOut) + " " + name + " were left out");
        }
    }
    if (limit.admits(level, now)) {
        // Refusals quote what clients sent, of any length; the rest is cut off.
        writeLine(level, level < LogLevel::WARNING ? line : line.substr(0, kMaxLine));
    }
}

}  // namespace halyard::hal
