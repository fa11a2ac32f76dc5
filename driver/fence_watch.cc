// SPDX-License-Identifier: Apache-2.0

#include "driver/fence_watch.h"

#include <linux/sync_file.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace halyard::driver {
namespace {

using Clock = std::chrono::steady_clock;

enum class Fate : uint8_t { PENDING, HAPPENED, FAILED };

// A sync_file becomes readable also where what it stands for has failed. No other descriptor knows
// the question.
bool failed(int fd) {
    sync_file_info info = {};
    return ioctl(fd, SYNC_IOC_FILE_INFO, &info) == 0 && info.status < 0;
}

Fate fateOf(const pollfd& polled) {
    if ((polled.revents & POLLIN) != 0) {
        return failed(polled.fd) ? Fate::FAILED : Fate::HAPPENED;
    }
    // Whoever would have written to it is gone, or it can't be waited for at all.
    return polled.revents == 0 ? Fate::PENDING : Fate::FAILED;
}

// Until then, in milliseconds as poll() counts them; never too early.
int untilPoll(const Deadline& deadline) {
    if (!deadline.has_value()) {
        return -1;
    }
    constexpr int64_t kMost = 60'000;
    const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
    return static_cast<int>(std::clamp<int64_t>(left, 0, kMost));
}

}  // namespace

struct FenceWatch::State : std::enable_shared_from_this<FenceWatch::State> {
    struct Waiter {
        const Share* share = nullptr;
        Fences fences;  // those that have not happened yet
        Deadline deadline;
        Share::Then then;
        Status outcome;
    };
    using Waiters = std::list<Waiter>;

    mutable std::mutex mutex;
    // In no order. Only the thread takes out what it polls, and whoever does it holds the lock.
    Waiters waiters;
    // Made at once: a service makes none of its own once it serves.
    const FileDescriptor wake{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    std::optional<pthread_t> thread;
    bool stopping = false;

    // Under the mutex, as all but run().
    Status start() {
        if (thread.has_value()) {
            return {};
        }
        const auto lacking = [](const char* what, int error) {
            return Status(StatusCode::RESOURCE_EXHAUSTED,
                          std::string(what) + ": " + std::strerror(error));
        };
        if (!wake.valid()) {
            return lacking("no descriptor to wait with", EMFILE);
        }
        // Not std::thread: that one has no way to fail but an exception.
        auto self = std::make_unique<std::shared_ptr<State>>(shared_from_this());
        pthread_t started = {};
        if (const int error = pthread_create(&started, nullptr, &runThread, self.get());
            error != 0) {
            return lacking("no thread to wait with", error);
        }
        static_cast<void>(self.release());
        thread = started;
        return {};
    }

    void wakeUp() const {
        const uint64_t one = 1;
        static_cast<void>(::write(wake.get(), &one, sizeof(one)) == sizeof(one));
    }

    Waiters take(const Share* share) {
        Waiters taken;
        for (auto next = waiters.begin(); next != waiters.end();) {
            const auto waiter = next++;
            if (share == nullptr || waiter->share == share) {
                taken.splice(taken.end(), waiters, waiter);
            }
        }
        return taken;
    }

    static void* runThread(void* self) {
        const std::unique_ptr<std::shared_ptr<State>> state(
                static_cast<std::shared_ptr<State>*>(self));
        (*state)->run();
        return nullptr;
    }

    // What to poll: the wake, and then the fences of all waiters. They are kept open meanwhile: a
    // number that is closed could become somebody else's.
    Deadline gather(std::vector<pollfd>& polled, Fences& kept) const {
        polled.assign(1, {.fd = wake.get(), .events = POLLIN, .revents = 0});
        kept.clear();
        Deadline earliest;
        for (const Waiter& waiter : waiters) {
            for (const auto& fence : waiter.fences) {
                polled.push_back({.fd = fence->get(), .events = POLLIN, .revents = 0});
                kept.push_back(fence);
            }
            if (waiter.deadline.has_value() &&
                (!earliest.has_value() || *waiter.deadline < *earliest)) {
                earliest = waiter.deadline;
            }
        }
        return earliest;
    }

    // Takes out those whose waiting has an end. `kept` and `polled` are sorted alike.
    Waiters settle(const std::vector<std::pair<const FileDescriptor*, Fate>>& fates) {
        Waiters settled;
        const Clock::time_point now = Clock::now();
        const auto fateOfFence = [&](const std::shared_ptr<const FileDescriptor>& fence) {
            const auto found = std::ranges::lower_bound(
                    fates, fence.get(), {}, &std::pair<const FileDescriptor*, Fate>::first);
            return found != fates.end() && found->first == fence.get() ? found->second
                                                                       : Fate::PENDING;
        };
        for (auto next = waiters.begin(); next != waiters.end();) {
            const auto waiter = next++;
            const bool hasFailed = std::ranges::any_of(waiter->fences, [&](const auto& fence) {
                return fateOfFence(fence) == Fate::FAILED;
            });
            std::erase_if(waiter->fences,
                          [&](const auto& fence) { return fateOfFence(fence) == Fate::HAPPENED; });
            if (hasFailed) {
                waiter->outcome = internalError("a fence that it waits for has failed");
            } else if (!waiter->fences.empty()) {
                if (!waiter->deadline.has_value() || now < *waiter->deadline) {
                    continue;
                }
                waiter->outcome = Status(StatusCode::DEADLINE_EXCEEDED,
                                         "the deadline passed before its fences had happened");
            }
            settled.splice(settled.end(), waiters, waiter);
        }
        return settled;
    }

    void run() {
        std::vector<pollfd> polled;
        Fences kept;
        std::vector<std::pair<const FileDescriptor*, Fate>> fates;
        std::unique_lock lock(mutex);
        while (!stopping) {
            const Deadline earliest = gather(polled, kept);
            lock.unlock();
            const int found = poll(polled.data(), polled.size(), untilPoll(earliest));
            fates.clear();
            for (size_t i = 0; found > 0 && i < kept.size(); ++i) {
                if (const Fate fate = fateOf(polled[i + 1]); fate != Fate::PENDING) {
                    fates.emplace_back(kept[i].get(), fate);
                }
            }
            std::ranges::sort(fates);
            if (found > 0 && polled[0].revents != 0) {
                uint64_t count = 0;
                static_cast<void>(::read(wake.get(), &count, sizeof(count)) == sizeof(count));
            }
            lock.lock();
            Waiters settled = settle(fates);
            lock.unlock();
            kept.clear();
            tell(std::move(settled));
            lock.lock();
        }
    }

    // Whatever they hold may be the last reference to the watch.
    static void tell(Waiters waiters) {
        for (Waiter& waiter : waiters) {
            waiter.fences.clear();
            waiter.then(waiter.outcome);
            waiter.then = nullptr;
        }
    }
};

FenceWatch::FenceWatch() : mState(std::make_shared<State>()) {}

FenceWatch::~FenceWatch() {
    State::Waiters left;
    std::optional<pthread_t> thread;
    {
        const std::lock_guard lock(mState->mutex);
        mState->stopping = true;
        left = mState->take(nullptr);
        thread = mState->thread;
        if (thread.has_value()) {
            mState->wakeUp();
        }
    }
    for (State::Waiter& waiter : left) {
        waiter.outcome = Status(StatusCode::UNAVAILABLE, "the device has ended");
    }
    State::tell(std::move(left));
    if (!thread.has_value()) {
        return;
    }
    // What it tells may hold the last reference to the device, and so end the watch it runs on.
    if (pthread_equal(*thread, pthread_self()) != 0) {
        pthread_detach(*thread);
    } else {
        pthread_join(*thread, nullptr);
    }
}

std::shared_ptr<FenceWatch::Share> FenceWatch::makeShare() {
    return std::make_shared<Share>(mState);
}

size_t FenceWatch::waiting() const {
    const std::lock_guard lock(mState->mutex);
    return mState->waiters.size();
}

Status FenceWatch::Share::await(Fences fences, const Deadline& deadline, Then then) {
    const bool waitsForNothing = std::ranges::any_of(
            fences, [](const auto& fence) { return fence == nullptr || !fence->valid(); });
    if (waitsForNothing) {
        return invalidArgument("a fence has no descriptor");
    }
    State::Waiters added;
    added.push_back({.share = this,
                     .fences = std::move(fences),
                     .deadline = deadline,
                     .then = std::move(then),
                     .outcome = {}});
    const std::lock_guard lock(mState->mutex);
    HALYARD_RETURN_IF_ERROR(mState->start());
    mState->waiters.splice(mState->waiters.end(), added);
    mState->wakeUp();
    return {};
}

void FenceWatch::Share::refuseWaiting(const Status& why) {
    State::Waiters taken;
    {
        const std::lock_guard lock(mState->mutex);
        taken = mState->take(this);
    }
    for (State::Waiter& waiter : taken) {
        waiter.outcome = why;
    }
    State::tell(std::move(taken));
}

size_t FenceWatch::Share::waiting() const {
    const std::lock_guard lock(mState->mutex);
    return static_cast<size_t>(std::ranges::count(mState->waiters, this, &State::Waiter::share));
}

}  // namespace halyard::driver
