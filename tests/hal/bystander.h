// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace halyard::hal::testing {

// A process that does nothing until it is ended. It ends with the thread that made it, so that a
// test program which dies leaves none behind.
class Bystander {
  public:
    Bystander() : mPid(fork()) {
        if (mPid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;) {
                pause();
            }
        }
    }
    ~Bystander() { end(); }
    Bystander(const Bystander&) = delete;
    Bystander& operator=(const Bystander&) = delete;

    pid_t pid() const { return mPid; }
    // Once it comes back, nothing of the process is left.
    void end() {
        if (!mEnded) {
            mEnded = true;
            kill(mPid, SIGKILL);
            waitpid(mPid, nullptr, 0);
        }
    }

  private:
    const pid_t mPid;
    bool mEnded = false;
};

}  // namespace halyard::hal::testing
