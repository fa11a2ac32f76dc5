// SPDX-License-Identifier: Apache-2.0
//
// Models and requests as another process can take them: their pools by handles, and no more in one
// transaction than it holds.

#pragma once

#include <vector>

#include "driver/model/model.h"
#include "driver/model/request.h"
#include "engine/base/status.h"
#include "hal/hidl/codec.h"

namespace halyard::hal::hidl {

// INVALID_ARGUMENT names a pool that has no handle.
Status checkSendable(const driver::Model& model);
Status checkSendable(const driver::Request& request);

// The same of one memory, and how it is sent.
Status checkSendable(const driver::SharedMemory& memory);
HidlMemory wireMemory(ParcelWriter& writer, const driver::Memory& memory);

// The pools, which can be sent, in their order. Buffers of the device's have an empty place.
std::vector<HidlMemory> wirePools(ParcelWriter& writer, const driver::Model& model);
std::vector<HidlMemory> wirePools(ParcelWriter& writer, const driver::Request& request);

// Whether its constants are too many to be copied with it.
bool hasLargeConstants(const driver::Model& model);
// Moves the CONSTANT_COPY values into a pool of their own.
Status moveConstantsToPool(driver::Model& model);

}  // namespace halyard::hal::hidl
