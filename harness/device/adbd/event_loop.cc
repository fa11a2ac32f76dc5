// SPDX-License-Identifier: Apache-2.0

#include "harness/device/adbd/event_loop.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>

namespace halyard::adbd {

Result<std::unique_ptr<EventLoop>> EventLoop::create() {
    FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
    if (!epoll.valid()) {
        return internalError(std::string("epoll_create1: ") + strerror(errno));
    }
    return std::unique_ptr<EventLoop>(new EventLoop(std::move(epoll)));
}

Result<EventLoop::WatchId> EventLoop::watch(int fd, uint32_t events, Callback callback) {
    const WatchId id = ++mLastId;
    epoll_event event = {};
    event.events = events;
    // The id rather than the descriptor: an event that was fetched before its descriptor was closed
    // and reused then finds no watch.
    event.data.u64 = id;
    if (epoll_ctl(mEpoll.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
        return internalError(std::string("epoll_ctl: ") + strerror(errno));
    }
    mWatches.emplace(id, Watch{fd, events, std::make_shared<Callback>(std::move(callback))});
    return id;
}

void EventLoop::change(WatchId id, uint32_t events) {
    const auto found = mWatches.find(id);
    if (found == mWatches.end() || found->second.events == events) {
        return;
    }
    found->second.events = events;
    epoll_event event = {};
    event.events = events;
    event.data.u64 = id;
    epoll_ctl(mEpoll.get(), EPOLL_CTL_MOD, found->second.fd, &event);
}

void EventLoop::unwatch(WatchId id) {
    const auto found = mWatches.find(id);
    if (found != mWatches.end()) {
        epoll_ctl(mEpoll.get(), EPOLL_CTL_DEL, found->second.fd, nullptr);
        mWatches.erase(found);
    }
}

void EventLoop::defer(std::function<void()> task) {
    mDeferred.push_back(std::move(task));
}

void EventLoop::runDeferred() {
    while (!mDeferred.empty()) {
        const std::vector<std::function<void()>> tasks = std::exchange(mDeferred, {});
        for (const std::function<void()>& task : tasks) {
            task();
        }
    }
}

EventLoop::TimerId EventLoop::callAfter(std::chrono::milliseconds time,
                                        std::function<void()> task) {
    mTimers[++mLastTimer] = {std::chrono::steady_clock::now() + time, std::move(task)};
    return mLastTimer;
}

void EventLoop::cancel(TimerId id) {
    mTimers.erase(id);
}

int EventLoop::patience(int most) const {
    for (const auto& [id, timer] : mTimers) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(
                timer.when - std::chrono::steady_clock::now());
        const int whole = static_cast<int>(std::clamp<int64_t>(left.count(), 0, INT_MAX));
        most = most < 0 ? whole : std::min(most, whole);
    }
    return most;
}

void EventLoop::runTimers() {
    const auto now = std::chrono::steady_clock::now();
    // A task may cancel other timers, and start some.
    for (TimerId id = kNoTimer;;) {
        const auto next = std::find_if(mTimers.upper_bound(id), mTimers.end(),
                                       [&](const auto& t) { return t.second.when <= now; });
        if (next == mTimers.end()) {
            return;
        }
        id = next->first;
        const std::function<void()> task = std::move(next->second.task);
        mTimers.erase(next);
        task();
        runDeferred();
    }
}

void EventLoop::wait(int milliseconds) {
    std::array<epoll_event, 64> events;
    const int count =
            epoll_wait(mEpoll.get(), events.data(), static_cast<int>(events.size()), milliseconds);
    for (int i = 0; i < count && !mStopped; ++i) {
        // A copy: the kernel packs its events, and no reference may be to what is not aligned.
        const WatchId id = events[i].data.u64;
        const auto found = mWatches.find(id);
        if (found == mWatches.end()) {
            continue;
        }
        // The callback may end its own watch.
        const std::shared_ptr<Callback> callback = found->second.callback;
        (*callback)(events[i].events);
        runDeferred();
    }
    runTimers();
}

void EventLoop::runOnce(std::chrono::milliseconds most) {
    runDeferred();
    wait(patience(static_cast<int>(most.count())));
}

void EventLoop::run() {
    while (!mStopped) {
        wait(patience(-1));
    }
}

}  // namespace halyard::adbd
