// SPDX-License-Identifier: Apache-2.0

#include "harness/device/hwservicemanager/registry.h"

#include <algorithm>
#include <utility>

namespace halyard::device {

using hal::ObjectRef;
using hal::RemoteObject;

namespace {

std::shared_ptr<RemoteObject> asRemote(const ObjectRef& object) {
    const auto* remote = std::get_if<std::shared_ptr<RemoteObject>>(&object);
    return remote == nullptr ? nullptr : *remote;
}

}  // namespace

bool Registry::watch(const ObjectRef& object) {
    const std::shared_ptr<RemoteObject> remote = asRemote(object);
    if (remote == nullptr) {
        return true;  // ours: it dies with the registry
    }
    std::lock_guard lock(mMutex);
    if (mWatched.contains(remote.get())) {
        return true;
    }
    Result<uint64_t> link = remote->linkToDeath([registry = weak_from_this(), dead = remote.get()] {
        if (auto alive = registry.lock()) {
            alive->removeDead(dead);
        }
    });
    if (link.ok()) {
        mWatched[remote.get()] = *link;
    }
    return link.ok();
}

void Registry::unwatchUnused(std::span<const ObjectRef> objects) {
    for (const ObjectRef& object : objects) {
        const std::shared_ptr<RemoteObject> remote = asRemote(object);
        const auto watched = mWatched.find(remote.get());
        const bool used =
                std::any_of(mServices.begin(), mServices.end(),
                            [&](const auto& entry) { return entry.second.object == object; }) ||
                std::any_of(mListeners.begin(), mListeners.end(),
                            [&](const Listener& known) { return known.object == remote; });
        if (watched != mWatched.end() && !used) {
            remote->unlinkToDeath(watched->second);
            mWatched.erase(watched);
        }
    }
}

void Registry::removeDead(const RemoteObject* object) {
    // Objects are let go of outside the lock.
    std::vector<ObjectRef> removed;
    std::lock_guard lock(mMutex);
    mWatched.erase(object);
    std::erase_if(mServices, [&](const auto& entry) {
        const bool dead = asRemote(entry.second.object).get() == object;
        if (dead) {
            removed.push_back(entry.second.object);
        }
        return dead;
    });
    std::erase_if(mListeners, [&](const Listener& listener) {
        const bool dead = listener.object.get() == object;
        if (dead) {
            removed.emplace_back(listener.object);
        }
        return dead;
    });
}

bool Registry::add(const std::string& name, const ObjectRef& service,
                   std::span<const std::string> chain, int32_t pid) {
    if (isNull(service) || chain.empty()) {
        return false;
    }
    struct Notification {
        Key key;
        std::shared_ptr<RemoteObject> listener;
    };
    std::vector<Notification> notifications;
    std::vector<ObjectRef> replaced;
    {
        std::lock_guard lock(mMutex);
        for (const std::string& fqName : chain) {
            const Key key{fqName, name};
            Service& entry = mServices[key];
            replaced.push_back(std::exchange(entry.object, service));
            entry.pid = pid;
            for (const Listener& listener : mListeners) {
                if (listener.key.fqName == fqName &&
                    (listener.key.name.empty() || listener.key.name == name)) {
                    notifications.push_back({key, listener.object});
                }
            }
        }
        unwatchUnused(replaced);
    }
    // Only now: a death that is reported at once must find what it has to take out.
    if (!watch(service)) {
        removeDead(asRemote(service).get());
        return false;
    }
    for (const Notification& notification : notifications) {
        mNotify(notification.listener, notification.key.fqName, notification.key.name, false);
    }
    return true;
}

bool Registry::remove(const std::string& fqName, const std::string& name,
                      const ObjectRef& service) {
    std::vector<ObjectRef> removed;
    std::lock_guard lock(mMutex);
    const auto found = mServices.find({fqName, name});
    if (isNull(service) || found == mServices.end() || found->second.object != service) {
        return false;
    }
    std::erase_if(mServices, [&](const auto& entry) {
        const bool same = entry.first.name == name && entry.second.object == service;
        if (same) {
            removed.push_back(entry.second.object);
        }
        return same;
    });
    unwatchUnused(removed);
    return true;
}

ObjectRef Registry::get(const std::string& fqName, const std::string& name) const {
    std::lock_guard lock(mMutex);
    const auto found = mServices.find({fqName, name});
    return found == mServices.end() ? ObjectRef() : found->second.object;
}

std::vector<Registry::Instance> Registry::list() const {
    std::vector<Instance> instances;
    std::lock_guard lock(mMutex);
    for (const auto& [key, service] : mServices) {
        instances.push_back({key.fqName, key.name, service.pid});
    }
    return instances;
}

bool Registry::addListener(const std::string& fqName, const std::string& name,
                           const ObjectRef& listener) {
    const std::shared_ptr<RemoteObject> remote = asRemote(listener);
    if (remote == nullptr || fqName.empty()) {
        return false;
    }
    std::vector<Key> present;
    {
        std::lock_guard lock(mMutex);
        std::erase_if(mListeners, [&](const Listener& known) {
            return known.object == remote && known.key == Key{fqName, name};
        });
        mListeners.push_back({{fqName, name}, remote});
        for (const auto& [key, service] : mServices) {
            if (key.fqName == fqName && (name.empty() || key.name == name)) {
                present.push_back(key);
            }
        }
    }
    if (!watch(listener)) {
        removeDead(remote.get());
        return false;
    }
    for (const Key& key : present) {
        mNotify(remote, key.fqName, key.name, true);
    }
    return true;
}

bool Registry::removeListener(const std::string& fqName, const std::string& name,
                              const ObjectRef& listener) {
    const std::shared_ptr<RemoteObject> remote = asRemote(listener);
    std::vector<ObjectRef> removed;
    std::lock_guard lock(mMutex);
    std::erase_if(mListeners, [&](const Listener& known) {
        const bool matches = known.object == remote && remote != nullptr &&
                             (fqName.empty() || known.key.fqName == fqName) &&
                             (name.empty() || known.key.name == name);
        if (matches) {
            removed.emplace_back(known.object);
        }
        return matches;
    });
    unwatchUnused(removed);
    return !removed.empty();
}

void Registry::clear() {
    std::map<Key, Service> services;
    std::vector<Listener> listeners;
    std::lock_guard lock(mMutex);
    std::swap(services, mServices);
    std::swap(listeners, mListeners);
    mWatched.clear();
}

}  // namespace halyard::device
