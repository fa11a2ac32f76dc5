// SPDX-License-Identifier: Apache-2.0

#include "harness/device/managers/client_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
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

ProcessDeaths::ProcessDeaths() : mEpoll(epoll_create1(EPOLL_CLOEXEC)) {}

bool ProcessDeaths::add(const ClientProcess& process, uint64_t id) {
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.u64 = id;
    return process.mDescriptor >= 0 &&
           epoll_ctl(mEpoll.get(), EPOLL_CTL_ADD, process.mDescriptor, &event) == 0;
}

void ProcessDeaths::remove(const ClientProcess& process) {
    if (process.mDescriptor >= 0) {
        epoll_ctl(mEpoll.get(), EPOLL_CTL_DEL, process.mDescriptor, nullptr);
    }
}

std::vector<uint64_t> ProcessDeaths::some() const {
    std::array<epoll_event, 16> events = {};
    const int count = epoll_wait(mEpoll.get(), events.data(), events.size(), 0);
    std::vector<uint64_t> ids;
    for (int i = 0; i < count; ++i) {
        ids.push_back(events[static_cast<size_t>(i)].data.u64);
    }
    return ids;
}

}  // namespace halyard::device
