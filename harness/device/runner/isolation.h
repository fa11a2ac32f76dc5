// SPDX-License-Identifier: Apache-2.0
//
// Runs a case in a process of its own, so that a crash or a hang costs that case and no other.

#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "engine/base/status.h"
#include "harness/device/runner/messages.h"

namespace halyard::runner {

// The child's end: sends results to the parent.
class ResultPipe {
  public:
    explicit ResultPipe(int fd) : mFd(fd) {}
    // False if the parent is gone.
    bool sendProgress(const pb::CaseResult& result) const { return send('p', result); }
    bool sendFinal(const pb::CaseResult& result) const { return send('f', result); }

  private:
    bool send(char kind, const pb::CaseResult& result) const;

    int mFd;
};

struct IsolatedRun {
    enum class End : uint8_t { FINISHED, CRASHED, TIMED_OUT };
    End end = End::FINISHED;
    std::string reason;  // of a crash: "killed by signal 11 (Segmentation fault)"
    // The last one that arrived, if any did; the final one if FINISHED.
    pb::CaseResult result;
    bool resultArrived = false;
};

// Forks and calls `work` in the child, which ends with _exit when it returns. To be called while
// this process has a single thread. `timeout` 0: none. Fails if the system can't start a process.
Result<IsolatedRun> runIsolated(const std::function<void(const ResultPipe&)>& work,
                                std::chrono::milliseconds timeout);

}  // namespace halyard::runner
