// SPDX-License-Identifier: Apache-2.0
//
// Link: a process's connection to a binder device, spoken by hand. Nothing of hal/binder stands
// between an attack and the kernel.

#pragma once

#include <linux/android/binder.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "tests/device/attacker/raw_parcel.h"

namespace halyard::attacker {

using Clock = std::chrono::steady_clock;

// A oneway call to a frozen process: newer than the headers of Debian 12.
inline constexpr uint32_t kPendingFrozen = _IO('r', 20);

// The message of a call that the kernel refused.
inline constexpr std::string_view kRefusedByKernel = "failed reply";

class Link;

// A transaction or a reply that arrived; its buffer goes back to the kernel at the end. Movable.
class Received {
  public:
    Received(Link& link, const binder_transaction_data& data) : mLink(&link), mData(data) {}
    Received(Received&& other) noexcept
        : mLink(std::exchange(other.mLink, nullptr)), mData(other.mData) {}
    Received& operator=(Received&&) = delete;
    ~Received();

    uint32_t code() const { return mData.code; }
    bool isOneway() const { return (mData.flags & TF_ONE_WAY) != 0; }
    std::span<const uint8_t> bytes() const;
    // 0 where there is none.
    int32_t int32At(size_t offset) const;
    // The handles of the objects in it, of whatever process.
    std::vector<uint32_t> handles() const;

  private:
    Link* mLink;
    binder_transaction_data mData;
};

// Serves a call to an object of this process. False: the call gets no answer, ever.
using Handler = std::function<bool(const Received& call, RawParcel& reply)>;

// Thread-safe; the kernel tells the threads apart. A thread waits for its own replies only; oneway
// calls reach threads inside serveUntil().
class Link {
  public:
    static Result<std::unique_ptr<Link>> open(const char* device = "/dev/hwbinder");
    ~Link();
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    // Its id, for RawParcel::ownObject().
    uint64_t addObject(Handler handler);

    // A call and its reply. DEADLINE_EXCEEDED: none came in time, and this thread can call no more.
    // UNAVAILABLE: the other side is dead. RESOURCE_EXHAUSTED: it is frozen. INVALID_ARGUMENT: it
    // refused. INTERNAL: the kernel did.
    Result<Received> call(uint32_t handle, uint32_t code, const RawParcel& arguments,
                          std::chrono::milliseconds patience = std::chrono::seconds(30));
    // The kernel's return for a oneway call: BR_TRANSACTION_COMPLETE and others.
    Result<uint32_t> callOneway(uint32_t handle, uint32_t code, const RawParcel& arguments);
    // A call whose reply this thread does not wait for; it can call no more.
    Status callAndLeave(uint32_t handle, uint32_t code, const RawParcel& arguments);

    // Serves what comes in until `done`; false if `patience` ran out first.
    bool serveUntil(const std::function<bool()>& done, std::chrono::milliseconds patience);

    // References to others' objects.
    void acquire(uint32_t handle);
    void release(uint32_t handle);
    void watchDeath(uint32_t handle);

    int descriptor() const { return mFd; }

  private:
    friend class Received;
    Link(int fd, void* mapping, size_t size) : mFd(fd), mMapping(mapping), mSize(size) {}

    struct Answer {
        uint32_t command = 0;
        std::optional<Received> received;
    };
    void put(uint32_t command, const void* payload, size_t size);
    Status flush();
    Status send(uint32_t handle, uint32_t code, uint32_t flags, const RawParcel& arguments);
    // One thing that ends a wait, or nothing when `deadline` passed. Serves what comes meanwhile.
    Result<std::optional<Answer>> next(Clock::time_point deadline);
    void serve(const binder_transaction_data& data);

    const int mFd;
    void* const mMapping;
    const size_t mSize;
    std::mutex mMutex;
    std::map<uint64_t, std::shared_ptr<Handler>> mObjects;
    uint64_t mNextObject = 1;
};

}  // namespace halyard::attacker
