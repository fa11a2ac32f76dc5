// SPDX-License-Identifier: Apache-2.0
//
// BinderThread: the state of a thread that talks to the binder driver, between two exchanges.

#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "hal/binder/commands.h"
#include "hal/binder/kernel.h"

namespace halyard::hal {

// Belongs to one thread and one kernel connection, as the driver's own notion of a thread does.
class BinderThread {
  public:
    // The kernel outlives it.
    explicit BinderThread(BinderKernel& kernel) : mKernel(kernel) {}

    // The calling thread's state for this connection. It ends with the thread, and then tells the
    // driver so.
    static BinderThread& current(const std::shared_ptr<BinderKernel>& kernel);

    // Commands that go out with the next exchange.
    CommandBuffer& commands() { return mCommands; }
    // Sends what waits. What the kernel does not take waits on.
    Status flush();
    // Whether next() has an item without asking the driver.
    bool hasReceived() const { return !mReturns.empty(); }
    // The next item from the driver, for which it sends what waits and blocks if need be. No item:
    // the driver had none, and the caller should see whether it is still wanted. After a failure no
    // transaction or reply waits to be sent.
    Result<std::optional<Return>> next();
    // The items that next() would give without asking the driver; there are none afterwards.
    std::deque<Return> takeReceived() { return std::exchange(mReturns, {}); }

    // How many calls this thread is making or serving, one inside the other.
    size_t depth = 0;
    // Whether the driver may give it calls from outside.
    bool serves = false;
    // How often this thread has had to begin anew with the driver, which then forgets all calls
    // that it is making or serving.
    size_t generation = 0;
    // Code that must not run inside a call: of objects that others let go of, or that died.
    std::vector<std::function<void()>> deferred;

  private:
    BinderKernel& mKernel;
    CommandBuffer mCommands;
    std::deque<Return> mReturns;
};

}  // namespace halyard::hal
