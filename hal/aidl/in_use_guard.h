// SPDX-License-Identifier: Apache-2.0
//
// InUseGuard: objects of which the contract says that they compute one thing at a time.

#pragma once

#include <atomic>

#include "engine/base/status.h"

namespace halyard::hal::aidl {

// Marks an execution as in use for as long as the guard lives.
class InUseGuard {
  public:
    explicit InUseGuard(std::atomic<bool>& taken) : mTaken(taken), mHas(!taken.exchange(true)) {}
    ~InUseGuard() {
        if (mHas) {
            mTaken = false;
        }
    }
    InUseGuard(const InUseGuard&) = delete;
    InUseGuard& operator=(const InUseGuard&) = delete;

    // INTERNAL, which clients see as GENERAL_FAILURE, if something else is.
    Status status() const {
        return mHas ? Status() : internalError("another computation is in progress");
    }

  private:
    std::atomic<bool>& mTaken;
    const bool mHas;
};

}  // namespace halyard::hal::aidl
