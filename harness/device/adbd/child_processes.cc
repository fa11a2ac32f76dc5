// SPDX-License-Identifier: Apache-2.0

#include "harness/device/adbd/child_processes.h"

#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace halyard::adbd {

Result<std::unique_ptr<ChildProcesses>> ChildProcesses::create(EventLoop& loop) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    FileDescriptor descriptor(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!descriptor.valid()) {
        return internalError(std::string("signalfd: ") + strerror(errno));
    }
    std::unique_ptr<ChildProcesses> children(new ChildProcesses(loop, std::move(descriptor)));
    HALYARD_ASSIGN_OR_RETURN(children->mWatch,
                             loop.watch(children->mSignals.get(), EPOLLIN,
                                        [self = children.get()](uint32_t) { self->onSignal(); }));
    return children;
}

ChildProcesses::ChildProcesses(EventLoop& loop, FileDescriptor signals)
    : mLoop(loop), mSignals(std::move(signals)) {}

ChildProcesses::~ChildProcesses() {
    mLoop.unwatch(mWatch);
}

void ChildProcesses::watch(pid_t pid, std::function<void(int)> onExit) {
    mChildren[pid] = Child{std::move(onExit), false};
    // It may have exited before its signal could find it here.
    mLoop.defer([this] { onSignal(); });
}

void ChildProcesses::release(pid_t pid, bool kill) {
    const auto found = mChildren.find(pid);
    if (found == mChildren.end()) {
        return;
    }
    found->second.onExit = nullptr;
    found->second.released = true;
    if (kill) {
        ::kill(-pid, SIGKILL);
        ::kill(pid, SIGKILL);  // it may not lead its group yet
    }
    if (waitpid(pid, nullptr, WNOHANG) != 0) {
        mChildren.erase(found);
    }
}

void ChildProcesses::onSignal() {
    signalfd_siginfo info;
    while (read(mSignals.get(), &info, sizeof(info)) > 0) {
    }
    // Signals of several children merge into one, so each child is asked.
    std::vector<std::pair<std::function<void(int)>, int>> exited;
    for (auto child = mChildren.begin(); child != mChildren.end();) {
        siginfo_t state = {};
        if (waitid(P_PID, static_cast<id_t>(child->first), &state, WEXITED | WNOHANG | WNOWAIT) !=
                    0 ||
            state.si_pid == 0) {
            ++child;
        } else if (child->second.released) {
            waitpid(child->first, nullptr, 0);
            child = mChildren.erase(child);
        } else {
            if (child->second.onExit) {
                const int status =
                        state.si_code == CLD_EXITED ? state.si_status : 128 + state.si_status;
                exited.emplace_back(std::exchange(child->second.onExit, nullptr), status);
            }
            ++child;
        }
    }
    for (const auto& [onExit, status] : exited) {
        onExit(status);
    }
}

}  // namespace halyard::adbd
