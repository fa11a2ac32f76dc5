// SPDX-License-Identifier: Apache-2.0

#include "harness/device/hwservicemanager/registry.h"

#include <algorithm>
#include <set>
#include <utility>

namespace halyard::device {

using hal::ObjectRef;
using hal::RemoteObject;

namespace {

std::shared_ptr<RemoteObject> asRemote(const ObjectRef& object) {
    const auto* remote = std::get_if<std::shared_ptr<RemoteObject>>(&object);
    return remote == nullptr ? nullptr : *remote;
}

Status exhausted(pid_t pid, size_t most, const char* what) {
    return Status(StatusCode::RESOURCE_EXHAUSTED, "process " + std::to_string(pid) + " may have " +
                                                          std::to_string(most) + " " + what);
}

}  // namespace

Status Registry::checkName(const std::string& what, const std::string& name) const {
    if (name.size() > mLimits.nameLength) {
        return invalidArgument(what + " of " + std::to_string(name.size()) +
                               " characters; there may be " + std::to_string(mLimits.nameLength));
    }
    return {};
}

// ---- Accounts ----------------------------------------------------------------------------------

Result<Registry::Client*> Registry::admit(pid_t pid) {
    const auto found = mClients.find(pid);
    if (found != mClients.end()) {
        return &found->second;
    }
    if (mClients.size() >= mLimits.processes) {
        return Status(StatusCode::RESOURCE_EXHAUSTED,
                      std::to_string(mLimits.processes) + " processes have something registered");
    }
    HALYARD_ASSIGN_OR_RETURN(ClientProcess process, ClientProcess::open(pid));
    return &mClients.emplace(pid, Client{std::move(process)}).first->second;
}

void Registry::removeGone(Removed& removed) {
    for (const auto& [pid, client] : mClients) {
        if (!client.process.gone()) {
            continue;
        }
        std::erase_if(mServices, [&, owner = pid](const auto& entry) {
            if (entry.second.pid == owner) {
                removed.push_back(entry.second.object);
            }
            return entry.second.pid == owner;
        });
        std::erase_if(mListeners, [&, owner = pid](const Listener& listener) {
            if (listener.pid == owner) {
                removed.emplace_back(listener.object);
            }
            return listener.pid == owner;
        });
    }
    settle(removed);
}

void Registry::settle(const Removed& removed) {
    for (const ObjectRef& object : removed) {
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
    for (auto& [pid, client] : mClients) {
        client.registrations = 0;
        client.listeners = 0;
    }
    for (const auto& [key, service] : mServices) {
        ++mClients.at(service.pid).registrations;
    }
    for (const Listener& listener : mListeners) {
        ++mClients.at(listener.pid).listeners;
    }
    std::erase_if(mClients, [](const auto& entry) {
        return entry.second.registrations == 0 && entry.second.listeners == 0;
    });
}

Status Registry::watch(const ObjectRef& object) {
    const std::shared_ptr<RemoteObject> remote = asRemote(object);
    if (remote == nullptr || mWatched.contains(remote.get())) {
        return {};  // one of ours dies with the registry
    }
    Result<uint64_t> link = remote->linkToDeath([registry = weak_from_this(), dead = remote.get()] {
        if (auto alive = registry.lock()) {
            alive->removeDead(dead);
        }
    });
    if (link.ok()) {
        mWatched[remote.get()] = *link;
    }
    return link.status();
}

void Registry::removeDead(const RemoteObject* object) {
    Removed removed;
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
    settle(removed);
}

// ---- Services ----------------------------------------------------------------------------------

Status Registry::add(const std::string& name, const ObjectRef& service,
                     std::span<const std::string> chain, pid_t pid) {
    if (isNull(service) || chain.empty()) {
        return invalidArgument(chain.empty() ? "no interface" : "no service");
    }
    if (chain.size() > mLimits.registrations) {
        return exhausted(pid, mLimits.registrations, "registrations");
    }
    HALYARD_RETURN_IF_ERROR(checkName("an instance's name", name));
    for (const std::string& fqName : chain) {
        HALYARD_RETURN_IF_ERROR(checkName("an interface's name", fqName));
    }
    std::vector<Notification> notifications;
    Removed removed;
    {
        std::lock_guard lock(mMutex);
        removeGone(removed);
        Status inserted = insert(name, service, chain, pid, removed);
        settle(removed);
        HALYARD_RETURN_IF_ERROR(inserted);
        for (const std::string& fqName : chain) {
            for (const Listener& listener : mListeners) {
                if (listener.key.fqName == fqName &&
                    (listener.key.name.empty() || listener.key.name == name)) {
                    notifications.push_back({{fqName, name}, listener.object});
                }
            }
        }
    }
    for (const Notification& notification : notifications) {
        mNotify(notification.listener, notification.key.fqName, notification.key.name, false);
    }
    return {};
}

Status Registry::insert(const std::string& name, const ObjectRef& service,
                        std::span<const std::string> chain, pid_t pid, Removed& removed) {
    HALYARD_ASSIGN_OR_RETURN(Client * client, admit(pid));
    const std::set<std::string> fqNames(chain.begin(), chain.end());
    const auto more = std::count_if(fqNames.begin(), fqNames.end(), [&](const auto& fqName) {
        const auto known = mServices.find({fqName, name});
        return known == mServices.end() || known->second.pid != pid;
    });
    if (client->registrations + static_cast<size_t>(more) > mLimits.registrations) {
        return exhausted(pid, mLimits.registrations, "registrations");
    }
    // A death that is reported at once waits for the lock, and finds what it has to take out.
    HALYARD_RETURN_IF_ERROR(watch(service));
    for (const std::string& fqName : fqNames) {
        Service& entry = mServices[{fqName, name}];
        removed.push_back(std::exchange(entry.object, service));
        entry.pid = pid;
    }
    return {};
}

Status Registry::remove(const std::string& fqName, const std::string& name,
                        const ObjectRef& service, pid_t pid) {
    Removed removed;
    std::lock_guard lock(mMutex);
    const auto found = mServices.find({fqName, name});
    if (isNull(service) || found == mServices.end() || found->second.object != service) {
        return invalidArgument("not registered as " + fqName + "/" + name);
    }
    if (found->second.pid != pid) {
        return invalidArgument(fqName + "/" + name + " is another process's");
    }
    std::erase_if(mServices, [&](const auto& entry) {
        const bool same = entry.first.name == name && entry.second.object == service &&
                          entry.second.pid == pid;
        if (same) {
            removed.push_back(entry.second.object);
        }
        return same;
    });
    settle(removed);
    return {};
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

// ---- Listeners ---------------------------------------------------------------------------------

Status Registry::addListener(const std::string& fqName, const std::string& name,
                             const ObjectRef& listener, pid_t pid) {
    const std::shared_ptr<RemoteObject> remote = asRemote(listener);
    if (remote == nullptr || fqName.empty()) {
        return invalidArgument(fqName.empty() ? "no interface" : "no listener");
    }
    HALYARD_RETURN_IF_ERROR(checkName("an instance's name", name));
    HALYARD_RETURN_IF_ERROR(checkName("an interface's name", fqName));
    std::vector<Key> present;
    Removed removed;
    {
        std::lock_guard lock(mMutex);
        removeGone(removed);
        Status inserted = insertListener({fqName, name}, listener, pid);
        settle(removed);
        HALYARD_RETURN_IF_ERROR(inserted);
        for (const auto& [key, service] : mServices) {
            if (key.fqName == fqName && (name.empty() || key.name == name)) {
                present.push_back(key);
            }
        }
    }
    for (const Key& key : present) {
        mNotify(remote, key.fqName, key.name, true);
    }
    return {};
}

Status Registry::insertListener(const Key& key, const ObjectRef& listener, pid_t pid) {
    HALYARD_ASSIGN_OR_RETURN(Client * client, admit(pid));
    const std::shared_ptr<RemoteObject> remote = asRemote(listener);
    const bool known = std::any_of(mListeners.begin(), mListeners.end(), [&](const Listener& old) {
        return old.object == remote && old.key == key && old.pid == pid;
    });
    if (known) {
        return {};
    }
    if (client->listeners >= mLimits.listeners) {
        return exhausted(pid, mLimits.listeners, "listeners");
    }
    HALYARD_RETURN_IF_ERROR(watch(listener));
    mListeners.push_back({key, remote, pid});
    return {};
}

Status Registry::removeListener(const std::string& fqName, const std::string& name,
                                const ObjectRef& listener, pid_t pid) {
    const std::shared_ptr<RemoteObject> remote = asRemote(listener);
    Removed removed;
    std::lock_guard lock(mMutex);
    std::erase_if(mListeners, [&](const Listener& known) {
        const bool matches = remote != nullptr && known.object == remote && known.pid == pid &&
                             (fqName.empty() || known.key.fqName == fqName) &&
                             (name.empty() || known.key.name == name);
        if (matches) {
            removed.emplace_back(known.object);
        }
        return matches;
    });
    if (removed.empty()) {
        return invalidArgument("no such listener of process " + std::to_string(pid));
    }
    settle(removed);
    return {};
}

void Registry::clear() {
    std::map<Key, Service> services;
    std::vector<Listener> listeners;
    std::lock_guard lock(mMutex);
    std::swap(services, mServices);
    std::swap(listeners, mListeners);
    mClients.clear();
    mWatched.clear();
}

}  // namespace halyard::device
