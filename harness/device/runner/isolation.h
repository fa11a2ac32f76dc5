// SPDX-License-Identifier: Apache-2.0
//
// Runs cases in a process of their own, so that a crash or a hang costs one case and not the
// runner.

#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
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

// A child that sends one final result after the other. It ends with this object at the latest.
class IsolatedProcess {
  public:
    using Work = std::function<void(const ResultPipe&)>;

    // Forks and calls `work` in the child, which ends with _exit when it returns. To be called
    // while this process has a single thread. Fails if the system can't start a process.
    static Result<std::unique_ptr<IsolatedProcess>> start(const Work& work);
    ~IsolatedProcess();
    IsolatedProcess(const IsolatedProcess&) = delete;
    IsolatedProcess& operator=(const IsolatedProcess&) = delete;

    // Waits for the next final result; `timeout` 0: for ever. After any end but FINISHED the child
    // is gone, and this is not to be called again.
    IsolatedRun next(std::chrono::milliseconds timeout);

  private:
    IsolatedProcess(pid_t child, int pipe) : mChild(child), mPipe(pipe) {}

    // True if `run` has a final result now. Takes no more than that off the pipe's bytes.
    bool takeFinal(IsolatedRun& run);
    // Waits for the child's end; its status as of waitpid.
    int reap();

    pid_t mChild;  // -1 once it is reaped
    int mPipe;
    std::string mBytes;  // received, and not yet taken
};

// A process for one final result, the same otherwise.
Result<IsolatedRun> runIsolated(const IsolatedProcess::Work& work,
                                std::chrono::milliseconds timeout);

}  // namespace halyard::runner
