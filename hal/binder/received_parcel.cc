// SPDX-License-Identifier: Apache-2.0

#include "hal/binder/received_parcel.h"

#include <string>
#include <utility>

namespace halyard::hal {

ReceivedParcel::ReceivedParcel(std::span<const uint8_t> data, std::span<const uint64_t> offsets,
                               ObjectResolver* resolver, std::function<void()> freeBuffer)
    : mDescriptors(data, offsets),
      mReader(data, offsets, resolver, &mDescriptors),
      mFreeBuffer(std::move(freeBuffer)) {}

Status ReceivedParcel::check() const {
    if (mDescriptors.count() > ReceivedDescriptors::kMost) {
        return invalidArgument("parcel: " + std::to_string(mDescriptors.count()) +
                               " descriptors, at most " +
                               std::to_string(ReceivedDescriptors::kMost) + " are taken");
    }
    return {};
}

void ReceivedParcel::endReading() {
    mReader.close();
    mDescriptors.closeAll();
}

void ReceivedParcel::release() {
    endReading();
    if (const std::function<void()> freeBuffer = std::exchange(mFreeBuffer, nullptr)) {
        freeBuffer();
    }
}

}  // namespace halyard::hal
