// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/isolation.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

namespace halyard::runner {

namespace {

using Clock = std::chrono::steady_clock;

// Each frame: what kind of result, its size, the message.
constexpr size_t kFrameHead = 1 + sizeof(uint64_t);

struct Frames {
    std::string bytes;
    pb::CaseResult last;
    bool arrived = false;
    bool final = false;

    // Takes the complete frames off the front of `bytes`.
    void parse() {
        std::string_view rest = bytes;
        while (rest.size() >= kFrameHead) {
            uint64_t size = 0;
            memcpy(&size, rest.data() + 1, sizeof(size));
            if (rest.size() - kFrameHead < size) {
                break;
            }
            pb::CaseResult result;
            if (result.ParseFromArray(rest.data() + kFrameHead, static_cast<int>(size))) {
                final = rest[0] == 'f';
                last = std::move(result);
                arrived = true;
            }
            rest.remove_prefix(kFrameHead + size);
        }
        bytes.erase(0, bytes.size() - rest.size());
    }
};

// Milliseconds for poll(2), rounded up; -1: for ever.
int untilDeadline(const std::optional<Clock::time_point>& deadline) {
    if (!deadline.has_value()) {
        return -1;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
    return static_cast<int>(std::clamp<int64_t>(left.count(), 0, std::numeric_limits<int>::max()));
}

// True at the end of the pipe, false at the deadline.
bool receive(int fd, const std::optional<Clock::time_point>& deadline, Frames& frames) {
    std::array<char, 65536> buffer;
    for (;;) {
        pollfd waiting = {.fd = fd, .events = POLLIN, .revents = 0};
        const int ready = poll(&waiting, 1, untilDeadline(deadline));
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        if (ready == 0) {
            return false;
        }
        const ssize_t size = read(fd, buffer.data(), buffer.size());
        if (size < 0 && errno == EINTR) {
            continue;
        }
        if (size <= 0) {
            return true;
        }
        frames.bytes.append(buffer.data(), static_cast<size_t>(size));
        frames.parse();
    }
}

std::string describeEnd(int status) {
    if (WIFSIGNALED(status)) {
        return "killed by signal " + std::to_string(WTERMSIG(status)) + " (" +
               strsignal(WTERMSIG(status)) + ")";
    }
    return "ended with exit status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

bool ResultPipe::send(char kind, const pb::CaseResult& result) const {
    const std::string message = result.SerializeAsString();
    const uint64_t size = message.size();
    std::string frame(1, kind);
    frame.append(reinterpret_cast<const char*>(&size), sizeof(size));
    frame += message;
    size_t sent = 0;
    while (sent < frame.size()) {
        const ssize_t written = write(mFd, frame.data() + sent, frame.size() - sent);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        sent += static_cast<size_t>(std::max<ssize_t>(written, 0));
    }
    return true;
}

Result<IsolatedRun> runIsolated(const std::function<void(const ResultPipe&)>& work,
                                std::chrono::milliseconds timeout) {
    std::array<int, 2> ends;
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        return internalError(std::string("pipe2: ") + strerror(errno));
    }
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) {
        const int error = errno;
        close(ends[0]);
        close(ends[1]);
        return internalError(std::string("fork: ") + strerror(error));
    }
    if (child == 0) {
        close(ends[0]);
        // A runner that is killed must not leave its case behind.
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            _exit(1);
        }
        work(ResultPipe(ends[1]));
        _exit(0);
    }
    close(ends[1]);
    std::optional<Clock::time_point> deadline;
    if (timeout.count() > 0) {
        deadline = Clock::now() + timeout;
    }
    Frames frames;
    IsolatedRun run;
    const bool ended = receive(ends[0], deadline, frames);
    close(ends[0]);
    if (!ended) {
        kill(child, SIGKILL);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    run.result = std::move(frames.last);
    run.resultArrived = frames.arrived;
    if (!ended) {
        run.end = IsolatedRun::End::TIMED_OUT;
    } else if (!frames.final || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        run.end = IsolatedRun::End::CRASHED;
        run.reason = describeEnd(status);
    }
    return run;
}

}  // namespace halyard::runner
