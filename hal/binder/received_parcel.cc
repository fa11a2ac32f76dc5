// SPDX-License-Identifier: Apache-2.0

#include "hal/binder/received_parcel.h"

#include <linux/android/binder.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace halyard::hal {

namespace {

// Of this process's and of others'; buffers and descriptors are no objects here.
size_t objectsIn(std::span<const uint8_t> data, std::span<const uint64_t> offsets) {
    return static_cast<size_t>(std::ranges::count_if(offsets, [data](uint64_t offset) {
        binder_object_header header = {};
        if (data.size() < sizeof(header) || offset > data.size() - sizeof(header)) {
            return false;
        }
        std::memcpy(&header, data.data() + offset, sizeof(header));
        return header.type != BINDER_TYPE_PTR && header.type != BINDER_TYPE_FD &&
               header.type != BINDER_TYPE_FDA;
    }));
}

}  // namespace

ReceivedParcel::ReceivedParcel(std::span<const uint8_t> data, std::span<const uint64_t> offsets,
                               ObjectResolver* resolver, std::function<void()> freeBuffer,
                               std::unique_ptr<DescriptorDisposal> disposal)
    : mObjects(objectsIn(data, offsets)),
      mDescriptors(data, offsets),
      mReader(data, offsets, resolver, &mDescriptors),
      mFreeBuffer(std::move(freeBuffer)),
      mDisposal(std::move(disposal)) {}

Status ReceivedParcel::check() const {
    if (mDescriptors.count() > ReceivedDescriptors::kMost) {
        return invalidArgument("parcel: " + std::to_string(mDescriptors.count()) +
                               " descriptors, at most " +
                               std::to_string(ReceivedDescriptors::kMost) + " are taken");
    }
    if (mObjects > kMostObjects) {
        return invalidArgument("parcel: " + std::to_string(mObjects) + " objects, at most " +
                               std::to_string(kMostObjects) + " are taken");
    }
    return {};
}

bool ReceivedParcel::closesAtOnce() const {
    return mDescriptors.arraysCloseAtOnce() && mDescriptors.singlesCloseAtOnce();
}

void ReceivedParcel::endReading() {
    mReader.close();
    std::vector<FileDescriptor> left = mDescriptors.closeAll();
    if (mDisposal != nullptr && !left.empty()) {
        mDisposal->close(std::move(left));
    }
}

void ReceivedParcel::release() {
    endReading();
    const std::function<void()> freeBuffer = std::exchange(mFreeBuffer, nullptr);
    if (freeBuffer == nullptr) {
        return;
    }
    if (mDisposal != nullptr && !mDescriptors.arraysCloseAtOnce()) {
        mDisposal->freeBuffer(mDescriptors.inArrays());
    } else {
        freeBuffer();
    }
}

}  // namespace halyard::hal
