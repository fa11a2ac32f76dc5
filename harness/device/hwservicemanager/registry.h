// SPDX-License-Identifier: Apache-2.0
//
// Which services are registered under which names, and who wants to hear of new ones.

#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "hal/binder/object.h"
#include "harness/device/hwservicemanager/client_process.h"

namespace halyard::device {

// One call of IServiceNotification::onRegistration. Must not wait for the listener.
using Notify =
        std::function<void(const std::shared_ptr<hal::RemoteObject>& listener,
                           const std::string& fqName, const std::string& name, bool preexisting)>;

// What clients may have kept here.
struct RegistryLimits {
    size_t registrations = 256;  // of a process; one for each interface and name
    size_t listeners = 128;      // of a process
    size_t processes = 128;      // that have any of these
    size_t nameLength = 256;     // of an interface's name and of an instance's
};

// Thread-safe. `notify` is called without a lock. What is kept belongs to the process that had it
// registered (`pid`, the caller's) and counts against its limits. It goes with its object; where an
// object of another process was registered, it goes with the registering process too, when the next
// process registers something.
class Registry : public std::enable_shared_from_this<Registry> {
  public:
    explicit Registry(Notify notify, const RegistryLimits& limits = {})
        : mNotify(std::move(notify)), mLimits(limits) {}

    // Registers `service` as name under every interface of `chain`, in place of what was there; all
    // of it or nothing. INVALID_ARGUMENT: null, an empty chain, names too long. UNAVAILABLE: the
    // service or the process is dead. RESOURCE_EXHAUSTED: more than the limits.
    Status add(const std::string& name, const hal::ObjectRef& service,
               std::span<const std::string> chain, pid_t pid);
    // Takes `service` out wherever `pid` has registered it as name. INVALID_ARGUMENT if that is not
    // so under fqName.
    Status remove(const std::string& fqName, const std::string& name, const hal::ObjectRef& service,
                  pid_t pid);

    // Null if there is none.
    hal::ObjectRef get(const std::string& fqName, const std::string& name) const;
    struct Instance {
        std::string fqName;
        std::string name;
        pid_t pid = 0;
    };
    std::vector<Instance> list() const;

    // An empty name stands for every name. What is there already is told at once. Fails as add()
    // does.
    Status addListener(const std::string& fqName, const std::string& name,
                       const hal::ObjectRef& listener, pid_t pid);
    // Empty names match all. INVALID_ARGUMENT if nothing of `pid` matched.
    Status removeListener(const std::string& fqName, const std::string& name,
                          const hal::ObjectRef& listener, pid_t pid);

    // Forgets everything.
    void clear();

  private:
    struct Key {
        std::string fqName;
        std::string name;
        bool operator==(const Key& other) const = default;
        bool operator<(const Key& other) const {
            return std::tie(fqName, name) < std::tie(other.fqName, other.name);
        }
    };
    struct Service {
        hal::ObjectRef object;
        pid_t pid = 0;
    };
    struct Listener {
        Key key;
        std::shared_ptr<hal::RemoteObject> object;
        pid_t pid = 0;
    };
    struct Client {
        ClientProcess process;
        size_t registrations = 0;
        size_t listeners = 0;
    };
    struct Notification {
        Key key;
        std::shared_ptr<hal::RemoteObject> listener;
    };
    // Objects are let go of outside the lock: what is taken out is handed up to who took it.
    using Removed = std::vector<hal::ObjectRef>;

    Status checkName(const std::string& what, const std::string& name) const;

    // ---- with the lock held --------------------------------------------------------------------

    Status insert(const std::string& name, const hal::ObjectRef& service,
                  std::span<const std::string> chain, pid_t pid, Removed& removed);
    Status insertListener(const Key& key, const hal::ObjectRef& listener, pid_t pid);
    // The account of a process, a new one if it has none yet.
    Result<Client*> admit(pid_t pid);
    // Takes out what processes that are gone had registered.
    void removeGone(Removed& removed);
    // Has removeDead() called when the object dies, once however often it is registered.
    // UNAVAILABLE if it is dead already.
    Status watch(const hal::ObjectRef& object);
    // After a change: ends watches of objects that are registered nowhere any more, counts what
    // each process has, and forgets those that have nothing.
    void settle(const Removed& removed);

    void removeDead(const hal::RemoteObject* object);

    const Notify mNotify;
    const RegistryLimits mLimits;
    mutable std::mutex mMutex;
    std::map<Key, Service> mServices;
    std::vector<Listener> mListeners;
    std::map<pid_t, Client> mClients;
    std::map<const hal::RemoteObject*, uint64_t> mWatched;  // links to their deaths
};

}  // namespace halyard::device
