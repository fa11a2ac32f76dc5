// SPDX-License-Identifier: Apache-2.0
//
// EventLoop: the daemon's one thread. Waits for file descriptors and times with epoll and calls
// back.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "engine/base/file_descriptor.h"
#include "engine/base/status.h"

namespace halyard::adbd {

// Not thread-safe: everything happens on the thread that calls run().
class EventLoop {
  public:
    using WatchId = uint64_t;
    static constexpr WatchId kNoWatch = 0;
    // `events` as epoll reports them (EPOLLIN, EPOLLOUT, EPOLLHUP, EPOLLERR).
    using Callback = std::function<void(uint32_t events)>;

    static Result<std::unique_ptr<EventLoop>> create();

    // The descriptor stays the caller's and must outlive the watch.
    Result<WatchId> watch(int fd, uint32_t events, Callback callback);
    void change(WatchId id, uint32_t events);
    // No callback for `id` starts after this. kNoWatch and ids that ended are ignored.
    void unwatch(WatchId id);

    // Runs `task` once the callback in progress has returned, so that an object can ask for its own
    // removal.
    void defer(std::function<void()> task);

    using TimerId = uint64_t;
    static constexpr TimerId kNoTimer = 0;
    // Runs `task` once when so much time has passed.
    TimerId callAfter(std::chrono::milliseconds time, std::function<void()> task);
    // kNoTimer and timers that have run are ignored.
    void cancel(TimerId id);

    void run();
    // One wait, no longer than `most`, and what it brings.
    void runOnce(std::chrono::milliseconds most);
    void stop() { mStopped = true; }

  private:
    struct Watch {
        int fd;
        uint32_t events;
        std::shared_ptr<Callback> callback;
    };

    struct Timer {
        std::chrono::steady_clock::time_point when;
        std::function<void()> task;
    };

    explicit EventLoop(FileDescriptor epoll) : mEpoll(std::move(epoll)) {}
    // Milliseconds until the next timer, or `most`; -1: for ever.
    int patience(int most) const;
    void wait(int milliseconds);
    void runTimers();
    void runDeferred();

    FileDescriptor mEpoll;
    std::map<WatchId, Watch> mWatches;
    std::vector<std::function<void()>> mDeferred;
    std::map<TimerId, Timer> mTimers;
    WatchId mLastId = kNoWatch;
    TimerId mLastTimer = kNoTimer;
    bool mStopped = false;
};

}  // namespace halyard::adbd
