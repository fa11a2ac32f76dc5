// SPDX-License-Identifier: Apache-2.0
//
// The daemon's children: who waits for which, and reaping.

#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>

#include "harness/device/adbd/event_loop.h"

namespace halyard::adbd {

class ChildProcesses {
  public:
    // Blocks SIGCHLD for this process; a child must unblock it before it runs something else.
    static Result<std::unique_ptr<ChildProcesses>> create(EventLoop& loop);
    ~ChildProcesses();

    // Calls `onExit` once with the exit status as a shell gives it (128 + signal if killed). `pid`
    // leads its own process group.
    void watch(pid_t pid, std::function<void(int status)> onExit);
    // No call of onExit any more. With `kill`, the process and its group are killed, whether or not
    // the leader still lives. The id is kept from reuse until here.
    void release(pid_t pid, bool kill);

  private:
    struct Child {
        std::function<void(int)> onExit;  // empty: exited or released
        bool released = false;
    };

    ChildProcesses(EventLoop& loop, FileDescriptor signals);
    void onSignal();

    EventLoop& mLoop;
    FileDescriptor mSignals;
    EventLoop::WatchId mWatch = EventLoop::kNoWatch;
    std::map<pid_t, Child> mChildren;
};

}  // namespace halyard::adbd
