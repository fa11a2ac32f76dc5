// SPDX-License-Identifier: Apache-2.0

#include "harness/device/hwservicemanager/client_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace halyard::device {

Result<ClientProcess> ClientProcess::open(pid_t pid) {
    if (pid <= 0) {
        return ClientProcess(0, -1);
    }
    const auto descriptor = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    if (descriptor >= 0) {
        return ClientProcess(pid, descriptor);
    }
    if (errno == ENOSYS || errno == EPERM) {
        return ClientProcess(pid, -1);  // kernels before 5.3, and filters that know no pidfd
    }
    const std::string reason = "process " + std::to_string(pid) + ": " + strerror(errno);
    return Status(errno == ESRCH ? StatusCode::UNAVAILABLE : StatusCode::RESOURCE_EXHAUSTED,
                  reason);
}

ClientProcess::~ClientProcess() {
    if (mDescriptor >= 0) {
        close(mDescriptor);
    }
}

bool ClientProcess::gone() const {
    if (mDescriptor < 0) {
        return mPid > 0 && kill(mPid, 0) != 0 && errno == ESRCH;
    }
    pollfd ended = {.fd = mDescriptor, .events = POLLIN, .revents = 0};
    return poll(&ended, 1, 0) > 0;
}

}  // namespace halyard::device
