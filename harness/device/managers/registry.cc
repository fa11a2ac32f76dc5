// SPDX-License-Identifier: Apache-2.0

#include "harness/device/managers/registry.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace halyard::device {

using hal::ObjectRef;
using hal::RemoteObject;

namespace {

// Every service has it, so that as an interface it has no owner: it goes to the last process that
// came.
constexpr std::string_view kEveryonesBase = "android.hidl.base@1.0::IBase";

std::shared_ptr<RemoteObject> asRemote(const ObjectRef& object) {
    const auto* remote = std::get_if<std::shared_ptr<RemoteObject>>(&object);
    return remote == nullptr ? nullptr : *remote;
}

Status exhausted(const Owner& owner, size_t most, const char* what) {
    return Status(StatusCode::RESOURCE_EXHAUSTED, "process " + std::to_string(owner.pid) +
                                                          " may have " + std::to_string(most) +
                                                          " " + what);
}

// Whether a user who has `mine` of `limit` may have `more` yet, others having the rest of `taken`.
bool fitsShare(size_t mine, size_t more, size_t taken, size_t limit) {
    const size_t others = taken - mine;
    return mine + more <= (limit - std::min(others, limit) + 1) / 2;
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

Result<Registry::Client*> Registry::admit(const Owner& owner, size_t more, Room room) {
    const auto found = mClients.find(owner);
    const size_t has =
            found == mClients.end() ? 0 : found->second.registrations + found->second.listeners;
    const auto beyond = [&](size_t entries) { return entries - std::min(entries, mLimits.own); };
    Share share;
    if (const auto known = mShares.find(owner.uid); known != mShares.end()) {
        share = known->second;
    }
    if (room == Room::SHARED) {
        const std::string user = "user " + std::to_string(owner.uid);
        const size_t entries = beyond(has + more) - beyond(has);
        if (entries > 0 && !fitsShare(share.entries, entries, mTaken.entries, mLimits.shared)) {
            return Status(StatusCode::RESOURCE_EXHAUSTED,
                          user + " has its share of all names and listeners");
        }
        if (found == mClients.end() &&
            !fitsShare(share.processes, 1, mTaken.processes, mLimits.processes)) {
            return Status(StatusCode::RESOURCE_EXHAUSTED,
                          "as many processes of " + user + " as may have something registered");
        }
    }
    if (found != mClients.end()) {
        return &found->second;
    }
    HALYARD_ASSIGN_OR_RETURN(ClientProcess process, ClientProcess::open(owner.pid));
    ++mShares[owner.uid].processes;
    ++mTaken.processes;
    Client& client = mClients.emplace(owner, Client{std::move(process)}).first->second;
    const uint64_t id = static_cast<uint64_t>(owner.pid) << 32 | owner.uid;
    if (!mDeaths.add(client.process, id)) {
        mAskedOneByOne.insert(owner);
    }
    return &client;
}

void Registry::dismissIfIdle(const Owner& owner) {
    const auto found = mClients.find(owner);
    if (found == mClients.end() || found->second.registrations + found->second.listeners > 0) {
        return;
    }
    mDeaths.remove(found->second.process);
    mAskedOneByOne.erase(owner);
    mClients.erase(found);
    --mTaken.processes;
    const auto share = mShares.find(owner.uid);
    if (--share->second.processes == 0) {
        mShares.erase(share);
    }
}

void Registry::count(const Owner& owner, size_t Client::*what, bool more) {
    Client& client = mClients.at(owner);
    const auto beyond = [&] {
        const size_t entries = client.registrations + client.listeners;
        return entries - std::min(entries, mLimits.own);
    };
    Share& share = mShares.at(owner.uid);
    for (Share* each : {&share, &mTaken}) {
        each->entries -= beyond();
    }
    client.*what += more ? 1 : size_t(-1);
    for (Share* each : {&share, &mTaken}) {
        each->entries += beyond();
    }
    dismissIfIdle(owner);
}

Status Registry::watch(const ObjectRef& object) {
    const std::shared_ptr<RemoteObject> remote = asRemote(object);
    if (remote == nullptr) {
        return {};  // one of ours dies with the registry
    }
    if (const auto watched = mWatched.find(remote.get()); watched != mWatched.end()) {
        ++watched->second.uses;
        return {};
    }
    Result<uint64_t> link = remote->linkToDeath([registry = weak_from_this(), dead = remote.get()] {
        if (auto alive = registry.lock()) {
            alive->removeDead(dead);
        }
    });
    if (link.ok()) {
        mWatched[remote.get()] = {.link = *link, .uses = 1};
    }
    return link.status();
}

void Registry::stopWatching(const ObjectRef& object) {
    const std::shared_ptr<RemoteObject> remote = asRemote(object);
    const auto watched = mWatched.find(remote.get());
    if (watched != mWatched.end() && --watched->second.uses == 0) {
        remote->unlinkToDeath(watched->second.link);
        mWatched.erase(watched);
    }
}

bool Registry::removeServices(const std::function<bool(const Key&, const Service&)>& isGone,
                              Removed& removed) {
    bool any = false;
    for (auto entry = mServices.begin(); entry != mServices.end();) {
        if (!isGone(entry->first, entry->second)) {
            ++entry;
            continue;
        }
        any = true;
        stopWatching(entry->second.object);
        count(entry->second.owner, &Client::registrations, false);
        removed.push_back(std::move(entry->second.object));
        entry = mServices.erase(entry);
    }
    return any;
}

bool Registry::removeListeners(const std::function<bool(const Listener&)>& isGone,
                               Removed& removed) {
    return std::erase_if(mListeners, [&](const Listener& listener) {
               if (!isGone(listener)) {
                   return false;
               }
               stopWatching(listener.object);
               count(listener.owner, &Client::listeners, false);
               removed.emplace_back(listener.object);
               return true;
           }) > 0;
}

void Registry::removeGone(Removed& removed) {
    std::set<Owner> gone;
    for (const Owner& owner : mAskedOneByOne) {
        if (mClients.at(owner).process.gone()) {
            gone.insert(owner);
        }
    }
    std::vector<uint64_t> dead = mDeaths.some();
    while (!gone.empty() || !dead.empty()) {
        for (const uint64_t id : dead) {
            gone.insert({.pid = static_cast<pid_t>(id >> 32), .uid = static_cast<uid_t>(id)});
        }
        removeServices([&](const Key&, const Service& one) { return gone.contains(one.owner); },
                       removed);
        removeListeners([&](const Listener& one) { return gone.contains(one.owner); }, removed);
        gone.clear();
        // With their accounts the dead are forgotten.
        dead = mDeaths.some();
    }
}

void Registry::removeDead(const RemoteObject* object) {
    Removed removed;
    std::lock_guard lock(mMutex);
    mWatched.erase(object);
    removeServices(
            [&](const Key&, const Service& one) { return asRemote(one.object).get() == object; },
            removed);
    removeListeners([&](const Listener& one) { return one.object.get() == object; }, removed);
}

// ---- Services ----------------------------------------------------------------------------------

Status Registry::add(const std::string& name, const ObjectRef& service,
                     std::span<const std::string> chain, const Owner& owner, Room room,
                     const ServiceNote& note) {
    if (isNull(service) || chain.empty()) {
        return invalidArgument(chain.empty() ? "no interface" : "no service");
    }
    if (chain.size() > mLimits.registrations) {
        return exhausted(owner, mLimits.registrations, "registrations");
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
        const Service added = {.object = service, .owner = owner, .note = note};
        Status inserted = insert(name, added, chain, room, removed);
        dismissIfIdle(owner);
        HALYARD_RETURN_IF_ERROR(inserted);
        for (const std::string& fqName : chain) {
            for (const Listener& listener : mListeners) {
                if (listener.key.fqName == fqName &&
                    (listener.key.name.empty() || listener.key.name == name)) {
                    notifications.push_back({instanceOf({fqName, name}, added), listener.object});
                }
            }
        }
    }
    for (const Notification& notification : notifications) {
        mNotify(notification.listener, notification.instance, false);
    }
    return {};
}

Status Registry::insert(const std::string& name, const Service& service,
                        std::span<const std::string> chain, Room room, Removed& removed) {
    const Owner& owner = service.owner;
    const std::set<std::string> fqNames(chain.begin(), chain.end());
    size_t more = 0;
    for (const std::string& fqName : fqNames) {
        const auto known = mServices.find({fqName, name});
        const bool another = known != mServices.end() && known->second.owner != owner;
        if (another && fqName != kEveryonesBase) {
            return invalidArgument(fqName + "/" + name + " is that of process " +
                                   std::to_string(known->second.owner.pid) + ", which lives");
        }
        more += another || known == mServices.end() ? 1 : 0;
    }
    HALYARD_ASSIGN_OR_RETURN(const Client* client, admit(owner, more, room));
    if (client->registrations + more > mLimits.registrations) {
        return exhausted(owner, mLimits.registrations, "registrations");
    }
    for (const std::string& fqName : fqNames) {
        // The first alone can fail. A death that is reported at once waits for the lock, and finds
        // what it has to take out.
        HALYARD_RETURN_IF_ERROR(watch(service.object));
        // Before what it may replace, which may be all that the owner has.
        count(owner, &Client::registrations, true);
        const auto [entry, isNew] = mServices.try_emplace({fqName, name});
        if (!isNew) {
            stopWatching(entry->second.object);
            count(entry->second.owner, &Client::registrations, false);
        }
        removed.push_back(std::exchange(entry->second, service).object);
    }
    return {};
}

Status Registry::remove(const std::string& fqName, const std::string& name,
                        const ObjectRef& service, const Owner& owner) {
    Removed removed;
    std::lock_guard lock(mMutex);
    const auto found = mServices.find({fqName, name});
    if (isNull(service) || found == mServices.end() || found->second.object != service) {
        return invalidArgument("not registered as " + fqName + "/" + name);
    }
    if (found->second.owner != owner) {
        return invalidArgument(fqName + "/" + name + " is another process's");
    }
    removeServices(
            [&](const Key& key, const Service& one) {
                return key.name == name && one.object == service && one.owner == owner;
            },
            removed);
    return {};
}

Instance Registry::instanceOf(const Key& key, const Service& service) {
    return {.fqName = key.fqName,
            .name = key.name,
            .object = service.object,
            .pid = service.owner.pid,
            .note = service.note};
}

Instance Registry::find(const std::string& fqName, const std::string& name) const {
    std::lock_guard lock(mMutex);
    const auto found = mServices.find({fqName, name});
    return found == mServices.end() ? Instance() : instanceOf(found->first, found->second);
}

std::vector<Instance> Registry::list() const {
    std::vector<Instance> instances;
    std::lock_guard lock(mMutex);
    for (const auto& [key, service] : mServices) {
        instances.push_back(instanceOf(key, service));
    }
    return instances;
}

// ---- Listeners ---------------------------------------------------------------------------------

Status Registry::addListener(const std::string& fqName, const std::string& name,
                             const ObjectRef& listener, const Owner& owner) {
    const std::shared_ptr<RemoteObject> remote = asRemote(listener);
    if (remote == nullptr || fqName.empty()) {
        return invalidArgument(fqName.empty() ? "no interface" : "no listener");
    }
    HALYARD_RETURN_IF_ERROR(checkName("an instance's name", name));
    HALYARD_RETURN_IF_ERROR(checkName("an interface's name", fqName));
    std::vector<Instance> present;
    Removed removed;
    {
        std::lock_guard lock(mMutex);
        removeGone(removed);
        Status inserted = insertListener({fqName, name}, listener, owner);
        dismissIfIdle(owner);
        HALYARD_RETURN_IF_ERROR(inserted);
        for (const auto& [key, service] : mServices) {
            if (key.fqName == fqName && (name.empty() || key.name == name)) {
                present.push_back(instanceOf(key, service));
            }
        }
    }
    for (const Instance& instance : present) {
        mNotify(remote, instance, true);
    }
    return {};
}

Status Registry::insertListener(const Key& key, const ObjectRef& listener, const Owner& owner) {
    const std::shared_ptr<RemoteObject> remote = asRemote(listener);
    const bool known = std::any_of(mListeners.begin(), mListeners.end(), [&](const Listener& old) {
        return old.object == remote && old.key == key && old.owner == owner;
    });
    if (known) {
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(const Client* client, admit(owner, 1, Room::SHARED));
    if (client->listeners >= mLimits.listeners) {
        return exhausted(owner, mLimits.listeners, "listeners");
    }
    HALYARD_RETURN_IF_ERROR(watch(listener));
    mListeners.push_back({key, remote, owner});
    count(owner, &Client::listeners, true);
    return {};
}

Status Registry::removeListener(const std::string& fqName, const std::string& name,
                                const ObjectRef& listener, const Owner& owner) {
    const std::shared_ptr<RemoteObject> remote = asRemote(listener);
    Removed removed;
    std::lock_guard lock(mMutex);
    const bool any = removeListeners(
            [&](const Listener& known) {
                return remote != nullptr && known.object == remote && known.owner == owner &&
                       (fqName.empty() || known.key.fqName == fqName) &&
                       (name.empty() || known.key.name == name);
            },
            removed);
    return any ? Status()
               : invalidArgument("no such listener of process " + std::to_string(owner.pid));
}

void Registry::clear() {
    std::map<Key, Service> services;
    std::vector<Listener> listeners;
    std::lock_guard lock(mMutex);
    std::swap(services, mServices);
    std::swap(listeners, mListeners);
    for (const auto& [owner, client] : mClients) {
        mDeaths.remove(client.process);
    }
    mClients.clear();
    mAskedOneByOne.clear();
    mShares.clear();
    mTaken = {};
    mWatched.clear();
}

}  // namespace halyard::device
