// SPDX-License-Identifier: Apache-2.0
//
// Checkpoint: what long work asks every so often: whether it must stop, because a deadline has
// passed or because whoever wanted the result is gone.

#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string_view>

#include "engine/base/status.h"

namespace halyard {

// Absolute, CLOCK_MONOTONIC; nothing: never passes.
using Deadline = std::optional<std::chrono::steady_clock::time_point>;

// A value; cheap to copy. The flag, if there is one, outlives it.
class Checkpoint {
  public:
    Checkpoint() = default;  // never stops anything
    explicit Checkpoint(const Deadline& deadline, const std::atomic<bool>* cancelled = nullptr)
        : mDeadline(deadline), mCancelled(cancelled) {}

    // The same with a further deadline, of which the earlier counts.
    Checkpoint before(std::chrono::steady_clock::time_point deadline) const {
        Checkpoint earlier = *this;
        if (!mDeadline.has_value() || deadline < *mDeadline) {
            earlier.mDeadline = deadline;
        }
        return earlier;
    }

    bool expired() const {
        return (mCancelled != nullptr && mCancelled->load(std::memory_order_relaxed)) ||
               (mDeadline.has_value() && std::chrono::steady_clock::now() >= *mDeadline);
    }

    // DEADLINE_EXCEEDED, "the deadline passed <when>", once it has; UNAVAILABLE if cancelled.
    Status check(std::string_view when) const;

  private:
    Deadline mDeadline;
    const std::atomic<bool>* mCancelled = nullptr;  // null: nobody cancels
};

}  // namespace halyard
