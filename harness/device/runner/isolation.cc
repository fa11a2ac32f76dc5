// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/isolation.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace halyard::runner {

namespace {

using Clock = IsolatedProcess::Clock;

// Each frame: its kind, its size, the message.
constexpr size_t kFrameHead = 1 + sizeof(uint64_t);
constexpr uint64_t kNoMoreOrders = std::numeric_limits<uint64_t>::max();

// Milliseconds for poll(2), rounded up; -1: for ever.
int untilDeadline(const IsolatedProcess::Deadline& deadline) {
    if (!deadline.has_value()) {
        return -1;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
    return static_cast<int>(std::clamp<int64_t>(left.count(), 0, std::numeric_limits<int>::max()));
}

// All of it, whatever signals come; false if the other end is gone.
bool sendAll(int fd, const char* data, size_t size) {
    size_t sent = 0;
    while (sent < size) {
        const ssize_t written = ::send(fd, data + sent, size - sent, MSG_NOSIGNAL);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        sent += static_cast<size_t>(std::max<ssize_t>(written, 0));
    }
    return true;
}

std::string describeEnd(int status) {
    if (WIFSIGNALED(status)) {
        return "killed by signal " + std::to_string(WTERMSIG(status)) + " (" +
               strsignal(WTERMSIG(status)) + ")";
    }
    return "ended with exit status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

bool ParentLink::send(Frame kind, const pb::CaseResult& result) const {
    const std::string message = result.SerializeAsString();
    const uint64_t size = message.size();
    std::string frame(1, static_cast<char>(kind));
    frame.append(reinterpret_cast<const char*>(&size), sizeof(size));
    frame += message;
    return sendAll(mFd, frame.data(), frame.size());
}

std::optional<uint64_t> ParentLink::receiveOrder() const {
    uint64_t order = 0;
    size_t size = 0;
    while (size < sizeof(order)) {
        const ssize_t got =
                recv(mFd, reinterpret_cast<char*>(&order) + size, sizeof(order) - size, 0);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return std::nullopt;
        }
        size += static_cast<size_t>(std::max<ssize_t>(got, 0));
    }
    return order == kNoMoreOrders ? std::nullopt : std::optional(order);
}

Result<std::unique_ptr<IsolatedProcess>> IsolatedProcess::start(const Work& work) {
    std::array<int, 2> ends;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        return internalError(std::string("socketpair: ") + strerror(errno));
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
        work(ParentLink(ends[1]));
        _exit(0);
    }
    close(ends[1]);
    return std::unique_ptr<IsolatedProcess>(new IsolatedProcess(child, ends[0]));
}

IsolatedProcess::~IsolatedProcess() {
    close(mLink);
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

void IsolatedProcess::order(uint64_t value) {
    static_cast<void>(sendAll(mLink, reinterpret_cast<const char*>(&value), sizeof(value)));
}

void IsolatedProcess::dismiss() {
    // An end of file would not do: a child that was forked later holds this end, too.
    order(kNoMoreOrders);
}

std::optional<IsolatedProcess::Event> IsolatedProcess::takeFrame() {
    if (mBytes.size() < kFrameHead) {
        return std::nullopt;
    }
    uint64_t size = 0;
    memcpy(&size, mBytes.data() + 1, sizeof(size));
    if (mBytes.size() - kFrameHead < size) {
        return std::nullopt;
    }
    Event event;
    switch (static_cast<ParentLink::Frame>(mBytes[0])) {
        case ParentLink::Frame::READY:
            event.kind = Event::Kind::READY;
            break;
        case ParentLink::Frame::FINAL:
            event.kind = Event::Kind::FINAL;
            break;
        default:
            event.kind = Event::Kind::PROGRESS;
            break;
    }
    // A child that ran wild may send anything: what is no result counts as an empty one.
    if (size > std::numeric_limits<int>::max() ||
        !event.result.ParseFromArray(mBytes.data() + kFrameHead, static_cast<int>(size))) {
        event.result.Clear();
    }
    mBytes.erase(0, kFrameHead + size);
    return event;
}

std::optional<IsolatedProcess::Event> IsolatedProcess::hear() {
    std::array<char, 65536> buffer;
    for (;;) {
        if (std::optional<Event> event = takeFrame()) {
            return event;
        }
        const ssize_t size = recv(mLink, buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (size < 0 && errno == EINTR) {
            continue;
        }
        if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return std::nullopt;
        }
        if (size <= 0) {
            Event ended;
            const int status = reap();
            ended.inOrder = WIFEXITED(status) && WEXITSTATUS(status) == 0;
            ended.reason = describeEnd(status);
            return ended;
        }
        mBytes.append(buffer.data(), static_cast<size_t>(size));
    }
}

IsolatedRun IsolatedProcess::next(const Deadline& deadline) {
    IsolatedRun run;
    for (;;) {
        std::optional<Event> event = hear();
        if (!event.has_value()) {
            if (deadline.has_value() && Clock::now() >= *deadline) {
                run.end = IsolatedRun::End::TIMED_OUT;
                kill(mChild, SIGKILL);
                reap();
                return run;
            }
            waitForAny(std::span(&mLink, 1), deadline);
        } else if (event->kind == Event::Kind::ENDED) {
            run.end = IsolatedRun::End::CRASHED;
            run.reason = std::move(event->reason);
            return run;
        } else if (event->kind != Event::Kind::READY) {
            run.result = std::move(event->result);
            run.resultArrived = true;
            if (event->kind == Event::Kind::FINAL) {
                return run;
            }
        }
    }
}

void waitForAny(std::span<const int> descriptors, const IsolatedProcess::Deadline& deadline) {
    std::vector<pollfd> waiting;
    waiting.reserve(descriptors.size());
    for (const int descriptor : descriptors) {
        waiting.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
    }
    // Interrupted or not: the caller looks.
    static_cast<void>(poll(waiting.data(), waiting.size(), untilDeadline(deadline)));
}

Result<IsolatedRun> runIsolated(const IsolatedProcess::Work& work,
                                std::chrono::milliseconds timeout) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<IsolatedProcess> process,
                             IsolatedProcess::start(work));
    IsolatedProcess::Deadline deadline;
    if (timeout.count() > 0) {
        deadline = Clock::now() + timeout;
    }
    return process->next(deadline);
}

}  // namespace halyard::runner
