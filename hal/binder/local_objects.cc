// SPDX-License-Identifier: Apache-2.0

#include "hal/binder/local_objects.h"

#include <utility>
#include <vector>

namespace halyard::hal {

namespace {

uint64_t pointerOf(const std::shared_ptr<LocalObject>& object) {
    return reinterpret_cast<uintptr_t>(object.get());
}

}  // namespace

std::shared_ptr<LocalObject> LocalObjects::takeIfUnused(Entries::iterator entry) {
    const Entry& state = entry->second;
    if (state.held != 0 || state.weak != 0 || state.strong != 0) {
        return nullptr;
    }
    std::shared_ptr<LocalObject> object = std::move(entry->second.object);
    mEntries.erase(entry);
    return object;
}

void LocalObjects::hold(std::span<const ObjectRef> objects) {
    std::lock_guard lock(mMutex);
    for (const ObjectRef& object : objects) {
        if (const auto* local = std::get_if<std::shared_ptr<LocalObject>>(&object)) {
            Entry& entry = mEntries[pointerOf(*local)];
            entry.object = *local;
            ++entry.held;
        }
    }
}

void LocalObjects::letGo(std::span<const ObjectRef> objects) {
    std::vector<std::shared_ptr<LocalObject>> unused;
    std::lock_guard lock(mMutex);
    for (const ObjectRef& object : objects) {
        if (const auto* local = std::get_if<std::shared_ptr<LocalObject>>(&object)) {
            if (auto entry = mEntries.find(pointerOf(*local)); entry != mEntries.end()) {
                --entry->second.held;
                unused.push_back(takeIfUnused(entry));
            }
        }
    }
}

void LocalObjects::keepAs(uint64_t pointer, std::shared_ptr<LocalObject> object) {
    std::lock_guard lock(mMutex);
    Entry& entry = mEntries[pointer];
    entry.object = std::move(object);
    ++entry.held;
}

void LocalObjects::stopKeepingAs(uint64_t pointer) {
    std::shared_ptr<LocalObject> unused;
    std::lock_guard lock(mMutex);
    if (auto entry = mEntries.find(pointer); entry != mEntries.end()) {
        --entry->second.held;
        unused = takeIfUnused(entry);
    }
}

std::shared_ptr<LocalObject> LocalObjects::find(uint64_t pointer) const {
    std::lock_guard lock(mMutex);
    auto entry = mEntries.find(pointer);
    return entry == mEntries.end() ? nullptr : entry->second.object;
}

bool LocalObjects::addWeak(uint64_t pointer) {
    std::lock_guard lock(mMutex);
    auto entry = mEntries.find(pointer);
    if (entry == mEntries.end()) {
        return false;
    }
    ++entry->second.weak;
    return true;
}

bool LocalObjects::addStrong(uint64_t pointer) {
    std::lock_guard lock(mMutex);
    auto entry = mEntries.find(pointer);
    if (entry == mEntries.end()) {
        return false;
    }
    ++entry->second.strong;
    return true;
}

std::shared_ptr<LocalObject> LocalObjects::dropStrong(uint64_t pointer) {
    std::lock_guard lock(mMutex);
    auto entry = mEntries.find(pointer);
    if (entry == mEntries.end()) {
        return nullptr;
    }
    std::shared_ptr<LocalObject> object = entry->second.object;
    bool last = --entry->second.strong == 0;
    takeIfUnused(entry);
    return last ? object : nullptr;
}

std::shared_ptr<LocalObject> LocalObjects::dropWeak(uint64_t pointer) {
    std::lock_guard lock(mMutex);
    auto entry = mEntries.find(pointer);
    if (entry == mEntries.end()) {
        return nullptr;
    }
    --entry->second.weak;
    return takeIfUnused(entry);
}

void LocalObjects::clear() {
    Entries entries;
    std::lock_guard lock(mMutex);
    std::swap(entries, mEntries);
}

size_t LocalObjects::size() const {
    std::lock_guard lock(mMutex);
    return mEntries.size();
}

}  // namespace halyard::hal
