// SPDX-License-Identifier: Apache-2.0
//
// The contents of a halyard_runtime, and the limits that callers set on one call.

#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/budget.h"
#include "engine/base/checkpoint.h"
#include "engine/base/log.h"
#include "engine/base/thread_pool.h"
#include "engine/compile/backends.h"
#include "halyard/halyard.h"

namespace halyard::library {

// Shared by all that is made with it; immutable once it is made.
struct Runtime {
    LogTarget lines;  // first: what ends later may still say something
    halyard_log_function log = nullptr;
    void* logContext = nullptr;
    std::shared_ptr<Budget> memory;  // null: not limited
    std::shared_ptr<ThreadPool> threads;
    engine::OwnedBackends backends;
    engine::BackendList list;
    std::vector<std::string> names;               // of `list`
    std::map<std::string, std::string> withheld;  // by the backend's name; Backend::withheld()
};

// Whether the caller's function wants a call to end. Thread-safe.
class CallerStop : public StopCondition {
  public:
    CallerStop(halyard_stop_function function, void* context)
        : mFunction(function), mContext(context) {}
    bool holds() const override {
        if (mFunction != nullptr && !mHeld.load(std::memory_order_relaxed) &&
            mFunction(mContext) != 0) {
            mHeld.store(true, std::memory_order_relaxed);
        }
        return held();
    }
    bool held() const { return mHeld.load(std::memory_order_relaxed); }

  private:
    const halyard_stop_function mFunction;  // null: none
    void* const mContext;
    mutable std::atomic<bool> mHeld = false;
};

// Nanoseconds that a clock's count has room for beyond any time that it tells.
inline constexpr uint64_t kLongestWait = uint64_t{1} << 61;

// From now on; nothing for 0.
Deadline deadlineIn(uint64_t nanoseconds);

}  // namespace halyard::library

struct halyard_runtime {
    std::shared_ptr<const halyard::library::Runtime> shared;
};
