// SPDX-License-Identifier: Apache-2.0
//
// VersionDelta: what changes on the wire from one HAL version to the next. Each version's row is in
// its file (v1_0.cc, ...).

#pragma once

#include <cstdint>
#include <span>

#include "driver/model/capabilities.h"
#include "driver/model/model.h"
#include "driver/model/request.h"
#include "engine/base/status.h"
#include "hal/hidl/codec.h"

namespace halyard::hal::hidl {

struct VersionDelta {
    // Arguments of IDevice::getSupportedOperations* and prepareModel*, IPreparedModel::execute*.
    // The values are not validated; the parcel may go afterwards.
    Result<driver::Model> (*readModel)(ParcelReader& reader);
    Result<driver::Request> (*readRequest)(ParcelReader& reader);
    // `pools` stand for the model's or the request's pools, in the same order. What the version
    // can't say (extraParams in 1.0, tokens before 1.3, ...) is left out.
    void (*writeModel)(ParcelWriter& writer, const driver::Model& model,
                       std::span<const HidlMemory> pools);
    void (*writeRequest)(ParcelWriter& writer, const driver::Request& request,
                         std::span<const HidlMemory> pools);
    // Result of IDevice::getCapabilities*.
    void (*writeCapabilities)(ParcelWriter& writer, const driver::Capabilities& capabilities);
    // The methods that a callback of this version wants to be called by.
    uint32_t notifyPrepared;  // of IPreparedModelCallback
    uint32_t notifyExecuted;  // of IExecutionCallback
};

}  // namespace halyard::hal::hidl
