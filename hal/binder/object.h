// SPDX-License-Identifier: Apache-2.0
//
// Binder objects: those this process serves (LocalObject) and those it calls (RemoteObject).

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <variant>

#include "engine/base/status.h"

namespace halyard::hal {

class IncomingCall;

// The caller of a call, as the kernel says.
struct Caller {
    int32_t pid = 0;  // 0 for oneway calls
    uint32_t euid = 0;
};

// status_t values that go on the wire when a call could not be dispatched.
enum class WireStatus : int32_t {
    OK = 0,
    PERMISSION_DENIED = -1,
    BAD_VALUE = -22,
    NOT_ENOUGH_DATA = -61,
    UNKNOWN_TRANSACTION = -74,
    BAD_TYPE = -2147483647,
    UNKNOWN_ERROR = -2147483647 - 1,
};

// Flags of an object, which the kernel is told when the object is sent first. Wires differ in them.
struct ObjectFlags {
    // Whether calls may bring descriptors. Where not, the kernel refuses those that do, and no
    // descriptor of a caller has to be closed, which may block for as long as the caller likes.
    bool takesDescriptors = true;
    // Whether a caller's priority of real time goes with its calls. Kernels other than Android's
    // ignore it.
    bool inheritsRealTime = false;
    // The nice value that calls are served with at most.
    uint8_t mostNice = 0;

    // As they travel.
    uint32_t onTheWire() const;
    bool operator==(const ObjectFlags&) const = default;
};

// An object that other processes call. The kernel's strong references keep it alive: the transport
// holds a shared_ptr from the first time it is sent until the last remote user is gone.
class LocalObject : public std::enable_shared_from_this<LocalObject> {
  public:
    virtual ~LocalObject() = default;
    // Serves one call on a binder thread; several may run at once. For a two-way call that returns
    // OK, the call holds the whole reply, whatever head its wire has included; anything but OK is
    // sent as a bare status. Arguments that were not ended are once it returns OK, and what is left
    // of them makes it BAD_VALUE.
    virtual WireStatus onTransact(IncomingCall& call) = 0;
    // The last remote user let go. Called on a binder thread; the object may still be sent again.
    virtual void onLastRelease() {}
    // Asked when it is sent, or made the context manager.
    virtual ObjectFlags flags() const { return {}; }
    // Itself where it is of that kind, which its class knows by an address of its own; else null. A
    // client may hand in any object that it got from here.
    virtual void* as(const void* /*kind*/) { return nullptr; }
};

// Tells of the death of an object's owner for as long as it lives, and keeps nothing else alive.
class OwnerWatch {
  public:
    virtual ~OwnerWatch() = default;
};

// A handle to another process's object; holds one strong reference for as long as it lives.
// Thread-safe. There is one RemoteObject per handle and process.
class RemoteObject {
  public:
    virtual ~RemoteObject() = default;
    virtual uint32_t handle() const = 0;
    // Calls `onDeath` once, on a binder thread, when the owner dies. The id serves unlinkToDeath.
    // UNAVAILABLE if it is dead already. Handle 0 is the context manager of that moment; if there
    // is none, its death is never reported: make sure afterwards that it answers.
    virtual Result<uint64_t> linkToDeath(std::function<void()> onDeath) = 0;
    virtual void unlinkToDeath(uint64_t id) = 0;
    // The same for longer than the handle is held: with a weak reference only, so that the object
    // may go while its owner is watched. An object that its owner keeps for our sake alone could
    // keep an object of ours for ever.
    virtual Result<std::unique_ptr<OwnerWatch>> watchOwner(std::function<void()> onDeath) = 0;
};

// Null, an object of this process, or a remote one.
using ObjectRef =
        std::variant<std::monostate, std::shared_ptr<LocalObject>, std::shared_ptr<RemoteObject>>;

inline bool isNull(const ObjectRef& object) {
    return std::holds_alternative<std::monostate>(object);
}

}  // namespace halyard::hal
