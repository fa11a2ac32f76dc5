// SPDX-License-Identifier: Apache-2.0
//
// FenceWatch: tasks that wait for fences (sync_file, eventfd, pipes) before they begin. A task
// waits for all of its fences and takes no thread and no slot of a scheduler meanwhile: one thread
// polls the fences of all tasks.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "driver/model/call_options.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"

namespace halyard::driver {

// Thread-safe.
class FenceWatch {
  public:
    // The waiting tasks of one client.
    class Share;

    FenceWatch();
    // Tasks that wait are told that it has ended.
    ~FenceWatch();
    FenceWatch(const FenceWatch&) = delete;
    FenceWatch& operator=(const FenceWatch&) = delete;

    std::shared_ptr<Share> makeShare();

    // How much waits just now, of all clients.
    size_t waiting() const;

  private:
    struct State;
    std::shared_ptr<State> mState;  // the same for ever
};

// Thread-safe. What waits when it ends goes on waiting.
class FenceWatch::Share {
  public:
    // Called exactly once, and never under a lock: with OK once all fences have happened; with
    // INTERNAL where one of them never will; with DEADLINE_EXCEEDED; or with what refuseWaiting()
    // says. On the watch's thread, which all that waits shares: it hands work on and does none.
    using Then = std::function<void(const Status&)>;

    explicit Share(std::shared_ptr<State> state) : mState(std::move(state)) {}
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // Waits for all of the fences; a null one never happens. Polling a fence must not block, which
    // the caller has checked of a client's descriptors. RESOURCE_EXHAUSTED, returned: the system
    // has no thread or descriptor for it; `then` has not been called and won't.
    Status await(Fences fences, const Deadline& deadline, Then then);

    // All that waits is told `why`, on the calling thread.
    void refuseWaiting(const Status& why);

    size_t waiting() const;

  private:
    const std::shared_ptr<State> mState;
};

}  // namespace halyard::driver
