// SPDX-License-Identifier: Apache-2.0

#include "hal/service/debug_output.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <string>

#include "engine/base/file_descriptor.h"
#include "engine/base/log.h"

namespace halyard::hal {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPatience{1000};

// Keeps SIGPIPE from this thread, and takes back the one that a write raised meanwhile.
class NoBrokenPipeSignal {
  public:
    NoBrokenPipeSignal() {
        sigemptyset(&mBrokenPipe);
        sigaddset(&mBrokenPipe, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &mBrokenPipe, &mBefore);
    }
    ~NoBrokenPipeSignal() {
        if (sigismember(&mBefore, SIGPIPE) == 0) {
            const timespec now = {};
            while (sigtimedwait(&mBrokenPipe, nullptr, &now) == -1 && errno == EINTR) {
            }
        }
        pthread_sigmask(SIG_SETMASK, &mBefore, nullptr);
    }
    NoBrokenPipeSignal(const NoBrokenPipeSignal&) = delete;
    NoBrokenPipeSignal& operator=(const NoBrokenPipeSignal&) = delete;

  private:
    sigset_t mBrokenPipe;
    sigset_t mBefore;
};

// Takes as many bytes as `fd` has room for now, without ever waiting: how many, or -1 and errno.
class Output {
  public:
    virtual ~Output() = default;
    virtual bool isReady() const { return true; }
    virtual ssize_t write(int fd, std::string_view text) = 0;
};

class SocketOutput final : public Output {
  public:
    ssize_t write(int fd, std::string_view text) override {
        return send(fd, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
};

// The client shares the open file, so that O_NONBLOCK is the client's to set and to clear, at any
// time. Only splice() takes a wish not to wait that holds for one call, so the text goes through a
// pipe of our own.
class PipeOutput final : public Output {
  public:
    PipeOutput() {
        int ends[2] = {-1, -1};
        if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) {
            mFrom.reset(ends[0]);
            mInto.reset(ends[1]);
        }
    }

    bool isReady() const override { return mInto.valid(); }
    ssize_t write(int fd, std::string_view text) override {
        if (mWaiting == 0) {
            const ssize_t taken = ::write(mInto.get(), text.data(), text.size());
            if (taken < 0) {
                return taken;
            }
            mWaiting = static_cast<size_t>(taken);
        }
        const ssize_t moved =
                splice(mFrom.get(), nullptr, fd, nullptr, mWaiting, SPLICE_F_NONBLOCK);
        mWaiting -= static_cast<size_t>(std::max<ssize_t>(moved, 0));
        return moved;
    }

  private:
    FileDescriptor mFrom;
    FileDescriptor mInto;
    size_t mWaiting = 0;  // the beginning of what is still to be written, inside our pipe
};

// These ask the descriptor's open file alone: fstat() and the like may ask a file system, which
// may be the client's own and never answer.
bool isPipe(int fd) {
    return fcntl(fd, F_GETPIPE_SZ) >= 0;
}

bool isSocket(int fd) {
    int type = 0;
    socklen_t size = sizeof(type);
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
}

void writeAll(Output& output, int fd, std::string_view text) {
    const Clock::time_point end = Clock::now() + kPatience;
    while (!text.empty()) {
        const auto left =
                std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
        pollfd ready = {.fd = fd, .events = POLLOUT, .revents = 0};
        const int found = left <= 0 ? 0 : poll(&ready, 1, static_cast<int>(left));
        if (found < 0 && errno == EINTR) {
            continue;
        }
        if (found <= 0 || (ready.revents & POLLOUT) == 0) {
            return;
        }
        const ssize_t written = output.write(fd, text);
        if (written < 0 && errno == EAGAIN) {
            // Another writer was faster; poll() may go on saying that there is room.
            const timespec pause = {.tv_sec = 0, .tv_nsec = 1'000'000};
            nanosleep(&pause, nullptr);
        } else if (written <= 0 && errno != EINTR) {
            return;
        }
        text.remove_prefix(static_cast<size_t>(std::max<ssize_t>(written, 0)));
    }
}

}  // namespace

void writeDebugOutput(int fd, std::string_view text) {
    const NoBrokenPipeSignal guard;
    if (isSocket(fd)) {
        SocketOutput socket;
        writeAll(socket, fd, text);
    } else if (isPipe(fd)) {
        PipeOutput pipe;
        if (pipe.isReady()) {
            writeAll(pipe, fd, text);
        } else {
            log(LogLevel::WARNING, std::string("debug: no pipe to be had: ") + strerror(errno));
        }
    } else {
        log(LogLevel::WARNING, "debug: the output is neither a pipe nor a socket");
    }
}

}  // namespace halyard::hal
