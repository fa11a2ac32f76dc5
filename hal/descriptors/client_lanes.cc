// SPDX-License-Identifier: Apache-2.0

#include "hal/descriptors/client_lanes.h"

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
// What the work needs is little: closing, writing, unmapping.
constexpr size_t kStack = size_t{128} * 1024;

}  // namespace

struct ClientLanes::State {
    explicit State(const Limits& theLimits) : limits(theLimits) {}

    // Of one owner.
    struct Lane {
        std::deque<std::function<void()>> waiting;
        std::optional<Clock::time_point> begun;  // while something is being done
    };
    using Lanes = std::map<Owner, Lane>;

    const Limits limits;
    std::mutex mutex;
    std::condition_variable changed;
    bool ended = false;
    Lanes lanes;  // those that have something
    size_t threads = 0;
    size_t idle = 0;

    size_t busyOf(uint32_t uid) const {
        return static_cast<size_t>(std::ranges::count_if(lanes, [uid](const auto& entry) {
            return entry.first.uid == uid && entry.second.begun.has_value();
        }));
    }

    bool mayBegin(const Lanes::value_type& entry) const {
        return !entry.second.begun.has_value() && !entry.second.waiting.empty() &&
               busyOf(entry.first.uid) < limits.perUser;
    }

    // A lane whose next work may be done now.
    Lanes::iterator findWork() {
        return std::ranges::find_if(lanes, [this](const auto& entry) { return mayBegin(entry); });
    }

    // Whether the threads that have nothing to do are too few for what may be done now: any of it
    // may be stuck, so that nothing can wait behind it.
    bool needsThread() const {
        const auto ready = static_cast<size_t>(std::ranges::count_if(
                lanes, [this](const auto& entry) { return mayBegin(entry); }));
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
            if (found == lanes.end()) {
                ++idle;
                const std::cv_status woken = changed.wait_for(lock, kIdle);
                --idle;
                if (woken == std::cv_status::timeout && findWork() == lanes.end()) {
                    break;
                }
                continue;
            }
            Lane& lane = found->second;
            std::function<void()> work = std::move(lane.waiting.front());
            lane.waiting.pop_front();
            lane.begun = Clock::now();
            lock.unlock();
            work();
            work = nullptr;
            lock.lock();
            lane.begun.reset();
            if (lane.waiting.empty()) {
                lanes.erase(found);
            }
        }
        --threads;
    }
};

ClientLanes::ClientLanes(const Limits& limits) : mState(std::make_shared<State>(limits)) {}

ClientLanes::~ClientLanes() {
    const std::lock_guard lock(mState->mutex);
    mState->ended = true;
    mState->changed.notify_all();
}

ClientLanes& ClientLanes::here() {
    // One for a process: what it waits for keeps its threads for good, whoever asked for them.
    static auto* const lanes = new ClientLanes(Limits{});
    return *lanes;
}

void ClientLanes::run(Owner owner, std::function<void()> work) {
    const std::lock_guard lock(mState->mutex);
    mState->lanes[owner].waiting.push_back(std::move(work));
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

bool ClientLanes::runAndWait(Owner owner, std::function<void()> work,
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

void ClientLanes::close(Owner owner, std::vector<FileDescriptor> descriptors) {
    if (!descriptors.empty()) {
        run(owner, [held = std::make_shared<std::vector<FileDescriptor>>(std::move(descriptors))] {
            held->clear();
        });
    }
}

bool ClientLanes::isStuck(Owner owner) const {
    const std::lock_guard lock(mState->mutex);
    const auto found = mState->lanes.find(owner);
    return found != mState->lanes.end() && found->second.begun.has_value() &&
           Clock::now() - *found->second.begun > mState->limits.patience;
}

size_t ClientLanes::pending() const {
    const std::lock_guard lock(mState->mutex);
    size_t count = 0;
    for (const auto& [owner, lane] : mState->lanes) {
        count += lane.waiting.size() + (lane.begun.has_value() ? 1 : 0);
    }
    return count;
}

}  // namespace halyard::hal
