// SPDX-License-Identifier: Apache-2.0
//
// Which services are registered under which names, and who wants to hear of new ones.

#pragma once

#include <sys/types.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "hal/binder/object.h"
#include "harness/device/managers/client_process.h"

namespace halyard::device {

// A wire's facts about a service beside its object, which are given out with it.
struct ServiceNote {
    int32_t stability = 0;     // the word that stands behind AIDL's objects
    int32_t dumpPriority = 0;  // of AIDL's, in which lists it stands
    bool operator==(const ServiceNote&) const = default;
};

// A service under one of its names.
struct Instance {
    std::string fqName;
    std::string name;
    hal::ObjectRef object;  // null: there is none
    pid_t pid = 0;
    ServiceNote note;
};

// One call that tells a listener of a service, which was there already or is new. Must not wait for
// the listener.
using Notify = std::function<void(const std::shared_ptr<hal::RemoteObject>& listener,
                                  const Instance& instance, bool preexisting)>;

// Limits on the entries that clients have kept here. Of `processes` and of `shared` a user may have
// half of what the others leave, so that there is some for one who has none yet, however many
// processes of others there are.
struct RegistryLimits {
    size_t registrations = 256;  // of a process; one for each interface and name
    size_t listeners = 128;      // of a process
    size_t own = 16;             // of both together, that every process has room for
    size_t shared = 16384;       // beyond those, of all processes together
    size_t processes = 2048;     // that have any of these
    size_t nameLength = 256;     // of an interface's name and of an instance's
};

// Who has something kept, as the kernel says: a process, and its user at that time. The processes
// of one user that have no id here (0: another pid namespace) are taken for one.
struct Owner {
    pid_t pid = 0;
    uid_t uid = 0;
    auto operator<=>(const Owner& other) const = default;
};

// Whether what is registered has to fit its user's share. What the device itself declares does not.
enum class Room : uint8_t { SHARED, RESERVED };

// Thread-safe. `notify` is called without a lock. What is kept belongs to the process that had it
// registered, and counts against its limits and its user's. It goes with its object; where an
// object of another process was registered, it goes with the registering process too, when the next
// process registers something.
//
// A name belongs to its owner for as long as that lives: no other process takes it over, of
// whichever user it is, under any interface but HIDL's IBase, which all services have. (Android's
// managers leave that to SELinux, and replace whatever is there.)
//
// AIDL's services have no interface but their name: that is the fqName, and the other name is
// empty.
class Registry : public std::enable_shared_from_this<Registry> {
  public:
    explicit Registry(Notify notify, const RegistryLimits& limits = {})
        : mNotify(std::move(notify)), mLimits(limits) {}

    // Registers `service` as name under every interface of `chain`, in place of what the owner had
    // there; all of it or nothing. INVALID_ARGUMENT: null, an empty chain, names too long, a name
    // of another process. UNAVAILABLE: the service or the process is dead. RESOURCE_EXHAUSTED: more
    // than the limits.
    Status add(const std::string& name, const hal::ObjectRef& service,
               std::span<const std::string> chain, const Owner& owner, Room room = Room::SHARED,
               const ServiceNote& note = {});
    // Takes `service` out wherever `owner` has registered it as name. INVALID_ARGUMENT if that is
    // not so under fqName.
    Status remove(const std::string& fqName, const std::string& name, const hal::ObjectRef& service,
                  const Owner& owner);

    Instance find(const std::string& fqName, const std::string& name) const;
    // Its object alone.
    hal::ObjectRef get(const std::string& fqName, const std::string& name) const {
        return find(fqName, name).object;
    }
    std::vector<Instance> list() const;

    // An empty name stands for every name. What is there already is told at once. Fails as add()
    // does.
    Status addListener(const std::string& fqName, const std::string& name,
                       const hal::ObjectRef& listener, const Owner& owner);
    // Empty names match all. INVALID_ARGUMENT if nothing of the owner's matched.
    Status removeListener(const std::string& fqName, const std::string& name,
                          const hal::ObjectRef& listener, const Owner& owner);

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
        Owner owner;
        ServiceNote note;
    };
    struct Listener {
        Key key;
        std::shared_ptr<hal::RemoteObject> object;
        Owner owner;
    };
    struct Client {
        ClientProcess process;
        size_t registrations = 0;
        size_t listeners = 0;
    };
    // A user's processes, and what they have beyond what each has room for.
    struct Share {
        size_t processes = 0;
        size_t entries = 0;
    };
    struct Watch {
        uint64_t link = 0;
        size_t uses = 0;  // registrations and listeners
    };
    struct Notification {
        Instance instance;
        std::shared_ptr<hal::RemoteObject> listener;
    };
    static Instance instanceOf(const Key& key, const Service& service);
    // Objects are let go of outside the lock: what is taken out is handed up to who took it.
    using Removed = std::vector<hal::ObjectRef>;

    Status checkName(const std::string& what, const std::string& name) const;

    // ---- with the lock held --------------------------------------------------------------------

    Status insert(const std::string& name, const Service& service,
                  std::span<const std::string> chain, Room room, Removed& removed);
    Status insertListener(const Key& key, const hal::ObjectRef& listener, const Owner& owner);
    // The account of a process, a new one if it has none yet. RESOURCE_EXHAUSTED if there is no
    // room for `more` registrations and listeners.
    Result<Client*> admit(const Owner& owner, size_t more, Room room);
    // Ends the account of a process that has nothing registered.
    void dismissIfIdle(const Owner& owner);
    // Counts one more or one fewer of an owner's, and no fewer than it has.
    void count(const Owner& owner, size_t Client::*what, bool more);

    // Has removeDead() called when the object dies, once however often it is registered.
    // UNAVAILABLE if it is dead already.
    Status watch(const hal::ObjectRef& object);
    void stopWatching(const hal::ObjectRef& object);

    // Take out the services and the listeners that `isGone` says; true if there were any.
    bool removeServices(const std::function<bool(const Key&, const Service&)>& isGone,
                        Removed& removed);
    bool removeListeners(const std::function<bool(const Listener&)>& isGone, Removed& removed);
    // Takes out what processes that are gone had registered.
    void removeGone(Removed& removed);

    void removeDead(const hal::RemoteObject* object);

    const Notify mNotify;
    const RegistryLimits mLimits;
    mutable std::mutex mMutex;
    std::map<Key, Service> mServices;
    std::vector<Listener> mListeners;
    std::map<Owner, Client> mClients;
    ProcessDeaths mDeaths;           // of those in it,
    std::set<Owner> mAskedOneByOne;  // but for these
    std::map<uid_t, Share> mShares;
    Share mTaken;  // of all users together
    std::map<const hal::RemoteObject*, Watch> mWatched;
};

}  // namespace halyard::device
