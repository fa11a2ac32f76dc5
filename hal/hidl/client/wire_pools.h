// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "driver/model/model.h"
#include "driver/model/request.h"
#include "hal/hidl/codec.h"

namespace halyard::hal::hidl {

// A memory that can be sent.
HidlMemory wireMemory(ParcelWriter& writer, const driver::Memory& memory);

// The pools, which can be sent, in their order. Buffers of the device's have an empty place.
std::vector<HidlMemory> wirePools(ParcelWriter& writer, const driver::Model& model);
std::vector<HidlMemory> wirePools(ParcelWriter& writer, const driver::Request& request);

}  // namespace halyard::hal::hidl
