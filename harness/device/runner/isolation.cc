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

// Milliseconds for poll(2), rounded up; -1: for ever.
int untilDeadline(const std::optional<Clock::time_point>& deadline) {
    if (!deadline.has_value()) {
        return -1;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
    return static_cast<int>(std::clamp<int64_t>(left.count(), 0, std::numeric_limits<int>::max()));
}

enum class Received : uint8_t { BYTES, END, NOTHING_IN_TIME };

// Appends to `bytes` what arrives next.
Received receive(int fd, const std::optional<Clock::time_point>& deadline, std::string& bytes) {
    std::array<char, 65536> buffer;
    for (;;) {
        pollfd waiting = {.fd = fd, .events = POLLIN, .revents = 0};
        const int ready = poll(&waiting, 1, untilDeadline(deadline));
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        if (ready == 0) {
            return Received::NOTHING_IN_TIME;
        }
        const ssize_t size = read(fd, buffer.data(), buffer.size());
        if (size < 0 && errno == EINTR) {
            continue;
        }
        if (size <= 0) {
            return Received::END;
        }
        bytes.append(buffer.data(), static_cast<size_t>(size));
        return Received::BYTES;
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

Result<std::unique_ptr<IsolatedProcess>> IsolatedProcess::start(const Work& work) {
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
    return std::unique_ptr<IsolatedProcess>(new IsolatedProcess(child, ends[0]));
}

IsolatedProcess::~IsolatedProcess() {
    close(mPipe);
    if (mChild != -1) {
        kill(mChild, SIGKILL);
        reap();
    }
}

int IsolatedProcess::reap() {
    int status = 0;
    while (waitpid(mChild, &status, 0) < 0 && errno == EINTR) {
    }
    mChild = -1;
    return status;
}

bool IsolatedProcess::takeFinal(IsolatedRun& run) {
    std::string_view rest = mBytes;
    bool final = false;
    while (!final && rest.size() >= kFrameHead) {
        uint64_t size = 0;
        memcpy(&size, rest.data() + 1, sizeof(size));
        if (rest.size() - kFrameHead < size) {
            break;
        }
        pb::CaseResult result;
        if (result.ParseFromArray(rest.data() + kFrameHead, static_cast<int>(size))) {
            final = rest[0] == 'f';
            run.result = std::move(result);
            run.resultArrived = true;
        }
        rest.remove_prefix(kFrameHead + size);
    }
    mBytes.erase(0, mBytes.size() - rest.size());
    return final;
}

IsolatedRun IsolatedProcess::next(std::chrono::milliseconds timeout) {
    std::optional<Clock::time_point> deadline;
    if (timeout.count() > 0) {
        deadline = Clock::now() + timeout;
    }
    IsolatedRun run;
    while (!takeFinal(run)) {
        switch (receive(mPipe, deadline, mBytes)) {
            case Received::BYTES:
                break;
            case Received::END:
                run.end = IsolatedRun::End::CRASHED;
                run.reason = describeEnd(reap());
                return run;
            case Received::NOTHING_IN_TIME:
                run.end = IsolatedRun::End::TIMED_OUT;
                kill(mChild, SIGKILL);
                reap();
                return run;
        }
    }
    return run;
}

Result<IsolatedRun> runIsolated(const IsolatedProcess::Work& work,
                                std::chrono::milliseconds timeout) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<IsolatedProcess> process,
                             IsolatedProcess::start(work));
    return process->next(timeout);
}

}  // namespace halyard::runner
