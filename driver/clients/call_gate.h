// SPDX-License-Identifier: Apache-2.0
//
// CallGate: how many calls may hold their caller's thread at once, each for as long as its work
// takes. Where callers come on threads that others need too, as a service's binder threads, they
// must not take all of them.

#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

#include "driver/options/call_limits.h"
#include "engine/base/status.h"

namespace halyard::driver {

// Thread-safe.
class CallGate {
  public:
    using Limits = CallLimits;
    // The calls of one user's clients.
    class Group;
    // The calls of one client.
    class Share;
    // The right to hold a thread, for as long as it lives. Movable.
    class Permit;

    explicit CallGate(const Limits& limits) : mState(std::make_shared<State>(limits)) {}

    std::shared_ptr<Group> makeGroup();

  private:
    struct State {
        explicit State(const Limits& theLimits) : limits(theLimits) {}
        const Limits limits;
        std::mutex mutex;
        size_t inside = 0;
    };
    std::shared_ptr<State> mState;
};

class CallGate::Group : public std::enable_shared_from_this<Group> {
  public:
    explicit Group(std::shared_ptr<State> gate) : mGate(std::move(gate)) {}
    std::shared_ptr<Share> makeShare();
    size_t inside() const;

  private:
    friend class Share;
    friend class Permit;
    const std::shared_ptr<State> mGate;
    size_t mInside = 0;  // guarded by the gate's mutex
};

class CallGate::Share : public std::enable_shared_from_this<Share> {
  public:
    explicit Share(std::shared_ptr<Group> group) : mGroup(std::move(group)) {}
    // RESOURCE_EXHAUSTED where too many are inside; allocates nothing otherwise.
    Result<Permit> enter();
    size_t inside() const;

  private:
    friend class Permit;
    const std::shared_ptr<Group> mGroup;
    size_t mInside = 0;  // guarded by the gate's mutex
};

class CallGate::Permit {
  public:
    Permit(Permit&& other) noexcept : mShare(std::move(other.mShare)) {}
    Permit& operator=(Permit&&) = delete;
    ~Permit();

  private:
    friend class Share;
    explicit Permit(std::shared_ptr<Share> share) : mShare(std::move(share)) {}
    std::shared_ptr<Share> mShare;  // null where it was moved away
};

}  // namespace halyard::driver
