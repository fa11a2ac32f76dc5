// SPDX-License-Identifier: Apache-2.0
//
// Pending: a callback that a service owes, called exactly once: by the service, or by its death.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "engine/base/status.h"

namespace halyard::hal {

// Whether a service still lives, and who wants to know when it does not. Thread-safe.
class Liveness {
  public:
    void died() {
        std::map<uint64_t, std::function<void()>> listeners;
        {
            const std::lock_guard lock(mMutex);
            mDied = true;
            listeners.swap(mListeners);
        }
        for (const auto& [id, listener] : listeners) {
            listener();
        }
    }

    bool hasDied() const {
        const std::lock_guard lock(mMutex);
        return mDied;
    }

    // 0 if it has died already: then `onDeath` is not called.
    uint64_t listen(std::function<void()> onDeath) {
        const std::lock_guard lock(mMutex);
        if (!mDied) {
            mListeners.emplace(++mLast, std::move(onDeath));
        }
        return mDied ? 0 : mLast;
    }

    void forget(uint64_t id) {
        const std::lock_guard lock(mMutex);
        mListeners.erase(id);
    }

  private:
    mutable std::mutex mMutex;
    bool mDied = false;
    uint64_t mLast = 0;
    std::map<uint64_t, std::function<void()>> mListeners;
};

// Thread-safe. Keeps itself alive until it has been told.
template <typename T>
class Pending : public std::enable_shared_from_this<Pending<T>> {
  public:
    using Done = std::function<void(Result<T>)>;

    // `done` runs on the thread that tells it; `death` is what it is told if the service dies.
    static std::shared_ptr<Pending> create(std::shared_ptr<Liveness> service, const Status& death,
                                           Done done) {
        auto pending = std::make_shared<Pending>(std::move(service), std::move(done));
        const uint64_t id =
                pending->mService->listen([pending, death] { pending->complete(death); });
        bool isOver = false;
        {
            const std::lock_guard lock(pending->mMutex);
            pending->mListening = id;
            isOver = pending->mDone == nullptr;
        }
        if (isOver) {
            pending->mService->forget(id);
        } else if (id == 0) {
            pending->complete(death);
        }
        return pending;
    }

    Pending(std::shared_ptr<Liveness> service, Done done)
        : mService(std::move(service)), mDone(std::move(done)) {}

    // The first call counts.
    void complete(Result<T> value) {
        const std::shared_ptr<Pending> self = this->shared_from_this();
        Done done;
        uint64_t listening = 0;
        {
            const std::lock_guard lock(mMutex);
            done = std::exchange(mDone, nullptr);
            listening = mListening;
        }
        if (done == nullptr) {
            return;
        }
        mService->forget(listening);
        done(std::move(value));
    }

  private:
    const std::shared_ptr<Liveness> mService;
    std::mutex mMutex;
    Done mDone;
    uint64_t mListening = 0;
};

}  // namespace halyard::hal
