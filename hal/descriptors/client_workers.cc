// SPDX-License-Identifier: Apache-2.0

#include "hal/descriptors/client_workers.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "engine/base/log.h"

namespace halyard::hal {
namespace {

using Clock = std::chrono::steady_clock;

// A thread that has nothing to do stays for so long.
constexpr std::chrono::seconds kIdle{2};
// The work needs little stack: closing, writing, unmapping.
constexpr size_t kStack = size_t{128} * 1024;

}  // namespace

struct ClientWorkers::State {
    explicit State(const Limits& theLimits) : limits(theLimits) {}

    // Of one owner.
    struct Worker {
        std::deque<std::function<void()>> waiting;
        std::optional<Clock::time_point> begun;  // while something is being done
    };
    using Workers = std::map<Owner, Worker>;

    const Limits limits;
    std::mutex mutex;
    std::condition_variable changed;
    bool ended = false;
    Workers workers;  // those that have something
    size_t threads = 0;
    size_t idle = 0;

    size_t busyOf(uint32_t uid) const {
        return static_cast<size_t>(std::ranges::count_if(workers, [uid](const auto& entry) {
            return entry.first.uid == uid && entry.second.begun.has_value();
        }));
    }

    bool mayBegin(const Workers::value_type& entry) const {
        return !entry.second.begun.has_value() && !entry.second.waiting.empty() &&
               busyOf(entry.first.uid) < limits.perUser;
    }

    // A worker whose next work may be done now.
    Workers::iterator findWork() {
        return std::ranges::find_if(workers, [this](const auto& entry) { return mayBegin(entry); });
    }

    // Whether the threads that have nothing to do are too few for what may be done now: any of it
    // may be stuck, so that nothing can wait behind it.
    bool needsThread() const {
        const auto ready = static_cast<size_t>(std::ranges::count_if(
                workers, [this](const auto& entry) { return mayBegin(entry); }));
        return ready > idle && threads < limits.all;
    }

    static void* run(void* state) {
        const std::unique_ptr<std::shared_ptr<State>> owned(
                static_cast<std::shared_ptr<State>*>(state));
        (*owned)->serve();
        return nullptr;
    }

    void serve() {
        std::unique_lock lock(mutex);
        while (!ended) {
            const auto found = findWork();
            if (found == workers.end()) {
                ++idle;
                const std::cv_status woken = changed.wait_for(lock, kIdle);
                --idle;
                if (woken == std::cv_status::timeout && findWork() == workers.end()) {
                    break;
                }
                continue;
            }
            Worker& worker = found->second;
            std::function<void()> work = std::move(worker.waiting.front());
            worker.waiting.pop_front();
            worker.begun = Clock::now();
            lock.unlock();
            work();
            work = nullptr;
            lock.lock();
            worker.begun.reset();
            if (worker.waiting.empty()) {
                workers.erase(found);
            }
        }
        --threads;
    }
};

ClientWorkers::ClientWorkers(const Limits& limits) : mState(std::make_shared<State>(limits)) {}

ClientWorkers::~ClientWorkers() {
    const std::lock_guard lock(mState->mutex);
    mState->ended = true;
    mState->changed.notify_all();
}

ClientWorkers& ClientWorkers::here() {
    // One for a process: blocked threads stay for good, whichever device they were started for.
    static auto* const workers = new ClientWorkers(Limits{});
    return *workers;
}

void ClientWorkers::run(Owner owner, std::function<void()> work) {
    const std::lock_guard lock(mState->mutex);
    mState->workers[owner].waiting.push_back(std::move(work));
    mState->changed.notify_one();
    if (!mState->needsThread()) {
        return;
    }
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, kStack);
    auto state = std::make_unique<std::shared_ptr<State>>(mState);
    pthread_t thread = {};
    if (pthread_create(&thread, &attributes, &State::run, state.get()) == 0) {
        static_cast<void>(state.release());
        ++mState->threads;
    } else if (mState->threads == 0) {
        log(LogLevel::WARNING, "no thread is left to close a client's descriptors");
    }
    pthread_attr_destroy(&attributes);
}

bool ClientWorkers::runAndWait(Owner owner, std::function<void()> work,
                               std::chrono::milliseconds patience) {
    struct End {
        std::mutex mutex;
        std::condition_variable reached;
        bool done = false;
    };
    const auto end = std::make_shared<End>();
    run(owner, [end, work = std::move(work)]() mutable {
        work();
        work = nullptr;
        const std::lock_guard lock(end->mutex);
        end->done = true;
        end->reached.notify_all();
    });
    std::unique_lock lock(end->mutex);
    return end->reached.wait_for(lock, patience, [&] { return end->done; });
}

void ClientWorkers::close(Owner owner, std::vector<FileDescriptor> descriptors) {
    if (!descriptors.empty()) {
        run(owner, [held = std::make_shared<std::vector<FileDescriptor>>(std::move(descriptors))] {
            held->clear();
        });
    }
}

bool ClientWorkers::isStuck(Owner owner) const {
    const std::lock_guard lock(mState->mutex);
    const auto found = mState->workers.find(owner);
    return found != mState->workers.end() && found->second.begun.has_value() &&
           Clock::now() - *found->second.begun > mState->limits.patience;
}

size_t ClientWorkers::pending() const {
    const std::lock_guard lock(mState->mutex);
    size_t count = 0;
    for (const auto& [owner, worker] : mState->workers) {
        count += worker.waiting.size() + (worker.begun.has_value() ? 1 : 0);
    }
    return count;
}

}  // namespace halyard::hal
