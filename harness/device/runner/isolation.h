// SPDX-License-Identifier: Apache-2.0
//
// Runs cases in a process of their own, so that a crash or a hang costs one case and not the
// runner.

#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "engine/base/status.h"
#include "harness/device/cases/messages.h"

namespace halyard::runner {

// The child's end.
class ParentLink {
  public:
    explicit ParentLink(int fd) : mFd(fd) {}

    // Each returns false if the parent is gone.
    // The time that a case may take begins now: what came before was no part of it.
    bool sendReady() const { return send(Frame::READY, pb::CaseResult()); }
    bool sendProgress(const pb::CaseResult& result) const { return send(Frame::PROGRESS, result); }
    bool sendFinal(const pb::CaseResult& result) const { return send(Frame::FINAL, result); }

    // The next order. Nothing: there is none any more. Blocks until one of them is known.
    std::optional<uint64_t> receiveOrder() const;

  private:
    friend class IsolatedProcess;
    enum class Frame : char { READY = 'r', PROGRESS = 'p', FINAL = 'f' };

    bool send(Frame kind, const pb::CaseResult& result) const;

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

// A child that is given orders and sends one final result for each. It ends with this object at the
// latest. Not thread-safe.
class IsolatedProcess {
  public:
    using Clock = std::chrono::steady_clock;
    using Deadline = std::optional<Clock::time_point>;  // nothing: never
    using Work = std::function<void(const ParentLink&)>;

    // Forks and calls `work` in the child, which ends with _exit when it returns. To be called
    // while this process has a single thread. Fails if the system can't start a process.
    static Result<std::unique_ptr<IsolatedProcess>> start(const Work& work);
    ~IsolatedProcess();
    IsolatedProcess(const IsolatedProcess&) = delete;
    IsolatedProcess& operator=(const IsolatedProcess&) = delete;

    // Sends the child its next order. A child that is gone is found when it is heard.
    void order(uint64_t value);
    // No more orders.
    void dismiss();

    // An event in the child, one at a time.
    struct Event {
        enum class Kind : uint8_t { READY, PROGRESS, FINAL, ENDED };
        Kind kind = Kind::ENDED;
        pb::CaseResult result;  // of PROGRESS and FINAL
        bool inOrder = false;   // of ENDED: with exit status 0
        std::string reason;     // of ENDED
    };
    // To be polled for POLLIN. After ENDED nothing is to be called any more.
    int descriptor() const { return mLink; }
    // Reads what has arrived, without waiting. Nothing: no more for now.
    std::optional<Event> hear();

    // Waits for the next final result. After any end but FINISHED the child is gone, and nothing
    // is to be called any more.
    IsolatedRun next(const Deadline& deadline);

  private:
    IsolatedProcess(pid_t child, int link) : mChild(child), mLink(link) {}

    std::optional<Event> takeFrame();
    // Waits for the child's end; its status as of waitpid.
    int reap();

    pid_t mChild;  // -1 once it is reaped
    int mLink;
    std::string mBytes;  // received, and not yet taken
};

// Waits until one of the descriptors can be read, or the deadline.
void waitForAny(std::span<const int> descriptors, const IsolatedProcess::Deadline& deadline);

// A process for one final result, the same otherwise; it gets no order. `timeout` 0: for ever.
Result<IsolatedRun> runIsolated(const IsolatedProcess::Work& work,
                                std::chrono::milliseconds timeout);

}  // namespace halyard::runner
