// SPDX-License-Identifier: Apache-2.0

#include "hal/binder/remote_objects.h"

#include <utility>

#include "engine/base/log.h"
#include "hal/binder/commands.h"

namespace halyard::hal {

class RemoteObjects::Remote final : public RemoteObject {
  public:
    Remote(std::shared_ptr<RemoteObjects> table, uint32_t handle)
        : mTable(std::move(table)), mHandle(handle) {}
    ~Remote() override { mTable->letGo(*this); }
    Remote(const Remote&) = delete;
    Remote& operator=(const Remote&) = delete;

    uint32_t handle() const override { return mHandle; }
    Result<uint64_t> linkToDeath(std::function<void()> onDeath) override {
        return mTable->link(*this, std::move(onDeath));
    }
    void unlinkToDeath(uint64_t id) override { mTable->unlink(*this, id); }
    Result<std::unique_ptr<OwnerWatch>> watchOwner(std::function<void()> onDeath) override {
        return mTable->watch(*this, std::move(onDeath));
    }

    // Whether a kernel reference is ours to drop. Guarded by the table's mutex.
    bool referenced = false;

  private:
    const std::shared_ptr<RemoteObjects> mTable;
    const uint32_t mHandle;
};

class RemoteObjects::Watch final : public OwnerWatch {
  public:
    Watch(std::shared_ptr<RemoteObjects> table, uint32_t handle, uint64_t id)
        : mTable(std::move(table)), mHandle(handle), mId(id) {}
    ~Watch() override { mTable->unwatch(mHandle, mId); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

  private:
    const std::shared_ptr<RemoteObjects> mTable;
    const uint32_t mHandle;
    const uint64_t mId;
};

Result<std::shared_ptr<RemoteObject>> RemoteObjects::get(uint32_t handle) {
    // Outside the lock, in case it has to be destroyed again.
    auto made = std::make_shared<Remote>(shared_from_this(), handle);
    std::shared_ptr<Remote> known;
    std::lock_guard lock(mMutex);
    Entry& entry = mEntries[handle];
    known = entry.object.lock();
    if (known != nullptr) {
        return std::shared_ptr<RemoteObject>(std::move(known));
    }
    if (handle != 0) {
        CommandBuffer commands;
        commands.add(BC_INCREFS, handle);
        commands.add(BC_ACQUIRE, handle);
        HALYARD_RETURN_IF_ERROR(mKernel->write(commands.bytes()));
        made->referenced = true;
    }
    // An earlier object of the handle may be on its way out. Its reference still stands, so what
    // the kernel was asked about the handle does too; who asked is gone.
    entry.object = made;
    entry.owner = made.get();
    entry.links.clear();
    return std::shared_ptr<RemoteObject>(std::move(made));
}

void RemoteObjects::letGo(const Remote& object) {
    const uint32_t handle = object.handle();
    Links links;
    std::lock_guard lock(mMutex);
    CommandBuffer commands;
    if (auto found = mEntries.find(handle);
        found != mEntries.end() && found->second.owner == &object) {
        Entry& entry = found->second;
        std::swap(links, entry.links);
        if (entry.watches.empty()) {
            forgetDeath(handle, entry, commands);
            mEntries.erase(found);
        } else {
            entry.owner = nullptr;
        }
    }
    if (object.referenced) {
        commands.add(BC_RELEASE, handle);
        commands.add(BC_DECREFS, handle);
    }
    if (commands.bytes().empty()) {
        return;
    }
    if (Status sent = mKernel->write(commands.bytes()); !sent.ok()) {
        log(LogLevel::WARNING, sent.withContext("letting go of a handle").toString());
    }
}

void RemoteObjects::forgetDeath(uint32_t handle, const Entry& entry, CommandBuffer& commands) {
    if (entry.deathCookie != 0) {
        commands.add(BC_CLEAR_DEATH_NOTIFICATION,
                     binder_handle_cookie{.handle = handle, .cookie = entry.deathCookie});
        mByCookie.erase(entry.deathCookie);
    }
}

Result<RemoteObjects::Entry*> RemoteObjects::watched(Remote& object) {
    const uint32_t handle = object.handle();
    auto found = mEntries.find(handle);
    if (found == mEntries.end() || found->second.owner != &object) {
        return internalError("binder: handle " + std::to_string(handle) + " is not held");
    }
    Entry& entry = found->second;
    if (entry.dead && handle == 0) {
        HALYARD_RETURN_IF_ERROR(forgetDeadManager(object, entry));
    } else if (entry.dead) {
        return Status(StatusCode::UNAVAILABLE,
                      "binder: the owner of handle " + std::to_string(handle) + " is dead");
    }
    if (entry.deathCookie == 0) {
        CommandBuffer commands;
        if (!object.referenced) {
            // Handle 0: a death can only be reported on a reference.
            commands.add(BC_INCREFS, handle);
            commands.add(BC_ACQUIRE, handle);
        }
        const uint64_t cookie = ++mLastCookie;
        commands.add(BC_REQUEST_DEATH_NOTIFICATION,
                     binder_handle_cookie{.handle = handle, .cookie = cookie});
        HALYARD_RETURN_IF_ERROR(mKernel->write(commands.bytes()));
        object.referenced = true;
        entry.deathCookie = cookie;
        mByCookie[cookie] = handle;
    }
    return &entry;
}

Result<uint64_t> RemoteObjects::link(Remote& object, std::function<void()> onDeath) {
    std::lock_guard lock(mMutex);
    HALYARD_ASSIGN_OR_RETURN(Entry* const entry, watched(object));
    const uint64_t id = ++mLastLink;
    entry->links[id] = std::move(onDeath);
    return id;
}

Result<std::unique_ptr<OwnerWatch>> RemoteObjects::watch(Remote& object,
                                                         std::function<void()> onDeath) {
    const uint32_t handle = object.handle();
    if (handle == 0) {
        return invalidArgument("binder: who is handle 0 changes");
    }
    std::lock_guard lock(mMutex);
    HALYARD_ASSIGN_OR_RETURN(Entry* const entry, watched(object));
    CommandBuffer commands;
    commands.add(BC_INCREFS, handle);
    HALYARD_RETURN_IF_ERROR(mKernel->write(commands.bytes()));
    const uint64_t id = ++mLastLink;
    entry->watches[id] = std::move(onDeath);
    return std::unique_ptr<OwnerWatch>(std::make_unique<Watch>(shared_from_this(), handle, id));
}

void RemoteObjects::unwatch(uint32_t handle, uint64_t id) {
    std::function<void()> watch;
    std::lock_guard lock(mMutex);
    auto found = mEntries.find(handle);
    if (found == mEntries.end()) {
        return;
    }
    Entry& entry = found->second;
    if (auto it = entry.watches.find(id); it != entry.watches.end()) {
        watch = std::move(it->second);
        entry.watches.erase(it);
    }
    CommandBuffer commands;
    if (entry.watches.empty() && entry.owner == nullptr) {
        forgetDeath(handle, entry, commands);
        mEntries.erase(found);
    }
    commands.add(BC_DECREFS, handle);
    if (Status sent = mKernel->write(commands.bytes()); !sent.ok()) {
        log(LogLevel::WARNING, sent.withContext("watching a process no more").toString());
    }
}

Status RemoteObjects::forgetDeadManager(Remote& object, Entry& entry) {
    CommandBuffer commands;
    commands.add(BC_CLEAR_DEATH_NOTIFICATION,
                 binder_handle_cookie{.handle = 0, .cookie = entry.deathCookie});
    commands.add(BC_RELEASE, uint32_t{0});
    commands.add(BC_DECREFS, uint32_t{0});
    HALYARD_RETURN_IF_ERROR(mKernel->write(commands.bytes()));
    mByCookie.erase(entry.deathCookie);
    entry.deathCookie = 0;
    entry.dead = false;
    object.referenced = false;
    return {};
}

void RemoteObjects::unlink(const Remote& object, uint64_t id) {
    std::function<void()> link;
    std::lock_guard lock(mMutex);
    auto found = mEntries.find(object.handle());
    if (found == mEntries.end() || found->second.owner != &object) {
        return;
    }
    if (auto it = found->second.links.find(id); it != found->second.links.end()) {
        link = std::move(it->second);
        found->second.links.erase(it);
    }
}

std::vector<std::function<void()>> RemoteObjects::died(uint64_t cookie) {
    std::vector<std::function<void()>> links;
    std::lock_guard lock(mMutex);
    auto handle = mByCookie.find(cookie);
    if (handle == mByCookie.end()) {
        return links;
    }
    Entry& entry = mEntries[handle->second];
    entry.dead = true;
    for (auto& [id, link] : entry.links) {
        links.push_back(std::move(link));
    }
    entry.links.clear();
    for (auto& [id, watch] : entry.watches) {
        if (watch != nullptr) {
            links.push_back(std::exchange(watch, nullptr));
        }
    }
    return links;
}

void RemoteObjects::clearLinks() {
    std::vector<Links> links;
    std::vector<std::function<void()>> watches;
    std::lock_guard lock(mMutex);
    for (auto& [handle, entry] : mEntries) {
        links.push_back(std::move(entry.links));
        entry.links.clear();
        for (auto& [id, watch] : entry.watches) {
            watches.push_back(std::exchange(watch, nullptr));
        }
    }
}

}  // namespace halyard::hal
