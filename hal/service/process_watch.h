// SPDX-License-Identifier: Apache-2.0
//
// ProcessWatch: who has called, and is no more. A binder object tells of its owner's death; a
// caller that hands in no object is watched by its number.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "engine/base/status.h"
#include "hal/binder/object.h"

namespace halyard::hal {

// Thread-safe; has one thread.
class ProcessWatch {
  public:
    // Each process that is watched takes a descriptor; so many at most, so that there are others
    // left for what comes with calls.
    static constexpr size_t kMost = 256;
    // UNSUPPORTED where the kernel has no descriptors of processes (before Linux 5.3), or not
    // enough of anything else.
    static Result<std::unique_ptr<ProcessWatch>> start(size_t most = kMost);
    // Waits for a callback that is running. Not to be called by one.
    ~ProcessWatch();
    ProcessWatch(const ProcessWatch&) = delete;
    ProcessWatch& operator=(const ProcessWatch&) = delete;

    // Calls `onEnd` once, on the watch's thread, when the process has ended, unless what this gives
    // goes first. UNAVAILABLE: there is no such process. RESOURCE_EXHAUSTED:
    // too many are watched already, or the system has no descriptor for it.
    Result<std::unique_ptr<OwnerWatch>> watch(int32_t pid, std::function<void()> onEnd);

  private:
    struct State;
    class Watch;
    explicit ProcessWatch(std::shared_ptr<State> state) : mState(std::move(state)) {}
    const std::shared_ptr<State> mState;
};

}  // namespace halyard::hal
