// SPDX-License-Identifier: Apache-2.0
//
// Checkpoint: long work asks it every so often whether to stop, because a deadline has passed or
// because the caller is gone.

#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>

#include "engine/base/status.h"

namespace halyard {

// Absolute, CLOCK_MONOTONIC; nothing: never passes.
using Deadline = std::optional<std::chrono::steady_clock::time_point>;

// A further reason to stop, looked at whenever the checkpoint is asked, on the thread that asks.
class StopCondition {
  public:
    virtual ~StopCondition() = default;
    virtual bool holds() const = 0;
};

// A value; cheap to copy. The flag and the condition, if there are any, outlive it.
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

    // The same, cancelled as well once the condition holds. Null: no condition.
    Checkpoint unless(const StopCondition* condition) const {
        Checkpoint conditional = *this;
        conditional.mCondition = condition;
        return conditional;
    }

    bool expired() const { return cancelled() || passed(); }

    // DEADLINE_EXCEEDED, "the deadline passed <when>", once it has; UNAVAILABLE if cancelled.
    Status check(std::string_view when) const;

  private:
    bool cancelled() const {
        return (mCancelled != nullptr && mCancelled->load(std::memory_order_relaxed)) ||
               (mCondition != nullptr && mCondition->holds());
    }
    bool passed() const {
        return mDeadline.has_value() && std::chrono::steady_clock::now() >= *mDeadline;
    }

    Deadline mDeadline;
    const std::atomic<bool>* mCancelled = nullptr;  // null: never cancelled
    const StopCondition* mCondition = nullptr;
};

// Copies bytes that don't overlap, and asks the checkpoint before each megabyte of them; what it
// says is what is returned, with the rest uncopied. `when` as Checkpoint::check has it.
Status copyInChunks(void* to, const void* from, size_t bytes, const Checkpoint& checkpoint,
                    std::string_view when);

}  // namespace halyard
