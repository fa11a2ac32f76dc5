// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/debug_output.h"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <ctime>

namespace halyard::hal::hidl {

namespace {

constexpr int kPatienceMilliseconds = 5000;

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

}  // namespace

void writeDebugOutput(int fd, std::string_view text) {
    NoBrokenPipeSignal guard;
    while (!text.empty()) {
        pollfd ready = {.fd = fd, .events = POLLOUT, .revents = 0};
        int found = poll(&ready, 1, kPatienceMilliseconds);
        if (found < 0 && errno == EINTR) {
            continue;
        }
        if (found <= 0 || (ready.revents & POLLOUT) == 0) {
            return;
        }
        // A pipe that is ready takes this much without blocking.
        ssize_t written = write(fd, text.data(), std::min<size_t>(text.size(), PIPE_BUF));
        if (written < 0 && errno != EINTR && errno != EAGAIN) {
            return;
        }
        text.remove_prefix(static_cast<size_t>(std::max<ssize_t>(written, 0)));
    }
}

}  // namespace halyard::hal::hidl
