// SPDX-License-Identifier: Apache-2.0

#include "hal/binder/received_descriptors.h"

#include <linux/android/binder.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "hal/binder/address.h"
#include "hal/descriptors/descriptor_kind.h"

namespace halyard::hal {

namespace {

Status noneCame(uint64_t offset) {
    return invalidArgument("parcel: no descriptor came with the object at " +
                           std::to_string(offset));
}

}  // namespace

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
            // Where they stand the kernel has checked, as it will when it closes them.
            binder_buffer_object parent = {};
            if (array.parent >= offsets.size() || !load(offsets[array.parent], parent) ||
                parent.hdr.type != BINDER_TYPE_PTR || array.parent_offset > parent.length ||
                array.num_fds > (parent.length - array.parent_offset) / sizeof(int32_t)) {
                mArraysCloseAtOnce = mArraysCloseAtOnce && array.num_fds == 0;
                continue;
            }
            const auto* at = pointerTo<uint8_t>(parent.buffer) + array.parent_offset;
            for (uint64_t i = 0; i < array.num_fds; ++i, at += sizeof(int32_t)) {
                int32_t fd = -1;
                std::memcpy(&fd, at, sizeof(fd));
                mInArrays.push_back(fd);
                mArraysCloseAtOnce = mArraysCloseAtOnce && closesAtOnce(fd);
            }
        }
    }
}

bool ReceivedDescriptors::singlesCloseAtOnce() const {
    return std::ranges::all_of(mOwned, [](const auto& entry) {
        return !entry.second.valid() || closesAtOnce(entry.second.get());
    });
}

std::vector<FileDescriptor> ReceivedDescriptors::closeAll() {
    std::vector<FileDescriptor> left;
    for (auto& [offset, descriptor] : mOwned) {
        if (descriptor.valid() && !closesAtOnce(descriptor.get())) {
            left.push_back(std::move(descriptor));
        }
    }
    mOwned.clear();
    return left;
}

Result<int> ReceivedDescriptors::borrow(uint64_t offset) const {
    const auto found = mOwned.find(offset);
    if (found == mOwned.end()) {
        return noneCame(offset);
    }
    return found->second.get();
}

Result<FileDescriptor> ReceivedDescriptors::take(uint64_t offset) {
    const auto found = mOwned.find(offset);
    if (found == mOwned.end()) {
        return noneCame(offset);
    }
    FileDescriptor taken = std::move(found->second);
    mOwned.erase(found);
    return taken;
}

}  // namespace halyard::hal
