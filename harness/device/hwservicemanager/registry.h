// SPDX-License-Identifier: Apache-2.0
//
// Which services are registered under which names, and who wants to hear of new ones.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "hal/binder/object.h"

namespace halyard::device {

// One call of IServiceNotification::onRegistration.
using Notify =
        std::function<void(const std::shared_ptr<hal::RemoteObject>& listener,
                           const std::string& fqName, const std::string& name, bool preexisting)>;

// Thread-safe. Services and listeners that die are taken out. `notify` is called without a lock.
class Registry : public std::enable_shared_from_this<Registry> {
  public:
    explicit Registry(Notify notify) : mNotify(std::move(notify)) {}

    // Registers `service` as name under every interface of `chain`, in place of what was there.
    // False if the chain is empty, the service null or dead.
    bool add(const std::string& name, const hal::ObjectRef& service,
             std::span<const std::string> chain, int32_t pid);
    // Takes `service` out wherever it is registered as name. False if it isn't under fqName.
    bool remove(const std::string& fqName, const std::string& name, const hal::ObjectRef& service);

    // Null if there is none.
    hal::ObjectRef get(const std::string& fqName, const std::string& name) const;
    struct Instance {
        std::string fqName;
        std::string name;
        int32_t pid = 0;
    };
    std::vector<Instance> list() const;

    // An empty name stands for every name. What is there already is told at once.
    bool addListener(const std::string& fqName, const std::string& name,
                     const hal::ObjectRef& listener);
    // Empty names match all. False if nothing matched.
    bool removeListener(const std::string& fqName, const std::string& name,
                        const hal::ObjectRef& listener);

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
        int32_t pid = 0;
    };
    struct Listener {
        Key key;
        std::shared_ptr<hal::RemoteObject> object;
    };

    // Has removeDead() called when the object dies, once however often it is registered. False if
    // it is dead already.
    bool watch(const hal::ObjectRef& object);
    // Ends that for an object that is registered nowhere any more. With the lock held.
    void unwatchUnused(std::span<const hal::ObjectRef> objects);
    void removeDead(const hal::RemoteObject* object);

    const Notify mNotify;
    mutable std::mutex mMutex;
    std::map<Key, Service> mServices;
    std::vector<Listener> mListeners;
    std::map<const hal::RemoteObject*, uint64_t> mWatched;  // links to their deaths
};

}  // namespace halyard::device
