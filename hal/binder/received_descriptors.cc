// SPDX-License-Identifier: Apache-2.0

#include "hal/binder/received_descriptors.h"

#include <linux/android/binder.h>

#include <cstring>
#include <limits>
#include <string>
#include <utility>

namespace halyard::hal {

ReceivedDescriptors::ReceivedDescriptors(std::span<const uint8_t> data,
                                         std::span<const uint64_t> offsets) {
    const auto load = [&](uint64_t offset, auto& object) {
        if (data.size() < sizeof(object) || offset > data.size() - sizeof(object)) {
            return false;
        }
        std::memcpy(&object, data.data() + offset, sizeof(object));
        return true;
    };
    for (const uint64_t offset : offsets) {
        binder_object_header header = {};
        binder_fd_object single = {};
        binder_fd_array_object array = {};
        if (!load(offset, header)) {
            continue;
        }
        if (header.type == BINDER_TYPE_FD && load(offset, single)) {
            ++mCount;
            mOwned[offset].reset(static_cast<int>(single.fd));
        } else if (header.type == BINDER_TYPE_FDA && load(offset, array)) {
            const uint64_t room = std::numeric_limits<uint64_t>::max() - mCount;
            mCount += array.num_fds < room ? array.num_fds : room;
        }
    }
}

Result<FileDescriptor> ReceivedDescriptors::take(uint64_t offset) {
    const auto found = mOwned.find(offset);
    if (found == mOwned.end()) {
        return invalidArgument("parcel: no descriptor came with the object at " +
                               std::to_string(offset));
    }
    FileDescriptor taken = std::move(found->second);
    mOwned.erase(found);
    return taken;
}

}  // namespace halyard::hal
