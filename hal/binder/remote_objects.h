// SPDX-License-Identifier: Apache-2.0
//
// The handles that this process holds to other processes' objects, and who wants to know of the
// deaths of their owners.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "hal/binder/commands.h"
#include "hal/binder/kernel.h"
#include "hal/binder/object.h"

namespace halyard::hal {

// Thread-safe. The objects it gives out share it, and through it the kernel.
class RemoteObjects : public std::enable_shared_from_this<RemoteObjects> {
  public:
    explicit RemoteObjects(std::shared_ptr<BinderKernel> kernel) : mKernel(std::move(kernel)) {}

    // The object of a handle in a buffer that is not freed yet; takes a strong reference unless
    // this process has one already. Handle 0 is always there and needs no reference to be called.
    Result<std::shared_ptr<RemoteObject>> get(uint32_t handle);

    // Those who wait for the death that the kernel reports under `cookie`, each to be called once;
    // none if the handle has been let go in the meantime.
    std::vector<std::function<void()>> died(uint64_t cookie);

    // No link is told of deaths any more.
    void clearLinks();

  private:
    class Remote;
    class Watch;
    using Links = std::map<uint64_t, std::function<void()>>;
    struct Entry {
        std::weak_ptr<Remote> object;
        // The one that lets go of the entry when it goes, unless its owner is watched; null once it
        // has gone.
        const Remote* owner = nullptr;
        uint64_t deathCookie = 0;  // 0: the kernel has not been asked
        bool dead = false;
        Links links;    // end with the object
        Links watches;  // each with a weak reference
    };

    // The entry of an object whose owner is alive, of whose death the kernel will tell.
    Result<Entry*> watched(Remote& object);
    Result<uint64_t> link(Remote& object, std::function<void()> onDeath);
    Result<std::unique_ptr<OwnerWatch>> watch(Remote& object, std::function<void()> onDeath);
    void unwatch(uint32_t handle, uint64_t id);
    // Asks no more for the death, in `commands`.
    void forgetDeath(uint32_t handle, const Entry& entry, CommandBuffer& commands);
    // Calls to handle 0 go to the current context manager; but a reference to it is to the one of
    // the moment when it was taken, and has to go before the next one's can be taken.
    Status forgetDeadManager(Remote& object, Entry& entry);
    void unlink(const Remote& object, uint64_t id);
    void letGo(const Remote& object);

    const std::shared_ptr<BinderKernel> mKernel;
    std::mutex mMutex;
    std::map<uint32_t, Entry> mEntries;      // by handle
    std::map<uint64_t, uint32_t> mByCookie;  // handles
    uint64_t mLastCookie = 0;
    uint64_t mLastLink = 0;
};

}  // namespace halyard::hal
