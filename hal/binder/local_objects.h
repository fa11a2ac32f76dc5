// SPDX-License-Identifier: Apache-2.0
//
// The objects that this process has sent to others, and the references the kernel holds to them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "hal/binder/object.h"

namespace halyard::hal {

// Thread-safe. The kernel knows an object by its address, so an object is kept, and its address
// not used again, until the kernel has dropped its last reference, the weak ones included.
class LocalObjects {
  public:
    // Keeps the local ones among `objects` from before they are sent until the kernel has said
    // whether it refers to them.
    void hold(std::span<const ObjectRef> objects);
    void letGo(std::span<const ObjectRef> objects);

    // Keeps `object` under a name of its own choice until told otherwise.
    void keepAs(uint64_t pointer, std::shared_ptr<LocalObject> object);
    void stopKeepingAs(uint64_t pointer);

    // The object that the kernel calls `pointer`; null if there is none.
    std::shared_ptr<LocalObject> find(uint64_t pointer) const;

    // For BR_INCREFS and BR_ACQUIRE. False: no such object.
    bool addWeak(uint64_t pointer);
    bool addStrong(uint64_t pointer);
    // BR_RELEASE. The object if that was the last strong reference, otherwise null.
    std::shared_ptr<LocalObject> dropStrong(uint64_t pointer);
    // BR_DECREFS. The object if nothing refers to it any more, for the caller to destroy where it
    // likes; otherwise null.
    std::shared_ptr<LocalObject> dropWeak(uint64_t pointer);

    // Lets go of everything; the kernel's references then lead nowhere.
    void clear();
    size_t size() const;

  private:
    struct Entry {
        std::shared_ptr<LocalObject> object;
        size_t held = 0;
        // The kernel keeps at most one of each, but a drop and the next add may be seen by two
        // threads in either order.
        int weak = 0;
        int strong = 0;
    };
    using Entries = std::map<uint64_t, Entry>;
    // Takes the object out if nothing refers to it; to be destroyed after the lock is released.
    std::shared_ptr<LocalObject> takeIfUnused(Entries::iterator entry);

    mutable std::mutex mMutex;
    Entries mEntries;
};

}  // namespace halyard::hal
