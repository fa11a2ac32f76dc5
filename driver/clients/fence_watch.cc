// SPDX-License-Identifier: Apache-2.0

#include "driver/clients/fence_watch.h"

#include <linux/sync_file.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
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

// `events`: what an epoll or poll(), whose words are the same, tells of it.
Fate fateOf(uint32_t events, int fd) {
    if ((events & EPOLLIN) != 0) {
        return failed(fd) ? Fate::FAILED : Fate::HAPPENED;
    }
    // Its writer is gone, or it can't be waited for at all.
    return events == 0 ? Fate::PENDING : Fate::FAILED;
}
static_assert(POLLIN == EPOLLIN);

Fate fateOf(int fd) {
    pollfd polled = {.fd = fd, .events = POLLIN, .revents = 0};
    static_cast<void>(poll(&polled, 1, 0));
    return fateOf(static_cast<uint32_t>(static_cast<uint16_t>(polled.revents)), fd);
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

// An epoll tells of each fence, so that what one of them takes does not depend on how many others
// wait. A fence is taken out of the epoll before its descriptor is closed: the client has a
// descriptor of the same file, which would keep the entry there under a number that is closed.
struct FenceWatch::State : std::enable_shared_from_this<FenceWatch::State> {
    struct Waiter {
        const Share* share = nullptr;
        Fences fences;
        size_t pending = 0;  // of these, that have not happened yet
        Deadline due;        // when it is told, whatever has happened
        Share::Then then;
        Status outcome;
    };
    using Waiters = std::list<Waiter>;
    // A fence that is waited for, once for each time that a waiter has it.
    struct Watched {
        std::shared_ptr<const FileDescriptor> fence;
        std::vector<Waiters::iterator> waiters;
    };
    struct Due {
        Clock::time_point when;
        const Waiter* key = nullptr;  // tells those of one moment apart
        Waiters::iterator waiter;

        bool operator<(const Due& other) const {
            return std::tie(when, key) < std::tie(other.when, other.key);
        }
    };

    static constexpr uint64_t kWake = 0;
    static constexpr size_t kMostEvents = 64;
    // Of what has nothing more to wait for.
    static constexpr Clock::time_point kAtOnce{};

    mutable std::mutex mutex;
    // In no order. A waiter is taken out under the lock, and its fences are forgotten then.
    Waiters waiters;
    std::unordered_map<uint64_t, Watched> watched;  // by their numbers in the epoll
    std::unordered_map<const FileDescriptor*, uint64_t> numbers;
    std::set<Due> dues;
    uint64_t lastNumber = kWake;
    // Made at once: a service makes none of its own once it serves.
    const FileDescriptor epoll{epoll_create1(EPOLL_CLOEXEC)};
    const FileDescriptor wake{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    std::optional<pthread_t> thread;
    bool stopping = false;

    static Status lacking(const char* what, int error) {
        return {StatusCode::RESOURCE_EXHAUSTED, std::string(what) + ": " + std::strerror(error)};
    }

    bool add(int fd, uint64_t number) const {
        epoll_event event = {};
        event.events = EPOLLIN;
        event.data.u64 = number;
        return epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) == 0;
    }

    // Under the mutex, as all but run().
    Status start() {
        if (thread.has_value()) {
            return {};
        }
        if (!wake.valid() || !epoll.valid()) {
            return lacking("no descriptor to wait with", EMFILE);
        }
        if (!add(wake.get(), kWake) && errno != EEXIST) {
            return lacking("nothing can be waited for", errno);
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

    // Waits for one more fence of a waiter's. INTERNAL where it can't be waited for and has not
    // happened: a file, which no epoll takes, can always be read.
    Status watch(Waiters::iterator waiter, const std::shared_ptr<const FileDescriptor>& fence) {
        if (const auto known = numbers.find(fence.get()); known != numbers.end()) {
            watched.at(known->second).waiters.push_back(waiter);
            return {};
        }
        const uint64_t number = ++lastNumber;
        if (add(fence->get(), number)) {
            watched.emplace(number, Watched{.fence = fence, .waiters = {waiter}});
            numbers.emplace(fence.get(), number);
            return {};
        }
        if (errno != EPERM) {
            return lacking("no fence more can be waited for", errno);
        }
        if (fateOf(fence->get()) != Fate::HAPPENED) {
            return internalError("a fence that it waits for has failed");
        }
        --waiter->pending;
        return {};
    }

    // Waits for all fences of the only one in the list. RESOURCE_EXHAUSTED: it is there again.
    Status begin(Waiters& added) {
        const auto waiter = added.begin();
        waiters.splice(waiters.end(), added);
        waiter->pending = waiter->fences.size();
        for (const auto& fence : waiter->fences) {
            waiter->outcome = watch(waiter, fence);
            if (waiter->outcome.code() == StatusCode::RESOURCE_EXHAUSTED) {
                take(waiter, added);
                return waiter->outcome;
            }
            if (!waiter->outcome.ok()) {
                break;
            }
        }
        if (waiter->pending == 0 || !waiter->outcome.ok()) {
            waiter->due = kAtOnce;
        }
        if (waiter->due.has_value()) {
            dues.insert({.when = *waiter->due, .key = &*waiter, .waiter = waiter});
        }
        // The thread may be waiting for what is due later.
        wakeUp();
        return {};
    }

    void forget(std::unordered_map<uint64_t, Watched>::iterator found) {
        epoll_ctl(epoll.get(), EPOLL_CTL_DEL, found->second.fence->get(), nullptr);
        numbers.erase(found->second.fence.get());
        watched.erase(found);
    }

    // Moves one from those that wait.
    void take(Waiters::iterator waiter, Waiters& taken) {
        for (const auto& fence : waiter->fences) {
            const auto number = numbers.find(fence.get());
            if (number == numbers.end()) {
                continue;
            }
            const auto found = watched.find(number->second);
            std::erase(found->second.waiters, waiter);
            if (found->second.waiters.empty()) {
                forget(found);
            }
        }
        if (waiter->due.has_value()) {
            dues.erase({.when = *waiter->due, .key = &*waiter, .waiter = waiter});
        }
        taken.splice(taken.end(), waiters, waiter);
    }

    Waiters take(const Share* share) {
        Waiters taken;
        for (auto next = waiters.begin(); next != waiters.end();) {
            const auto waiter = next++;
            if (share == nullptr || waiter->share == share) {
                take(waiter, taken);
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

    // Something has become of a fence.
    void settle(uint64_t number, uint32_t events, Waiters& settled) {
        const auto found = watched.find(number);
        if (found == watched.end()) {
            return;  // those who waited have been taken out since
        }
        const Fate fate = fateOf(events, found->second.fence->get());
        const std::vector<Waiters::iterator> told = std::move(found->second.waiters);
        forget(found);
        for (size_t i = 0; i < told.size(); ++i) {
            const Waiters::iterator waiter = told[i];
            // Once more for each time that it has the same one.
            const bool isLast = std::find(told.begin() + static_cast<ptrdiff_t>(i) + 1, told.end(),
                                          waiter) == told.end();
            --waiter->pending;
            if (fate == Fate::FAILED) {
                waiter->outcome = internalError("a fence that it waits for has failed");
            }
            if (isLast && (waiter->pending == 0 || fate == Fate::FAILED)) {
                take(waiter, settled);
            }
        }
    }

    void tellWhatIsDue(Waiters& settled) {
        const Clock::time_point now = Clock::now();
        while (!dues.empty() && dues.begin()->when <= now) {
            const Waiters::iterator waiter = dues.begin()->waiter;
            if (waiter->pending > 0 && waiter->outcome.ok()) {
                waiter->outcome = Status(StatusCode::DEADLINE_EXCEEDED,
                                         "the deadline passed before its fences had happened");
            }
            take(waiter, settled);
        }
    }

    void run() {
        std::array<epoll_event, kMostEvents> events = {};
        std::unique_lock lock(mutex);
        while (!stopping) {
            const Deadline earliest = dues.empty() ? Deadline() : Deadline(dues.begin()->when);
            lock.unlock();
            const int found = epoll_wait(epoll.get(), events.data(),
                                         static_cast<int>(events.size()), untilPoll(earliest));
            lock.lock();
            Waiters settled;
            for (int i = 0; i < found; ++i) {
                const epoll_event& event = events[static_cast<size_t>(i)];
                if (event.data.u64 == kWake) {
                    uint64_t count = 0;
                    static_cast<void>(::read(wake.get(), &count, sizeof(count)) == sizeof(count));
                } else {
                    settle(event.data.u64, event.events, settled);
                }
            }
            tellWhatIsDue(settled);
            lock.unlock();
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
    // A callback may hold the last reference to the device, and so end the watch it runs on.
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
                     .pending = 0,
                     .due = deadline,
                     .then = std::move(then),
                     .outcome = {}});
    const std::lock_guard lock(mState->mutex);
    HALYARD_RETURN_IF_ERROR(mState->start());
    return mState->begin(added);
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
